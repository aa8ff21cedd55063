//! What a file looks like to `stat`: enough to see that somebody replaced it or wrote into it, without reading it.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::LazyLock;
use std::time::Duration;

use cap_std::fs::Dir;
use rustix::time::{ClockId, clock_getres};
use serde::{Deserialize, Serialize};

use super::baseline::clock;

/// How long the clock that filesystems stamp files with may stand still, in nanoseconds, and a little more.
pub fn tick() -> i64 {
    /// Of the coarsest that a kernel is built with.
    const COARSEST: i64 = 10_000_000;
    const MORE: i64 = 1_000_000;
    static TICK: LazyLock<i64> = LazyLock::new(|| {
        let step = clock_getres(ClockId::RealtimeCoarse);
        if step.tv_sec == 0 { step.tv_nsec.min(COARSEST) + MORE } else { COARSEST + MORE }
    });
    *TICK
}

/// Changes when somebody replaces a file or writes into it. Nobody but the kernel sets `changed`, so an edit that puts the
/// modification time back shows there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    /// Nanoseconds since 1970, like `changed`.
    pub modified: i64,
    pub changed: i64,
}

impl Identity {
    pub fn of(metadata: &Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec(),
            changed: metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec(),
        }
    }

    /// What is under a name now; links are not followed.
    pub fn at(dir: &Dir, name: &str) -> io::Result<Identity> {
        use cap_std::fs::MetadataExt;
        let metadata = dir.symlink_metadata(name)?;
        Ok(Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec(),
            changed: metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec(),
        })
    }

    /// Whether it is the same file with the same contents, under whatever name: links and renames change `changed`, and a
    /// device may have another number after it was mounted again.
    pub fn is_same_file(&self, other: &Identity) -> bool {
        (self.inode, self.size, self.modified) == (other.inode, other.size, other.modified)
    }

    /// Whether a write that came after this look would show. In the tick of the clock in which a file was changed another change
    /// leaves no trace.
    pub fn is_settled(&self) -> bool {
        self.changed + tick() < clock()
    }

    /// Waits until it is, which takes a tick at most.
    pub fn settle(&self) {
        wait_until(self.changed + tick() + 1);
    }
}

/// Waits until the clock has reached a time that is a tick ahead at most.
pub fn wait_until(time: i64) {
    let left = (time - clock()).clamp(0, tick() + 1);
    std::thread::sleep(Duration::from_nanos(left as u64));
}
