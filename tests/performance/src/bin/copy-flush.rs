//! The floor of a sync where blocks cannot be shared: copies an archive in the kernel, and flushes the copy. No less can put a whole
//! new archive on disk.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{Read, Write};

/// What is copied in one go.
const STEP: u64 = 8 << 20;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err(std::io::Error::other("usage: copy-flush FROM TO"));
    };
    let (from, mut copy) = (File::open(from)?, File::create(&to)?);
    let mut copied = 0;
    loop {
        match std::io::copy(&mut (&from).take(STEP), &mut copy)? {
            0 => break,
            len => copied += len,
        }
    }
    copy.sync_all()?;
    writeln!(std::io::stdout(), "{copied}")
}
