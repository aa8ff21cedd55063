//! The floor of a sync where blocks cannot be shared: copies an archive, hashes the copy while it is written, and flushes it. No less
//! can put a whole new archive on disk and know what it is.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::mpsc::channel;

use sha2::{Digest, Sha256};

/// What is copied in one go, and hashed while the next is copied.
const STEP: u64 = 8 << 20;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err(std::io::Error::other("usage: copy-hash-flush FROM TO"));
    };
    let (from, mut copy, mut read) = (File::open(from)?, File::create(&to)?, File::open(&to)?);
    let (copied, to_hash) = channel();
    let hashing = std::thread::spawn(move || -> std::io::Result<Sha256> {
        let (mut digest, mut piece) = (Sha256::new(), Vec::new());
        for len in to_hash {
            piece.clear();
            (&mut read).take(len).read_to_end(&mut piece)?;
            digest.update(&piece);
        }
        Ok(digest)
    });
    loop {
        // In the kernel, from file to file.
        let len = std::io::copy(&mut (&from).take(STEP), &mut copy)?;
        if len == 0 {
            break;
        }
        let _ = copied.send(len);
    }
    copy.sync_all()?;
    drop(copied);
    let digest = hashing.join().expect("hashing does not panic")?.finalize();
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(std::io::stdout(), "{} {digest}", copy.seek(SeekFrom::End(0))?)
}
