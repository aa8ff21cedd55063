//! Files through `wasi:filesystem`, without std in between.

use wasip2::clocks::wall_clock::Datetime;
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, NewTimestamp, OpenFlags, PathFlags,
};

use super::{Entry, IoError, Kind, Result, Stat, Timestamp};

/// Where the host mounts the workspace.
const MOUNT: &str = "/workspace";

pub(super) fn workspace() -> Result<Dir> {
    let (handle, _) = get_directories().into_iter().find(|(_, path)| path == MOUNT).ok_or(IoError::NotFound)?;
    // Directories opened below get the rights of the root: a host may refuse a wish for more than it gave.
    let rights = handle.get_flags()? & (DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY);
    Ok(Dir { handle, rights })
}

#[derive(Debug)]
pub(super) struct Dir {
    handle: Descriptor,
    rights: DescriptorFlags,
}

impl Dir {
    pub(super) fn open_dir(&self, path: &str) -> Result<Dir> {
        let handle = self.handle.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::DIRECTORY, self.rights)?;
        Ok(Dir { handle, rights: self.rights })
    }

    pub(super) fn open_file(&self, path: &str) -> Result<File> {
        self.open(path, OpenFlags::empty(), DescriptorFlags::READ)
    }

    pub(super) fn open_file_to_write(&self, path: &str) -> Result<File> {
        self.open(path, OpenFlags::empty(), DescriptorFlags::READ | DescriptorFlags::WRITE)
    }

    pub(super) fn create_file(&self, path: &str) -> Result<File> {
        self.open(path, OpenFlags::CREATE | OpenFlags::EXCLUSIVE, DescriptorFlags::READ | DescriptorFlags::WRITE)
    }

    fn open(&self, path: &str, how: OpenFlags, rights: DescriptorFlags) -> Result<File> {
        Ok(File(self.handle.open_at(PathFlags::SYMLINK_FOLLOW, path, how, rights)?))
    }

    pub(super) fn stat(&self, path: &str, follow: bool) -> Result<Stat> {
        let how = if follow { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() };
        Ok(self.handle.stat_at(how, path)?.into())
    }

    pub(super) fn read_link(&self, path: &str) -> Result<String> {
        Ok(self.handle.readlink_at(path)?)
    }

    pub(super) fn read_dir(&self) -> Result<Vec<Entry>> {
        let stream = self.handle.read_directory()?;
        let mut entries = Vec::new();
        loop {
            match stream.read_directory_entry() {
                Ok(Some(entry)) => entries.push(Entry { name: entry.name, kind: entry.type_.into() }),
                Ok(None) => return Ok(entries),
                Err(ErrorCode::IllegalByteSequence) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) fn create_dir(&self, path: &str) -> Result<()> {
        Ok(self.handle.create_directory_at(path)?)
    }

    pub(super) fn remove_file(&self, path: &str) -> Result<()> {
        Ok(self.handle.unlink_file_at(path)?)
    }

    pub(super) fn remove_dir(&self, path: &str) -> Result<()> {
        Ok(self.handle.remove_directory_at(path)?)
    }

    pub(super) fn rename(&self, from: &str, target: &Dir, to: &str) -> Result<()> {
        Ok(self.handle.rename_at(from, &target.handle, to)?)
    }
}

#[derive(Debug)]
pub(super) struct File(Descriptor);

impl File {
    pub(super) fn size(&self) -> Result<u64> {
        Ok(self.0.stat()?.size)
    }

    pub(super) fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        Ok(self.0.read(len as u64, offset)?.0)
    }

    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> Result<usize> {
        Ok(self.0.write(bytes, offset)? as usize)
    }

    pub(super) fn set_len(&self, len: u64) -> Result<()> {
        Ok(self.0.set_size(len)?)
    }

    pub(super) fn set_modified(&self, modified: Timestamp) -> Result<()> {
        let modified = Datetime { seconds: modified.seconds, nanoseconds: modified.nanoseconds };
        Ok(self.0.set_times(NewTimestamp::NoChange, NewTimestamp::Timestamp(modified))?)
    }
}

impl From<DescriptorStat> for Stat {
    fn from(stat: DescriptorStat) -> Stat {
        let modified = stat.data_modification_timestamp;
        Stat {
            kind: stat.type_.into(),
            size: stat.size,
            modified: modified.map(|time| Timestamp { seconds: time.seconds, nanoseconds: time.nanoseconds }),
        }
    }
}

impl From<DescriptorType> for Kind {
    fn from(kind: DescriptorType) -> Kind {
        match kind {
            DescriptorType::RegularFile => Kind::File,
            DescriptorType::Directory => Kind::Dir,
            DescriptorType::SymbolicLink => Kind::Symlink,
            _ => Kind::Other,
        }
    }
}

impl From<ErrorCode> for IoError {
    fn from(code: ErrorCode) -> IoError {
        match code {
            ErrorCode::NoEntry => IoError::NotFound,
            ErrorCode::NotPermitted | ErrorCode::Access | ErrorCode::ReadOnly => IoError::NotPermitted,
            ErrorCode::IsDirectory => IoError::IsDir,
            ErrorCode::NotDirectory => IoError::NotDir,
            ErrorCode::NotEmpty => IoError::NotEmpty,
            ErrorCode::Exist => IoError::Exists,
            ErrorCode::InsufficientSpace | ErrorCode::Quota | ErrorCode::FileTooLarge => IoError::NoSpace,
            ErrorCode::Loop => IoError::Loop,
            ErrorCode::NameTooLong => IoError::NameTooLong,
            ErrorCode::Invalid | ErrorCode::IllegalByteSequence => IoError::Invalid,
            other => IoError::Other(other.name()),
        }
    }
}
