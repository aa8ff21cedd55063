//! The floor of a status: looks at every file below a directory, once, and prints how many there are and how large they are.
#![forbid(unsafe_code)]

use std::io::Write;
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let mut pending: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let (mut files, mut bytes) = (0u64, 0u64);
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            // Relative to the directory that is open, without its path: what a bare walk costs, and no more.
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                pending.push(entry.path());
            } else {
                files += 1;
                bytes += metadata.len();
            }
        }
    }
    writeln!(std::io::stdout(), "{files} {bytes}")
}
