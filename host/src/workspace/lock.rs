//! The lock of a session: flock, so that it dies with its holder and needs no cleaning.

use std::io::{Read, Seek, Write};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt};
use rustix::fs::{FlockOperation, Timespec, Timestamps};
use rustix::io::retry_on_intr;

use super::{holders, layout};
use crate::failure::{Class, Failure};

/// Shared for everything that works on files, exclusive for what replaces the archive or removes the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Shared,
    Exclusive,
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    /// Nothing is held: the way up failed, and the way back too.
    lost: bool,
}

impl Lock {
    /// Waits for the lock. Each caller opens the file anew, so calls of one process exclude each other as well.
    pub async fn acquire(workspace: &Dir, mode: Mode, timeout: Duration) -> Result<Lock, Failure> {
        let mut options = OpenOptions::new();
        let file = workspace
            .open_with(layout::LOCK, options.read(true).write(true).create(true).mode(0o600))
            .map_err(|error| Failure::internal(format!("The session's lock cannot be opened: {error}.")))?;
        let mut lock = Lock { file, lost: false };
        lock.change(mode, timeout).await?;
        Ok(lock)
    }

    /// Takes the lock if nobody holds it in a conflicting way now. Does not count as an access.
    pub fn try_acquire(workspace: &Dir, mode: Mode) -> std::io::Result<Option<Lock>> {
        let mut options = OpenOptions::new();
        let file = workspace.open_with(layout::LOCK, options.read(true).write(true).create(true).mode(0o600))?;
        let lock = Lock { file, lost: false };
        Ok(if lock.try_take(mode)? { Some(lock) } else { None })
    }

    /// Whether nobody holds the lock now. Leaves no trace, not even the file.
    pub fn is_free(workspace: &Dir) -> bool {
        match workspace.open(layout::LOCK) {
            Ok(file) => Lock { file, lost: false }.try_take(Mode::Exclusive).unwrap_or(false),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }

    /// From shared to exclusive or back. Between the two nothing is held, so two sessions that both want to go up cannot wait
    /// for each other for ever; and what was read before must be read again.
    pub async fn change(&mut self, mode: Mode, timeout: Duration) -> Result<(), Failure> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let taken =
                self.try_change(mode).map_err(|error| Failure::internal(format!("The session cannot be locked: {error}.")))?;
            if taken {
                return Ok(());
            }
            let left = timeout.saturating_sub(started.elapsed());
            if left.is_zero() {
                let failure = self.locked(timeout);
                // A conversion that fails has given up what was held before.
                self.lost = mode == Mode::Exclusive && !self.try_change(Mode::Shared).unwrap_or(false);
                return Err(failure);
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Whether the lock was lost in an attempt to change it. What it protected must not be touched any more.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    fn try_change(&mut self, mode: Mode) -> std::io::Result<bool> {
        let taken = self.try_take(mode)?;
        if taken {
            if mode == Mode::Exclusive {
                self.sign();
            }
            self.touch();
        }
        Ok(taken)
    }

    fn try_take(&self, mode: Mode) -> std::io::Result<bool> {
        let operation = match mode {
            Mode::Shared => FlockOperation::NonBlockingLockShared,
            Mode::Exclusive => FlockOperation::NonBlockingLockExclusive,
        };
        match retry_on_intr(|| rustix::fs::flock(&self.file, operation)) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Notes the access: the modification time of the lock file is the time of the last use, to the second. Writing the metadata for
    /// that would cost each read a file, and could undo what a concurrent sync wrote there.
    fn touch(&self) {
        let second = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if rustix::fs::fstat(&self.file).is_ok_and(|stat| u64::try_from(stat.st_mtime) == Ok(second)) {
            return;
        }
        let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let _ = rustix::fs::futimens(&self.file, &Timestamps { last_access: now, last_modification: now });
    }

    /// Leaves word of who holds the session, for the message that others get where the kernel does not tell.
    fn sign(&mut self) {
        let _ = self.file.rewind();
        let _ = self.file.set_len(0);
        let _ = self.file.write_all(holders::describe(std::process::id()).as_bytes());
    }

    fn locked(&mut self, timeout: Duration) -> Failure {
        let holders = self.file.metadata().map(|metadata| holders::of_lock(&metadata)).unwrap_or_default();
        let who = if holders.is_empty() { self.last_signed() } else { format!(" by {}", holders.join(", ")) };
        Failure::new(Class::Busy, "LOCKED", format!("The session is locked{who}; waited {:.1} s.", timeout.as_secs_f64()))
            .suggest("Try again when the other operation has finished.")
    }

    /// Whoever last had it alone. That may be over, so it is told as what it is.
    fn last_signed(&mut self) -> String {
        let mut signed = String::new();
        let _ = self.file.rewind();
        let _ = (&mut self.file).take(200).read_to_string(&mut signed);
        if signed.is_empty() { String::new() } else { format!(" (last taken for itself by {signed})") }
    }
}

/// When a session was last used.
pub fn last_access(workspace: &Dir) -> Option<SystemTime> {
    Some(workspace.metadata(layout::LOCK).ok()?.modified().ok()?.into_std())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> (tempfile::TempDir, Dir) {
        let temporary = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
        (temporary, dir)
    }

    #[tokio::test]
    async fn shared_locks_live_together_and_keep_an_exclusive_one_out() {
        let (_temporary, dir) = directory();
        let short = Duration::from_millis(30);
        let first = Lock::acquire(&dir, Mode::Shared, short).await.unwrap();
        let mut second = Lock::acquire(&dir, Mode::Shared, short).await.unwrap();
        let refused = second.change(Mode::Exclusive, short).await.unwrap_err();
        assert_eq!(refused.code, "LOCKED");
        drop(first);
        second.change(Mode::Exclusive, short).await.unwrap();
        let refused = Lock::acquire(&dir, Mode::Shared, short).await.unwrap_err();
        assert!(refused.message.contains(&format!("process {}", std::process::id())), "{}", refused.message);
    }
}
