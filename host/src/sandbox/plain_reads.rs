//! What guests do most: open a file of a directory to read it, read it, list a directory. Done here with as few system calls as it
//! takes; wasmtime looks at what it opened once more, at each entry of a directory, and clears what is read into.

use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, DirectoryEntry};

/// The most that one read returns, as wasmtime has it: the memory is the host's until the guest has its copy.
const MOST_READ: usize = 64 << 10;

/// Opens a regular file for reading. `None` if the name is more than a name, or of something else, and the long way has to be gone.
///
/// One component that is no link cannot lead out of the directory. What it names is looked at first, since opening a device can
/// have effects; and if somebody puts a pipe in its place after that look, opening it does not wait for a writer.
pub fn open_file(dir: &File, name: &str) -> io::Result<Option<File>> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '\0']) {
        return Ok(None);
    }
    let found = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        Ok(file) => Ok(Some(file.into())),
        // A link by now; or somebody has a lease on the file and has to be waited for.
        Err(Errno::LOOP | Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens a directory whose path goes through no links. `None` if it does, or if anything else is the matter, and the long way has to
/// be gone. Nothing needs to be looked at first: what is no directory is not opened.
pub fn open_directory(dir: &File, path: &str) -> Option<File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(dir, path, flags, Mode::empty(), beneath).ok().map(File::from)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (dir, path);
        None
    }
}

/// Reads from a place on; nothing at the end of the file.
pub fn read_at(file: &File, len: u64, offset: u64) -> io::Result<Vec<u8>> {
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(MOST_READ);
    let mut bytes = Vec::with_capacity(len);
    if len > 0 {
        rustix::io::retry_on_intr(|| rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), offset))?;
    }
    // What was reserved beyond what was asked for is not the guest's.
    bytes.truncate(len);
    Ok(bytes)
}

/// What a directory holds, as far as its names are UTF-8.
pub fn list(dir: &File) -> io::Result<Vec<io::Result<DirectoryEntry>>> {
    // Anew: the handle may be one that only names the directory.
    let opened = rustix::fs::openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut entries = Vec::new();
    for entry in rustix::fs::Dir::new(opened)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let type_ = match entry.file_type() {
            // Not every filesystem says.
            FileType::Unknown => match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => FileType::from_raw_mode(found.st_mode),
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            },
            known => known,
        };
        entries.push(match name.to_str() {
            Ok(name) => Ok(DirectoryEntry { name: name.to_owned(), type_: described(type_) }),
            Err(_) => Err(Errno::ILSEQ.into()),
        });
    }
    Ok(entries)
}

fn described(found: FileType) -> DescriptorType {
    match found {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_a_regular_file_of_the_directory_itself_is_opened() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "text").unwrap();
        std::fs::create_dir(place.path().join("below")).unwrap();
        symlink("file", place.path().join("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, place.path().join("pipe"), Mode::RWXU).unwrap();
        let dir = File::open(place.path()).unwrap();
        for name in ["", ".", "..", "below", "link", "pipe", "below/..", "/etc/passwd", "file/", "./file", "a\0b"] {
            assert!(open_file(&dir, name).unwrap().is_none(), "{name:?}");
        }
        assert_eq!(open_file(&dir, "missing").unwrap_err().kind(), io::ErrorKind::NotFound);
        let file = open_file(&dir, "file").unwrap().unwrap();
        assert_eq!(read_at(&file, 100, 0).unwrap(), b"text");
        assert_eq!(read_at(&file, 2, 1).unwrap(), b"ex");
        assert_eq!(read_at(&file, u64::MAX, 4).unwrap(), b"");
        assert_eq!(read_at(&file, 0, 0).unwrap(), b"");
        assert!(read_at(&file, 1, u64::MAX).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_a_directory_below_is_opened_as_one() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("root/a/b")).unwrap();
        std::fs::write(place.path().join("root/file"), "").unwrap();
        symlink("a", place.path().join("root/link")).unwrap();
        symlink("../..", place.path().join("root/a/out")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, place.path().join("root/pipe"), Mode::RWXU).unwrap();
        let dir = File::open(place.path().join("root")).unwrap();
        for path in ["a", "a/b", ".", "a/.."] {
            assert!(open_directory(&dir, path).is_some(), "{path:?}");
        }
        for path in ["", "..", "a/../..", "a/out", "link", "link/b", "file", "pipe", "missing", "/etc", "a\0"] {
            assert!(open_directory(&dir, path).is_none(), "{path:?}");
        }
    }

    #[test]
    fn a_directory_is_listed_with_what_its_names_are() {
        use std::os::unix::ffi::OsStrExt;
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("file"), "").unwrap();
        std::fs::write(place.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9")), "").unwrap();
        std::fs::create_dir(place.path().join("below")).unwrap();
        symlink("nowhere", place.path().join("link")).unwrap();
        let naming = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let naming = rustix::fs::open(place.path(), naming, Mode::empty()).unwrap();
        assert_eq!(list(&naming.into()).unwrap().len(), 4, "through a handle that only names it");
        let listed = list(&File::open(place.path()).unwrap()).unwrap();
        assert_eq!(listed.iter().filter(|entry| entry.is_err()).count(), 1);
        let mut named: Vec<_> = listed.into_iter().flatten().map(|entry| (entry.name, entry.type_)).collect();
        named.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = [
            ("below".to_owned(), DescriptorType::Directory),
            ("file".to_owned(), DescriptorType::RegularFile),
            ("link".to_owned(), DescriptorType::SymbolicLink),
        ];
        assert_eq!(named, expected);
    }
}
