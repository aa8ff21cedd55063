//! Files in a unit test, through cap-std: the same containment as WASI, on the directory of a bench.

use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::time::{Duration, SystemTime};

use cap_std::fs::{FileType, Metadata, OpenOptions};

use super::{Entry, IoError, Kind, Result, Stat, Timestamp};
use crate::testing::stage;

pub(super) fn workspace() -> Result<Dir> {
    let mounted = stage::with(|stage| stage.mounted.as_ref().map(|dir| (dir.try_clone(), stage.writable)));
    let (handle, writable) = mounted.flatten().ok_or(IoError::NotFound)?;
    Ok(Dir { handle: handle?, writable })
}

#[derive(Debug)]
pub(super) struct Dir {
    handle: cap_std::fs::Dir,
    writable: bool,
}

impl Dir {
    /// A read-only mount refuses before the system is asked, as the host does.
    fn for_change(&self) -> Result<&cap_std::fs::Dir> {
        if self.writable { Ok(&self.handle) } else { Err(IoError::NotPermitted) }
    }

    pub(super) fn open_dir(&self, path: &str) -> Result<Dir> {
        Ok(Dir { handle: self.handle.open_dir(path)?, writable: self.writable })
    }

    pub(super) fn open_file(&self, path: &str) -> Result<File> {
        Ok(File(self.handle.open(path)?.into_std()))
    }

    pub(super) fn open_file_to_write(&self, path: &str) -> Result<File> {
        Ok(File(self.for_change()?.open_with(path, OpenOptions::new().read(true).write(true))?.into_std()))
    }

    pub(super) fn create_file(&self, path: &str) -> Result<File> {
        Ok(File(self.for_change()?.open_with(path, OpenOptions::new().read(true).write(true).create_new(true))?.into_std()))
    }

    pub(super) fn stat(&self, path: &str, follow: bool) -> Result<Stat> {
        let found = if follow { self.handle.metadata(path)? } else { self.handle.symlink_metadata(path)? };
        Ok(found.into())
    }

    pub(super) fn read_link(&self, path: &str) -> Result<String> {
        self.handle.read_link_contents(path)?.into_os_string().into_string().map_err(|_| IoError::Invalid)
    }

    pub(super) fn read_dir(&self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in self.handle.entries()? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                entries.push(Entry { name, kind: entry.file_type()?.into() });
            }
        }
        Ok(entries)
    }

    pub(super) fn create_dir(&self, path: &str) -> Result<()> {
        Ok(self.for_change()?.create_dir(path)?)
    }

    pub(super) fn remove_file(&self, path: &str) -> Result<()> {
        Ok(self.for_change()?.remove_file(path)?)
    }

    pub(super) fn remove_dir(&self, path: &str) -> Result<()> {
        Ok(self.for_change()?.remove_dir(path)?)
    }

    pub(super) fn rename(&self, from: &str, target: &Dir, to: &str) -> Result<()> {
        Ok(self.for_change()?.rename(from, target.for_change()?, to)?)
    }
}

#[derive(Debug)]
pub(super) struct File(std::fs::File);

impl File {
    pub(super) fn size(&self) -> Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    pub(super) fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(len);
        (&self.0).seek(SeekFrom::Start(offset))?;
        (&self.0).take(len as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> Result<usize> {
        (&self.0).seek(SeekFrom::Start(offset))?;
        Ok((&self.0).write(bytes)?)
    }

    pub(super) fn set_len(&self, len: u64) -> Result<()> {
        Ok(self.0.set_len(len)?)
    }

    pub(super) fn set_modified(&self, modified: Timestamp) -> Result<()> {
        Ok(self.0.set_modified(SystemTime::UNIX_EPOCH + Duration::new(modified.seconds, modified.nanoseconds))?)
    }
}

impl From<Metadata> for Stat {
    fn from(found: Metadata) -> Stat {
        let since_1970 = |time: cap_std::time::SystemTime| time.into_std().duration_since(SystemTime::UNIX_EPOCH).ok();
        Stat {
            kind: found.file_type().into(),
            size: found.len(),
            modified: found
                .modified()
                .ok()
                .and_then(since_1970)
                .map(|since| Timestamp { seconds: since.as_secs(), nanoseconds: since.subsec_nanos() }),
        }
    }
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Kind {
        if kind.is_file() {
            Kind::File
        } else if kind.is_dir() {
            Kind::Dir
        } else if kind.is_symlink() {
            Kind::Symlink
        } else {
            Kind::Other
        }
    }
}

impl From<std::io::Error> for IoError {
    fn from(error: std::io::Error) -> IoError {
        match error.kind() {
            ErrorKind::NotFound => IoError::NotFound,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => IoError::NotPermitted,
            ErrorKind::IsADirectory => IoError::IsDir,
            ErrorKind::NotADirectory => IoError::NotDir,
            ErrorKind::DirectoryNotEmpty => IoError::NotEmpty,
            ErrorKind::AlreadyExists => IoError::Exists,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => IoError::NoSpace,
            ErrorKind::InvalidFilename => IoError::NameTooLong,
            ErrorKind::InvalidInput => IoError::Invalid,
            // The kind for links that lead to each other is not stable yet; its name is.
            kind if format!("{kind:?}") == "FilesystemLoop" => IoError::Loop,
            _ => IoError::Other("the system reported an error"),
        }
    }
}
