//! A directory of the workspace.

use super::{File, Result, Timestamp, system};

/// The directory of the session that the tool was called for.
///
/// Fails with [`IoError::NotFound`](super::IoError::NotFound) if the tool did not declare that it reads or writes the workspace.
pub fn workspace() -> Result<Dir> {
    system::workspace().map(Dir)
}

/// A handle to a directory. Paths given to its functions start here and cannot leave.
#[derive(Debug)]
pub struct Dir(system::Dir);

/// What something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A pipe, a socket, a device. Opening one can block for ever, so look before opening.
    Other,
}

/// What is known about a file without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
    /// When its contents last changed, where the filesystem says.
    pub modified: Option<Timestamp>,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, a single component.
    pub name: String,
    /// What it is; a link is a link, wherever it leads.
    pub kind: Kind,
}

impl Dir {
    /// Opens a directory below this one.
    pub fn open_dir(&self, path: &str) -> Result<Dir> {
        self.0.open_dir(path).map(Dir)
    }

    /// Opens a file for reading.
    pub fn open_file(&self, path: &str) -> Result<File> {
        self.0.open_file(path).map(File)
    }

    /// Opens an existing file for reading and writing.
    pub fn open_file_to_write(&self, path: &str) -> Result<File> {
        self.0.open_file_to_write(path).map(File)
    }

    /// Creates a file for reading and writing. It must not exist.
    pub fn create_file(&self, path: &str) -> Result<File> {
        self.0.create_file(path).map(File)
    }

    /// Looks at what has this name. A link is not followed.
    pub fn stat(&self, path: &str) -> Result<Stat> {
        self.0.stat(path, false)
    }

    /// Looks at what a link with this name leads to; not permitted if that is outside.
    pub fn stat_target(&self, path: &str) -> Result<Stat> {
        self.0.stat(path, true)
    }

    /// What a link says, which is not always where it leads.
    pub fn read_link(&self, path: &str) -> Result<String> {
        self.0.read_link(path)
    }

    /// The names in this directory, in the order of the filesystem. Names that are not UTF-8 are left out: no call could use them.
    pub fn read_dir(&self) -> Result<Vec<Entry>> {
        self.0.read_dir()
    }

    /// Creates a directory. It must not exist.
    pub fn create_dir(&self, path: &str) -> Result<()> {
        self.0.create_dir(path)
    }

    /// Removes a file or a link.
    pub fn remove_file(&self, path: &str) -> Result<()> {
        self.0.remove_file(path)
    }

    /// Removes an empty directory.
    pub fn remove_dir(&self, path: &str) -> Result<()> {
        self.0.remove_dir(path)
    }

    /// Moves `from` to `to` in the directory `target`, replacing a file that is there.
    pub fn rename(&self, from: &str, target: &Dir, to: &str) -> Result<()> {
        self.0.rename(from, &target.0, to)
    }
}
