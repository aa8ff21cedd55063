//! What has to survive: files that are replaced whole, and names that are on disk before anything relies on them.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;

use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{Mode, OFlags};
use rustix::io::retry_on_intr;

use crate::config::Durability;

/// Replaces a file in one step, on disk before the name changes: readers and a crash see the old one or the new one.
pub fn write_whole(dir: &Dir, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
    replace(dir, name, bytes, durability)?;
    flush_directory(dir, durability)
}

/// The same, but the name may lead to the old file again after a power cut. For what recovery would only do once more.
pub fn replace(dir: &Dir, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
    Replacement::prepare(dir, name, bytes).and_then(|replacement| {
        replacement.flush(durability)?;
        replacement.put_in_place()
    })
}

/// Replaces several files, in this order; when it returns all of it is on disk. What one journal can take along in one go it does:
/// for one file after the other the disk would have to be waited for each time.
pub fn write_together(files: &[(&Dir, &str, &[u8])], durability: Durability) -> io::Result<()> {
    let prepared = files.iter().map(|(dir, name, bytes)| Replacement::prepare(dir, name, bytes));
    let prepared = prepared.collect::<io::Result<Vec<_>>>()?;
    at_once(prepared.iter().map(|replacement| || replacement.flush(durability)))?;
    prepared.into_iter().try_for_each(Replacement::put_in_place)?;
    let mut dirs: Vec<&Dir> = Vec::new();
    for (dir, _, _) in files {
        if !dirs.iter().any(|known| std::ptr::eq(*known, *dir)) {
            dirs.push(dir);
        }
    }
    at_once(dirs.into_iter().map(|dir| || flush_directory(dir, durability)))
}

/// Several waits for the disk at the same time.
fn at_once<F: FnOnce() -> io::Result<()> + Send>(waits: impl Iterator<Item = F>) -> io::Result<()> {
    std::thread::scope(|scope| {
        let mut waits = waits;
        let first = waits.next();
        let started: Vec<_> = waits.map(|wait| scope.spawn(wait)).collect();
        let outcome = first.map_or(Ok(()), |wait| wait());
        let broke_down = |_| Err(io::Error::other("a thread broke down"));
        started.into_iter().fold(outcome, |outcome, wait| outcome.and(wait.join().unwrap_or_else(broke_down)))
    })
}

/// A file that is complete under a temporary name, which goes with the value unless it was put in place.
struct Replacement<'a> {
    dir: &'a Dir,
    name: &'a str,
    temporary: String,
    file: File,
    is_in_place: bool,
}

impl<'a> Replacement<'a> {
    fn prepare(dir: &'a Dir, name: &'a str, bytes: &[u8]) -> io::Result<Replacement<'a>> {
        let temporary = format!("{name}.new");
        let options = &mut OpenOptions::new();
        let file = dir.open_with(&temporary, options.write(true).create(true).truncate(true).mode(0o600))?.into_std();
        let mut replacement = Replacement { dir, name, temporary, file, is_in_place: false };
        replacement.file.write_all(bytes)?;
        Ok(replacement)
    }

    fn flush(&self, durability: Durability) -> io::Result<()> {
        if durability == Durability::Full { self.file.sync_data() } else { Ok(()) }
    }

    fn put_in_place(mut self) -> io::Result<()> {
        self.dir.rename(&self.temporary, self.dir, self.name)?;
        expect_at(self.dir, self.name, self.file.metadata()?.ino())?;
        self.is_in_place = true;
        Ok(())
    }
}

impl Drop for Replacement<'_> {
    fn drop(&mut self) {
        if !self.is_in_place {
            let _ = self.dir.remove_file(&self.temporary);
        }
    }
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

/// Asks the kernel to put on disk what was just written there, and does not wait: a flush at the end then has little left to do. What
/// goes wrong on the way that flush tells.
pub fn begin_to_flush(file: &File, offset: u64, len: u64) {
    // What is not on disk yet cannot be forgotten, which is what this asks for; so it begins with putting it there.
    let _ = rustix::fs::fadvise(file, offset, NonZeroU64::new(len), rustix::fs::Advice::DontNeed);
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

    #[test]
    fn several_files_are_replaced_or_nothing_is_left_beside_them() {
        let temporary = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
        let other = dir.try_clone().unwrap();
        write_together(&[(&dir, "a", b"1"), (&other, "b", b"2"), (&dir, "c", b"3")], Durability::Full).unwrap();
        assert_eq!(["a", "b", "c"].map(|name| dir.read_to_string(name).unwrap()), ["1", "2", "3"]);
        dir.create_dir("d").unwrap();
        assert!(write_together(&[(&dir, "a", b"4"), (&dir, "d", b""), (&dir, "c", b"5")], Durability::Full).is_err());
        assert_eq!(["a", "c"].map(|name| dir.read_to_string(name).unwrap()), ["4", "3"]);
        assert_eq!(dir.entries().unwrap().count(), 4);
    }
}
