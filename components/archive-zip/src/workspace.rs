//! The workspace through raw WASI calls: files are made and read relative to handles of their directories.

use wasip2::clocks::wall_clock::Datetime;
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, DescriptorType, ErrorCode, NewTimestamp, OpenFlags, PathFlags};

use crate::contract::Error;
use crate::extract::Create;
use crate::failure::{full, internal, invalid, moved_on, quoted, unholdable};
use crate::prepare::Contents;

/// Where the host mounts the session's files.
const MOUNT: &str = "/workspace";

/// How many directories stay open. Archives list entries by directory, so few are enough, and handles are scarce in a guest.
const OPEN_DIRECTORIES: usize = 16;

/// The mounted directory, and handles of those beneath it that were used last.
pub struct Workspace {
    root: Descriptor,
    /// Most recently used last.
    open: Vec<(String, Descriptor)>,
    writable: bool,
}

impl Workspace {
    pub fn for_writing() -> Result<Self, Error> {
        Self::mounted(true)
    }

    pub fn for_reading() -> Result<Self, Error> {
        Self::mounted(false)
    }

    fn mounted(writable: bool) -> Result<Self, Error> {
        let root = get_directories().into_iter().find(|(_, path)| path == MOUNT).map(|(root, _)| root);
        let root = root.ok_or_else(|| internal("the host gave no /workspace to the archive driver"))?;
        Ok(Self { root, open: Vec::new(), writable })
    }

    /// The handle of the directory that `path` lies in, and its name in there. The host lets no step of it leave the workspace.
    fn parent<'p>(&mut self, path: &'p str) -> Result<(&Descriptor, &'p str), ErrorCode> {
        let Some((directory, name)) = path.rsplit_once('/') else { return Ok((&self.root, path)) };
        match self.open.iter().rposition(|(open, _)| open == directory) {
            Some(last) if last + 1 == self.open.len() => {}
            Some(found) => {
                let used = self.open.remove(found);
                self.open.push(used);
            }
            None => {
                let access =
                    if self.writable { DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY } else { DescriptorFlags::READ };
                let handle = self.root.open_at(PathFlags::empty(), directory, OpenFlags::DIRECTORY, access)?;
                if self.open.len() == OPEN_DIRECTORIES {
                    self.open.remove(0);
                }
                self.open.push((directory.to_owned(), handle));
            }
        }
        let (_, handle) = self.open.last().expect("just found or pushed");
        Ok((handle, name))
    }
}

impl Create for Workspace {
    type File = Descriptor;

    fn create(&mut self, path: &str) -> Result<Descriptor, Error> {
        self.parent(path)
            .and_then(|(directory, name)| {
                // Exclusive: whatever is there already, a link above all, is an error and not written through.
                directory.open_at(PathFlags::empty(), name, OpenFlags::CREATE | OpenFlags::EXCLUSIVE, DescriptorFlags::WRITE)
            })
            .map_err(|code| writing(code, path))
    }

    fn write(&mut self, file: &Descriptor, mut offset: u64, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let written = file.write(bytes, offset).map_err(|code| writing(code, "a file"))?;
            bytes = usize::try_from(written)
                .ok()
                .filter(|&n| n > 0)
                .and_then(|n| bytes.get(n..))
                .ok_or_else(|| internal("the host wrote no byte of a file, or more than it was given"))?;
            offset += written;
        }
        Ok(())
    }

    fn finish(&mut self, file: Descriptor, modified: Option<i64>) -> Result<(), Error> {
        let Some(modified) = modified else { return Ok(()) };
        // WASI has no time before 1970.
        let time = Datetime { seconds: u64::try_from(modified).unwrap_or(0), nanoseconds: 0 };
        file.set_times(NewTimestamp::NoChange, NewTimestamp::Timestamp(time)).map_err(|code| writing(code, "a file"))
    }
}

impl Contents for Workspace {
    type File = Descriptor;

    fn open(&mut self, path: &str) -> Result<(Descriptor, u64), Error> {
        self.parent(path)
            .and_then(|(directory, name)| {
                // Asked before opening: opening a pipe would wait for ever.
                let stat = directory.stat_at(PathFlags::empty(), name)?;
                if stat.type_ != DescriptorType::RegularFile {
                    return Err(ErrorCode::Unsupported);
                }
                let file = directory.open_at(PathFlags::empty(), name, OpenFlags::empty(), DescriptorFlags::READ)?;
                Ok((file, stat.size))
            })
            .map_err(|code| reading(code, path))
    }

    fn read_link(&mut self, path: &str) -> Result<String, Error> {
        self.parent(path).and_then(|(directory, name)| directory.readlink_at(name)).map_err(|code| reading(code, path))
    }

    fn read(&mut self, file: &Descriptor, offset: u64, len: u32) -> Result<Vec<u8>, Error> {
        file.read(u64::from(len), offset).map(|(bytes, _)| bytes).map_err(|code| reading(code, "a file"))
    }
}

fn writing(code: ErrorCode, path: &str) -> Error {
    let path = quoted(path.as_bytes());
    match code {
        ErrorCode::InsufficientSpace | ErrorCode::Quota => full(format!("no space left in the workspace for {path}")),
        ErrorCode::Exist => invalid(format!("{path} is there already: this filesystem takes two names in the archive for one")),
        ErrorCode::NameTooLong | ErrorCode::IllegalByteSequence => {
            unholdable(format!("the filesystem cannot hold a file named {path}"))
        }
        other => internal(format!("cannot write {path}: {}", other.name())),
    }
}

fn reading(code: ErrorCode, path: &str) -> Error {
    let path = quoted(path.as_bytes());
    match code {
        ErrorCode::NoEntry | ErrorCode::NotDirectory => moved_on(format!("{path} is gone from the workspace")),
        ErrorCode::Unsupported | ErrorCode::Loop => moved_on(format!("{path} is not a regular file any more")),
        other => internal(format!("cannot read {path}: {}", other.name())),
    }
}
