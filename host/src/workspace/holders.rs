//! Who holds a lock, from what the kernel says: `/proc/locks` names processes that are alive, whatever a note in the file claims.

use cap_std::fs::{Metadata, MetadataExt};

/// The processes that hold a lock on this file, described for people.
pub fn of_lock(file: &Metadata) -> Vec<String> {
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let mut processes: Vec<u32> = locks.lines().filter_map(|line| holder(line, file.ino())).collect();
    processes.sort_unstable();
    processes.dedup();
    processes.retain(|&process| has_open(process, file));
    processes.into_iter().map(describe).collect()
}

/// `1: FLOCK  ADVISORY  WRITE 2713 fe:00:1179863 0 EOF`. Waiting ones have `->` before the kind.
fn holder(line: &str, inode: u64) -> Option<u32> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, "FLOCK", _, _, process, place, ..] = fields[..] else { return None };
    let found: u64 = place.rsplit(':').next()?.parse().ok()?;
    if found == inode { process.parse().ok() } else { None }
}

/// Another filesystem may have a locked file of the same number. What cannot be looked at is believed.
fn has_open(process: u32, file: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return true };
    let is_it = |found: std::fs::Metadata| (found.dev(), found.ino()) == (file.dev(), file.ino());
    descriptors.flatten().any(|descriptor| std::fs::metadata(descriptor.path()).is_ok_and(is_it))
}

/// `process 2713 (zipfs mcp)`, with what is not plain text left out: another user may have chosen the arguments.
pub fn describe(process: u32) -> String {
    let command = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = command.split(|&byte| byte == 0).filter(|word| !word.is_empty()).take(3).enumerate();
    let words = words.map(|(place, word)| {
        let word = String::from_utf8_lossy(word);
        // Of the program only its name: where it lies says little and is long.
        let word = match place {
            0 => word.rsplit('/').next().unwrap_or_default(),
            // Nor is it for everybody where things are.
            _ if word.contains('/') => "…",
            _ => &word,
        };
        word.chars().filter(|c| !c.is_control()).take(40).collect::<String>()
    });
    match words.collect::<Vec<_>>() {
        words if words.is_empty() => format!("process {process}"),
        words => format!("process {process} ({})", words.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_have_it_are_named() {
        assert_eq!(holder("1: FLOCK  ADVISORY  WRITE 2713 fe:00:1179863 0 EOF", 1179863), Some(2713));
        assert_eq!(holder("1: FLOCK  ADVISORY  WRITE 2713 fe:00:1179863 0 EOF", 79863), None);
        assert_eq!(holder("1: -> FLOCK  ADVISORY  READ 2713 fe:00:1179863 0 EOF", 1179863), None);
        assert_eq!(holder("2: POSIX  ADVISORY  WRITE 2713 fe:00:1179863 0 EOF", 1179863), None);
        assert!(describe(std::process::id()).starts_with(&format!("process {} (", std::process::id())));
    }
}
