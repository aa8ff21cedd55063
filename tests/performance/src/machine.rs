//! On what the figures were taken, and how busy it was.

use serde::Serialize;

#[derive(Serialize)]
pub struct Machine {
    /// The day, in UTC.
    pub date: String,
    pub processor: String,
    pub cores: usize,
    pub kernel: String,
    /// Processes that wanted to run, over the last minute. More than a fraction of the cores means that others disturbed.
    pub load: f64,
}

impl Machine {
    /// What `/proc` says; where there is none, the fields that it fills say so.
    pub fn look() -> Self {
        Self {
            date: today(),
            processor: read_processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: read("/proc/sys/kernel/osrelease").unwrap_or_else(|| std::env::consts::OS.to_owned()),
            load: read("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(f64::NAN),
        }
    }

    pub fn is_busy(&self) -> bool {
        self.load > self.cores as f64 / 2.0
    }
}

fn today() -> String {
    let said = std::process::Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    said.map_or_else(|_| "an unknown day".to_owned(), |said| String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

fn read(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

fn read_processor() -> Option<String> {
    let text = read("/proc/cpuinfo")?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
