//! What a running server uses, from /proc.

/// A process by its id.
#[derive(Clone, Copy)]
pub struct Process(pub u32);

impl Process {
    /// Resident memory in bytes.
    pub fn memory(self) -> u64 {
        self.status("VmRSS:")
    }

    /// The most resident memory there ever was, in bytes.
    pub fn peak_memory(self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0)).expect("the process lives");
        let line = status.lines().find(|line| line.starts_with(name)).expect("the field");
        line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).expect("a number") * 1024
    }

    /// Open file descriptors.
    pub fn descriptors(self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.0)).expect("the process lives").count()
    }

    /// Processor time used so far, in clock ticks (10 ms each).
    pub fn ticks(self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).expect("the process lives");
        let after = stat.rsplit_once(')').expect("a command").1;
        let fields: Vec<&str> = after.split_whitespace().collect();
        fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime")
    }
}
