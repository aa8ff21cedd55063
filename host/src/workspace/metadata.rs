//! `metadata.json`: who a session is and what state it is in.

use std::io;
use std::path::PathBuf;

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use super::durable::{replace, write_whole};
use super::identity::Identity;
use super::layout;
use super::owner::LOCAL;
use crate::config::Durability;

/// The file's contents. Read it after the lock is taken; written whole, through a temporary file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Metadata {
    pub id: String,
    pub name: String,
    pub source_path: PathBuf,
    /// The principal whose session it is.
    #[serde(default = "local", skip_serializing_if = "is_local")]
    pub owner: String,
    pub created_at: String,
    pub last_synced_at: Option<String>,
    pub last_accessed_at: String,
    pub state: State,
    /// Of the archive at `source_path` as it was last read or written by us; not known of a large one that a sync wrote.
    pub zip_hash_sha256: Option<String>,
    /// What that archive looked like to `stat` when its hash was known, if it had settled by then. While it looks the same it
    /// need not be hashed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_seen: Option<Identity>,
    pub extracted_size_bytes: u64,
    pub file_count: u64,
    /// Whether links of the archive were extracted, so that one that is missing was deleted and a new one is to be packed.
    #[serde(default)]
    pub links: bool,
    /// Present while a sync is under way: what recovery has to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// What the next sync has to clean up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_over: Vec<LeftOver>,
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
    /// The archive that it is made from, as it was when the sync began.
    pub base: Identity,
    /// The staged archive, as soon as it is complete and on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged: Option<Staged>,
    /// File name under which the old archive waits to become the newest backup; absent if none is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
}

/// An archive that is ready to be put in place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Staged {
    /// Not taken of a large archive: it would cost more than all the rest.
    pub hash: Option<String>,
    pub identity: Identity,
    /// What the session holds once it is in place.
    pub file_count: u64,
    pub extracted_size_bytes: u64,
}

/// A file beside the source that could not be dealt with at its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeftOver {
    /// To be removed.
    Stage(String),
    /// An old version of the archive, to be made the newest backup.
    Backup(String),
}

impl Metadata {
    pub fn load(workspace: &Dir) -> io::Result<Metadata> {
        let bytes = workspace.read(layout::METADATA)?;
        serde_json::from_slice(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    pub fn store(&self, workspace: &Dir, durability: Durability) -> io::Result<()> {
        write_whole(workspace, layout::METADATA, &self.to_bytes()?, durability)
    }

    /// The same, where it does no harm if after a power cut the file is the one before.
    pub fn store_soon(&self, workspace: &Dir, durability: Durability) -> io::Result<()> {
        replace(workspace, layout::METADATA, &self.to_bytes()?, durability)
    }

    /// What the file holds.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec_pretty(self)?)
    }
}

fn local() -> String {
    LOCAL.to_owned()
}

fn is_local(owner: &str) -> bool {
    owner == LOCAL
}

/// Now, as the metadata and the tools write it.
pub fn now() -> String {
    format_time(std::time::SystemTime::now())
}

/// RFC 3339 in UTC, to the second.
pub fn format_time(time: std::time::SystemTime) -> String {
    jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::UNIX_EPOCH).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
