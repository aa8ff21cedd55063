//! How much disk sessions use, enforced while a guest writes.
//!
//! WASI has no quota, so the host keeps accounts: a [`Ledger`] for each session and one for all of them, each a file of sixteen
//! bytes that processes change under its lock. A call draws an [`Allowance`] from both in pieces and hands back what it did not
//! use. A process that dies keeps its last piece; counting the files again puts that right, and happens before anybody is
//! refused.

use std::io;
use std::os::unix::fs::FileExt;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{FileType, FlockOperation};
use rustix::io::retry_on_intr;

use super::owner::Share;
use super::walk::walk;

/// Bytes and files (directories count).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub bytes: u64,
    pub files: u64,
}

/// An account on disk.
#[derive(Debug)]
pub struct Ledger {
    file: std::fs::File,
    most: Usage,
}

impl Ledger {
    pub fn open(dir: &Dir, name: &str, most_bytes: u64, most_files: u64) -> io::Result<Ledger> {
        let file = dir.open_with(name, OpenOptions::new().read(true).write(true).create(true).mode(0o600))?.into_std();
        Ok(Ledger { file, most: Usage { bytes: most_bytes, files: most_files } })
    }

    /// Adds to the account, unless that would pass the limit.
    pub fn draw(&self, wanted: Usage) -> io::Result<bool> {
        self.change(|used| {
            let next = Usage { bytes: used.bytes.saturating_add(wanted.bytes), files: used.files.saturating_add(wanted.files) };
            (next.bytes <= self.most.bytes && next.files <= self.most.files).then_some(next)
        })
    }

    pub fn give_back(&self, unused: Usage) -> io::Result<()> {
        self.change(|used| {
            Some(Usage { bytes: used.bytes.saturating_sub(unused.bytes), files: used.files.saturating_sub(unused.files) })
        })?;
        Ok(())
    }

    /// Puts a counted figure in place of the kept one, and returns what that was.
    pub fn correct(&self, counted: Usage) -> io::Result<Usage> {
        let mut kept = Usage::default();
        self.change(|used| {
            kept = used;
            Some(counted)
        })?;
        Ok(kept)
    }

    /// Adds to the account whatever the limit is: what is there is there.
    fn add(&self, more: Usage) -> io::Result<()> {
        self.change(|used| {
            Some(Usage { bytes: used.bytes.saturating_add(more.bytes), files: used.files.saturating_add(more.files) })
        })?;
        Ok(())
    }

    pub fn used(&self) -> io::Result<Usage> {
        let mut seen = Usage::default();
        self.change(|used| {
            seen = used;
            None
        })?;
        Ok(seen)
    }

    pub fn most(&self) -> Usage {
        self.most
    }

    fn change(&self, next: impl FnOnce(Usage) -> Option<Usage>) -> io::Result<bool> {
        retry_on_intr(|| rustix::fs::flock(&self.file, FlockOperation::LockExclusive))?;
        let changed = (|| {
            let mut raw = [0; 16];
            // A new or torn file reads as empty: too little is corrected by the next count.
            let used = match self.file.read_exact_at(&mut raw, 0) {
                Ok(()) => Usage { bytes: number(&raw[..8]), files: number(&raw[8..]) },
                Err(_) => Usage::default(),
            };
            let Some(next) = next(used) else { return Ok(false) };
            raw[..8].copy_from_slice(&next.bytes.to_le_bytes());
            raw[8..].copy_from_slice(&next.files.to_le_bytes());
            self.file.write_all_at(&raw, 0)?;
            Ok(true)
        })();
        retry_on_intr(|| rustix::fs::flock(&self.file, FlockOperation::Unlock))?;
        changed
    }
}

/// Makes a session's account what was counted, and moves the common one by the difference. A process that died keeps what it had
/// drawn, and one that counted while another wrote counts too little; this puts both right.
pub fn settle(session: &Ledger, total: &Ledger, counted: Usage) -> io::Result<()> {
    let kept = session.correct(counted)?;
    if kept == counted {
        return Ok(());
    }
    total.give_back(Usage { bytes: kept.bytes.saturating_sub(counted.bytes), files: kept.files.saturating_sub(counted.files) })?;
    total.add(Usage { bytes: counted.bytes.saturating_sub(kept.bytes), files: counted.files.saturating_sub(kept.files) })
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// What one call may still write.
#[derive(Debug)]
pub struct Allowance {
    accounts: Option<Accounts>,
    /// Drawn from the accounts and not used yet.
    left: Usage,
    /// Freed during the call. It goes back when the call ends, not before: a guest could otherwise delete a file that it still
    /// holds open, and write its quota again and again.
    freed: Usage,
    refused: bool,
}

#[derive(Debug)]
struct Accounts {
    session: Ledger,
    total: Ledger,
    contents: Dir,
    /// The directory of all sessions.
    root: Dir,
    /// What the session's owner may have, if that is bounded.
    share: Option<Share>,
    counted: bool,
}

/// Drawn at once, so that small writes do not touch the accounts each time. Another call's count cannot see what was drawn and not
/// yet written, so this is also how far each running call can go past the limit.
const PIECE: Usage = Usage { bytes: 1 << 20, files: 64 };

impl Allowance {
    /// Draws from a session's account and the common one.
    pub fn from_accounts(session: Ledger, total: Ledger, contents: Dir, root: Dir, share: Option<Share>) -> Allowance {
        Allowance {
            accounts: Some(Accounts { session, total, contents, root, share, counted: false }),
            left: Usage::default(),
            freed: Usage::default(),
            refused: false,
        }
    }

    /// A fixed amount that was accounted for before, as for extracting.
    pub fn fixed(bytes: u64, files: u64) -> Allowance {
        Allowance { accounts: None, left: Usage { bytes, files }, freed: Usage::default(), refused: false }
    }

    /// Takes what a write needs, or refuses it.
    pub fn take(&mut self, needed: Usage) -> Result<(), QuotaExceeded> {
        let short =
            Usage { bytes: needed.bytes.saturating_sub(self.left.bytes), files: needed.files.saturating_sub(self.left.files) };
        if short != Usage::default() {
            let freed = self.freed;
            let Some(drawn) = self.accounts.as_mut().and_then(|accounts| accounts.draw(short, freed)) else {
                self.refused = true;
                return Err(QuotaExceeded);
            };
            self.left.bytes += drawn.bytes;
            self.left.files += drawn.files;
        }
        self.left.bytes -= needed.bytes;
        self.left.files -= needed.files;
        Ok(())
    }

    /// Puts back what was taken for something that did not happen, or what a truncation really freed.
    pub fn refund(&mut self, unused: Usage) {
        self.left.bytes += unused.bytes;
        self.left.files += unused.files;
    }

    /// Notes what a deletion freed.
    pub fn free(&mut self, freed: Usage) {
        self.freed.bytes += freed.bytes;
        self.freed.files += freed.files;
    }

    /// Whether the call was refused a write.
    pub fn was_refused(&self) -> bool {
        self.refused
    }
}

impl Drop for Allowance {
    fn drop(&mut self) {
        if let Some(accounts) = &self.accounts {
            let back = Usage { bytes: self.left.bytes + self.freed.bytes, files: self.left.files + self.freed.files };
            if back != Usage::default() {
                let _ = accounts.session.give_back(back);
                let _ = accounts.total.give_back(back);
            }
        }
    }
}

impl Accounts {
    /// Draws a piece, or just what is needed where a piece does not fit, counting the files before giving up. What the call itself
    /// deleted may still be open and on disk, so it counts as being there.
    fn draw(&mut self, short: Usage, freed: Usage) -> Option<Usage> {
        let piece = Usage { bytes: short.bytes.max(PIECE.bytes), files: short.files.max(PIECE.files) };
        for wanted in [piece, short] {
            if self.draw_exactly(wanted) {
                return Some(wanted);
            }
        }
        if !std::mem::replace(&mut self.counted, true)
            && let Ok(counted) = count(&self.contents)
        {
            let counted = Usage { bytes: counted.bytes + freed.bytes, files: counted.files + freed.files };
            let _ = settle(&self.session, &self.total, counted);
            // What other sessions seem to use may be what processes drew that are dead.
            let fits = || self.draw_exactly(short);
            if fits() || (super::recover::recount_total(&self.root, &self.total).is_ok() && fits()) {
                return Some(short);
            }
        }
        None
    }

    fn draw_exactly(&self, wanted: Usage) -> bool {
        if !self.session.draw(wanted).unwrap_or(false) {
            return false;
        }
        if !self.total.draw(wanted).unwrap_or(false) {
            let _ = self.session.give_back(wanted);
            return false;
        }
        // Drawn first and looked at then, so that two calls at once cannot both have the last of it.
        if self.share.as_ref().is_some_and(|share| !share.is_kept()) {
            let _ = self.session.give_back(wanted);
            let _ = self.total.give_back(wanted);
            return false;
        }
        true
    }
}

#[derive(Debug, Clone, Copy)]
pub struct QuotaExceeded;

/// Counts what is really there.
pub fn count(dir: &Dir) -> io::Result<Usage> {
    let walked = walk(dir, |seen| match seen.file_type() {
        FileType::RegularFile => Some(seen.stat.st_size as u64),
        _ => Some(0),
    })?;
    let files = (walked.found.len() + walked.unnamed.len()) as u64;
    let usage = Usage { bytes: walked.found.into_iter().sum(), files };
    Ok(usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    fn accounts(most_bytes: u64, most_files: u64) -> (tempfile::TempDir, Dir, impl Fn() -> Allowance) {
        let temporary = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temporary.path(), ambient_authority()).unwrap();
        dir.create_dir("contents").unwrap();
        dir.create_dir("sessions").unwrap();
        let handle = dir.try_clone().unwrap();
        let make = move || {
            Allowance::from_accounts(
                Ledger::open(&handle, "usage", most_bytes, most_files).unwrap(),
                Ledger::open(&handle, "total", u64::MAX, u64::MAX).unwrap(),
                handle.open_dir("contents").unwrap(),
                handle.open_dir("sessions").unwrap(),
                None,
            )
        };
        (temporary, dir, make)
    }

    #[test]
    fn two_calls_cannot_spend_the_same_bytes() {
        let (_temporary, dir, allowance) = accounts(10 << 20, 1000);
        let (mut first, mut second) = (allowance(), allowance());
        first.take(Usage { bytes: 6 << 20, files: 1 }).unwrap();
        dir.write("contents/six", vec![0; 6 << 20]).unwrap();
        assert!(second.take(Usage { bytes: 6 << 20, files: 1 }).is_err());
        assert!(second.was_refused());
    }

    #[test]
    fn what_was_not_used_goes_back() {
        let (_temporary, dir, allowance) = accounts(10 << 20, 1000);
        let mut call = allowance();
        call.take(Usage { bytes: 100, files: 1 }).unwrap();
        drop(call);
        let ledger = Ledger::open(&dir, "usage", 10 << 20, 1000).unwrap();
        assert_eq!(ledger.used().unwrap(), Usage { bytes: 100, files: 1 });
    }

    #[test]
    fn freed_bytes_cannot_be_spent_in_the_same_call() {
        let (_temporary, _dir, allowance) = accounts(1000, 1000);
        let mut call = allowance();
        call.take(Usage { bytes: 1000, files: 1 }).unwrap();
        call.free(Usage { bytes: 1000, files: 1 });
        assert!(call.take(Usage { bytes: 1000, files: 1 }).is_err());
        drop(call);
        allowance().take(Usage { bytes: 1000, files: 1 }).unwrap();
    }

    #[test]
    fn a_count_comes_before_a_refusal() {
        let (_temporary, dir, allowance) = accounts(1000, 1000);
        // What a killed process left behind: the account says full, the directory is empty.
        Ledger::open(&dir, "usage", 1000, 1000).unwrap().draw(Usage { bytes: 1000, files: 7 }).unwrap();
        allowance().take(Usage { bytes: 900, files: 1 }).unwrap();
    }
}
