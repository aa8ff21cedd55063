//! `metadata.json`: who a session is and what state it is in.

use std::io::{self, Write};
use std::path::PathBuf;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::layout;

/// The file's contents. Read it after the lock is taken; written whole, through a temporary file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Metadata {
    pub id: String,
    pub name: String,
    pub source_path: PathBuf,
    pub created_at: String,
    pub last_synced_at: Option<String>,
    pub last_accessed_at: String,
    pub state: State,
    /// Of the archive at `source_path` as it was last read or written by us.
    pub zip_hash_sha256: String,
    pub extracted_size_bytes: u64,
    pub file_count: u64,
    /// Present while a sync is under way: what recovery has to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Open,
    Syncing,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Syncing => "syncing",
        }
    }
}

/// A sync that has begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pending {
    /// File name of the staged archive, beside the source.
    pub stage: String,
    /// SHA-256 of the staged archive; absent until it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl Metadata {
    pub fn load(workspace: &Dir) -> io::Result<Metadata> {
        let bytes = workspace.read(layout::METADATA)?;
        serde_json::from_slice(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    pub fn store(&self, workspace: &Dir) -> io::Result<()> {
        let bytes = serde_json::to_vec_pretty(self)?;
        write_whole(workspace, layout::METADATA, &bytes)
    }

    /// The same for a session that nobody can see yet.
    pub fn store_first(&self, workspace: &Dir) -> io::Result<()> {
        write_first(workspace, layout::METADATA, &serde_json::to_vec_pretty(self)?)
    }
}

/// Replaces a file in one step, on disk before the name changes: readers and a crash see the old one or the new one.
pub fn write_whole(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temporary = format!("{name}.new");
    let mut file = dir.open_with(&temporary, OpenOptions::new().write(true).create(true).truncate(true).mode(0o600))?;
    file.write_all(bytes)?;
    file.sync_data()?;
    dir.rename(&temporary, dir, name)?;
    sync_directory(dir)
}

/// Writes a file of a session that is still being made, and leaves it to the kernel when it reaches the disk. To flush it would flush
/// everything that was just extracted, on most filesystems, and win nothing: a session that a power cut took is opened again.
pub fn write_first(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    dir.open_with(name, OpenOptions::new().write(true).create_new(true).mode(0o600))?.write_all(bytes)
}

/// Puts the names in a directory on disk. The handle itself only names the directory; flushing needs one that can read it.
pub fn sync_directory(dir: &Dir) -> io::Result<()> {
    let readable = rustix::fs::openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(rustix::fs::fsync(readable)?)
}

/// Now, as the metadata and the tools write it.
pub fn now() -> String {
    format_time(std::time::SystemTime::now())
}

/// RFC 3339 in UTC, to the second.
pub fn format_time(time: std::time::SystemTime) -> String {
    jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::UNIX_EPOCH).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
