//! What has to survive: files that are replaced whole, and names that are on disk before anything relies on them.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{Mode, OFlags};
use rustix::io::retry_on_intr;

use crate::config::Durability;

/// Replaces a file in one step, on disk before the name changes: readers and a crash see the old one or the new one.
pub fn write_whole(dir: &Dir, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let temporary = format!("{name}.new");
    let written = (|| {
        let options = &mut OpenOptions::new();
        let mut file = dir.open_with(&temporary, options.write(true).create(true).truncate(true).mode(0o600))?;
        file.write_all(bytes)?;
        if durability == Durability::Full {
            file.sync_data()?;
        }
        dir.rename(&temporary, dir, name)?;
        expect_at(dir, name, file.metadata()?.ino())
    })();
    if written.is_err() {
        let _ = dir.remove_file(&temporary);
    }
    written?;
    flush_directory(dir, durability)
}

/// A rename that says it was done may not have been: network filesystems have been seen to. Nothing goes on before the name leads
/// to the file.
pub fn expect_at(dir: &Dir, name: &str, inode: u64) -> io::Result<()> {
    match dir.symlink_metadata(name)?.ino() == inode {
        true => Ok(()),
        false => Err(io::Error::other(format!("the filesystem reported success, but {name} is not the file it was to be"))),
    }
}

/// Puts a file on disk, contents and attributes.
pub fn flush_file(file: &File, durability: Durability) -> io::Result<()> {
    match durability {
        Durability::Full => file.sync_all(),
        Durability::Fast => Ok(()),
    }
}

/// Puts the names in a directory on disk.
pub fn flush_directory(dir: &Dir, durability: Durability) -> io::Result<()> {
    if durability == Durability::Fast {
        return Ok(());
    }
    let readable = readable(dir)?;
    Ok(retry_on_intr(|| rustix::fs::fsync(&readable))?)
}

/// Puts everything on disk that the filesystem of a directory still holds back: for many files, a fraction of what flushing each
/// costs.
pub fn flush_filesystem(dir: &Dir, durability: Durability) -> io::Result<()> {
    if durability == Durability::Fast {
        return Ok(());
    }
    let readable = readable(dir)?;
    Ok(retry_on_intr(|| rustix::fs::syncfs(&readable))?)
}

/// The handle of a directory itself only names it; flushing needs one that can read it.
fn readable(dir: &Dir) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| rustix::fs::openat(dir, ".", flags, Mode::empty()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let temporary = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
        write_whole(&dir, "a", b"one", Durability::Full).unwrap();
        write_whole(&dir, "a", b"two", Durability::Fast).unwrap();
        assert_eq!(dir.read("a").unwrap(), b"two");
        dir.create_dir("d").unwrap();
        assert!(write_whole(&dir, "d", b"", Durability::Full).is_err());
        assert_eq!(dir.entries().unwrap().count(), 2);
        assert!(expect_at(&dir, "a", 1).is_err());
    }
}
