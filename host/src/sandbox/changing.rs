//! Who may change the files of a directory now: a lock on the directory itself, so that processes agree that share nothing else, and
//! nothing is left behind.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, Metadata, MetadataExt};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

/// The right to change what is in a directory, until it is dropped.
#[derive(Debug)]
pub struct Changing {
    _lock: OwnedFd,
    /// Device and inode of the directory.
    pub directory: (u64, u64),
}

impl Changing {
    /// Waits for it; `None` if that takes too long.
    pub async fn begin(dir: &Dir, patience: Duration) -> io::Result<Option<Changing>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let lock = retry_on_intr(|| rustix::fs::openat(dir, ".", flags, Mode::empty()))?;
        let directory = identify(dir)?;
        let (began, mut pause) = (Instant::now(), Duration::from_micros(200));
        loop {
            match retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)) {
                Ok(()) => return Ok(Some(Changing { _lock: lock, directory })),
                Err(Errno::WOULDBLOCK) => {}
                Err(error) => return Err(error.into()),
            }
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

/// Which directory it is, whatever path led to it.
pub fn identify(dir: &Dir) -> io::Result<(u64, u64)> {
    let metadata = dir.dir_metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// What tells one state of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    place: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl State {
    /// The state of what has this name; `None` if nothing has.
    pub fn of(dir: &Dir, name: &str) -> io::Result<Option<State>> {
        match dir.symlink_metadata(name) {
            Ok(metadata) => Ok(Some(State::from(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn size(&self) -> u64 {
        self.size
    }
}

impl From<&Metadata> for State {
    fn from(metadata: &Metadata) -> State {
        State {
            place: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_and_who_waits_too_long_is_told() {
        let temporary = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
        let short = Duration::from_millis(30);
        let first = Changing::begin(&dir, short).await.unwrap().unwrap();
        assert!(Changing::begin(&dir, short).await.unwrap().is_none());
        dir.create_dir("other").unwrap();
        assert!(Changing::begin(&dir.open_dir("other").unwrap(), short).await.unwrap().is_some());
        let waiting = tokio::spawn(async move { Changing::begin(&dir, Duration::from_secs(10)).await.unwrap().is_some() });
        tokio::time::sleep(short).await;
        drop(first);
        assert!(waiting.await.unwrap());
    }
}
