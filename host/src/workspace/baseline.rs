//! What the archive held when the workspace last agreed with it: the measure for `status` and `sync`.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use cap_std::fs::{Dir, Metadata as FileMetadata, MetadataExt};
use serde::{Deserialize, Serialize};

use super::durable::write_whole;
use super::identity::tick;
use super::layout;
use super::listing::Entry;
use super::status::Changes;
use crate::config::Durability;

/// Raised when the file's format changes; another number is read as damage, never guessed at.
const FORMAT: u32 = 2;

/// Every entry of the archive, in the archive's order, with the stat of its file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Baseline {
    format: u32,
    /// When the stats were taken, in nanoseconds since 1970. A file whose times are not older may have changed after it was
    /// looked at without showing it.
    pub taken: i64,
    pub entries: Vec<Recorded>,
    /// Every directory of the workspace, with what it looked like when nothing was in it but entries; nothing for one that held
    /// something else. Empty if that is not known.
    pub directories: Vec<(String, Option<Stat>)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recorded {
    pub entry: Entry,
    /// Absent for what was not extracted.
    pub stat: Option<Stat>,
}

/// What tells that a file was not touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    pub size: u64,
    pub modified: i64,
    /// Nobody but the kernel sets it, so an edit that puts the modification time back shows here.
    pub changed: i64,
    pub inode: u64,
}

impl Stat {
    pub fn of(metadata: &FileMetadata) -> Stat {
        Stat {
            size: metadata.size(),
            modified: metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec(),
            changed: metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec(),
            inode: metadata.ino(),
        }
    }

    /// The same from a bare system call.
    pub fn of_raw(stat: &rustix::fs::Stat) -> Stat {
        Stat {
            size: stat.st_size as u64,
            modified: stat.st_mtime * 1_000_000_000 + stat.st_mtime_nsec as i64,
            changed: stat.st_ctime * 1_000_000_000 + stat.st_ctime_nsec as i64,
            inode: stat.st_ino,
        }
    }

    /// Whether the file could have changed in the same tick of the clock in which it was recorded.
    pub fn is_settled_at(&self, taken: i64) -> bool {
        self.changed + tick() < taken
    }
}

impl Baseline {
    pub fn new(entries: Vec<Recorded>, directories: Vec<(String, Option<Stat>)>, taken: i64) -> Baseline {
        Baseline { format: FORMAT, taken, entries, directories }
    }

    /// Notes what a comparison that began at `began` has found, so that the next one need not read the same files again. Returns
    /// whether there was anything to note.
    ///
    /// A file changed after `began` has a later time than its stat, unless the stat is of the same tick; such files stay in doubt.
    pub fn settle(&mut self, changes: &Changes, began: i64) -> bool {
        let settled: Vec<_> = changes.reread.iter().filter(|(_, stat)| stat.is_settled_at(began)).collect();
        if settled.is_empty() {
            return false;
        }
        for (index, _) in &changes.modified {
            // Its stat may be the recorded one, if it was edited within the tick. It must not become trusted.
            self.entries[*index as usize].stat = None;
        }
        for (index, stat) in &changes.reread {
            self.entries[*index as usize].stat = stat.is_settled_at(began).then_some(*stat);
        }
        // The same for directories. One that looked settled may be as it is recorded or not; that shows.
        for (_, stat) in &mut self.directories {
            *stat = stat.filter(|stat| stat.is_settled_at(self.taken));
        }
        self.taken = began;
        true
    }

    pub fn load(workspace: &Dir) -> io::Result<Baseline> {
        let bytes = workspace.read(layout::BASELINE)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the baseline is damaged");
        let baseline: Baseline = postcard::from_bytes(&bytes).map_err(|_| damaged())?;
        if baseline.format == FORMAT { Ok(baseline) } else { Err(damaged()) }
    }

    pub fn store(&self, workspace: &Dir, durability: Durability) -> io::Result<()> {
        self.store_as(workspace, layout::BASELINE, durability)
    }

    /// The same while others may do so too: they all hold the session's lock shared, and what each of them writes is right.
    pub fn store_shared(&self, workspace: &Dir, tmp: &Dir, durability: Durability) -> io::Result<()> {
        let name = format!("baseline-{}", uuid::Uuid::new_v4().simple());
        self.store_as(tmp, &name, durability)?;
        tmp.rename(&name, workspace, layout::BASELINE)
    }

    pub fn store_as(&self, workspace: &Dir, name: &str, durability: Durability) -> io::Result<()> {
        write_whole(workspace, name, &self.to_bytes()?, durability)
    }

    /// What the file holds.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        postcard::to_stdvec(self).map_err(io::Error::other)
    }
}

/// Nanoseconds since 1970.
pub fn clock() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}
