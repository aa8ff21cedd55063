//! Copying large ranges into a file that is being written, on a thread of its own: whoever writes the file goes on meanwhile, and
//! whoever reads it back waits only for what is not there yet.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use super::copy::{Range, copy_range};
use super::durable::begin_to_flush;

/// Below this a range is copied at once: to hand it over would take as long.
const WORTH_HANDING_OVER: u64 = 256 << 10;

/// Hears how much of the file is there, without a gap, from its first byte on.
pub type Written = Box<dyn Fn(u64) + Send>;

/// The copies into one file. Ends them when it is dropped.
pub struct Copying {
    underway: Underway,
    thread: Option<JoinHandle<()>>,
}

/// Those that are not done yet, for whoever adds some or waits for them.
#[derive(Clone)]
pub struct Underway(Arc<Shared>);

struct Shared {
    to: Arc<File>,
    /// Of blocks that can be shared, or 0.
    block_size: u32,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// In the order of the file. The first is being copied.
    waiting: VecDeque<(Arc<File>, Range)>,
    /// How much of the first is there.
    copied: u64,
    /// Where the file ends, once all is copied.
    end: u64,
    /// Nothing is added any more.
    is_complete: bool,
    /// Nobody wants the file any more.
    is_abandoned: bool,
    failed: Option<(io::ErrorKind, String)>,
    written: Option<Written>,
}

impl Copying {
    /// Begins without anything to copy. With `flushes`, the kernel is asked to put on disk what was copied, so that a flush at the
    /// end has little left to wait for.
    pub fn begin(to: Arc<File>, block_size: u32, flushes: bool, written: Written) -> io::Result<Copying> {
        let state = Mutex::new(State { written: Some(written), ..State::default() });
        let underway = Underway(Arc::new(Shared { to, block_size, state, changed: Condvar::new() }));
        let shared = underway.0.clone();
        let thread = std::thread::Builder::new().name("copy".into()).spawn(move || shared.work(flushes))?;
        Ok(Copying { underway, thread: Some(thread) })
    }

    pub fn underway(&self) -> Underway {
        self.underway.clone()
    }

    /// Waits until everything is copied. Blocks.
    pub fn finish(mut self) -> io::Result<()> {
        self.underway.0.change(|state| state.is_complete = true);
        self.join()?;
        let mut state = self.underway.0.lock();
        // Whoever listened knows by this that there is no more.
        state.written = None;
        state.failure()
    }

    fn join(&mut self) -> io::Result<()> {
        self.thread.take().map_or(Ok(()), |thread| thread.join().map_err(|_| io::Error::other("the copy broke down")))
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        self.underway.0.change(|state| {
            state.is_abandoned = true;
            state.written = None;
        });
        let _ = self.join();
    }
}

impl Underway {
    /// Copies a range to the end of the file, now or in a while. What goes wrong later is told at the end, and to who waits for it.
    pub fn add(&self, from: &Arc<File>, range: Range) -> io::Result<()> {
        let end = range.at + range.len;
        if range.len < WORTH_HANDING_OVER {
            copy_range(from, &self.0.to, range, self.0.block_size, |_| Ok(()))?;
            self.appended(end);
            return Ok(());
        }
        let mut state = self.0.lock();
        state.failure()?;
        state.end = end;
        state.waiting.push_back((from.clone(), range));
        self.0.changed.notify_all();
        Ok(())
    }

    /// Notes that somebody wrote up to there.
    pub fn appended(&self, end: u64) {
        let mut state = self.0.lock();
        state.end = end;
        state.report();
    }

    /// Where the file ends, once all is copied.
    pub fn end(&self) -> u64 {
        self.0.lock().end
    }

    /// Waits until a stretch of the file is there. Blocks.
    pub fn wait_for(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut state = self.0.lock();
        while state.is_missing(offset, len) {
            state.failure()?;
            state = self.0.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn work(&self, flushes: bool) {
        while let Some((from, range)) = self.next() {
            let begun = std::cell::Cell::new(0);
            let copied = copy_range(&from, &self.to, range, self.block_size, |copied| {
                if flushes {
                    begin_to_flush(&self.to, range.at + begun.replace(copied), copied - begun.get());
                }
                let mut state = self.lock();
                if state.is_abandoned {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                state.copied = copied;
                state.report();
                self.changed.notify_all();
                Ok(())
            });
            self.change(|state| match copied {
                Ok(()) => {
                    state.waiting.pop_front();
                    state.copied = 0;
                    state.report();
                }
                Err(error) => state.failed = Some((error.kind(), error.to_string())),
            });
        }
    }

    /// The next range, when there is one; nothing when there will be none.
    fn next(&self) -> Option<(Arc<File>, Range)> {
        let mut state = self.lock();
        loop {
            if state.is_abandoned || state.failed.is_some() {
                return None;
            }
            match state.waiting.front() {
                Some((from, range)) => return Some((from.clone(), *range)),
                None if state.is_complete => return None,
                None => state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner()),
            }
        }
    }
}

impl State {
    /// Whether something of a stretch is still to be copied.
    fn is_missing(&self, offset: u64, len: u64) -> bool {
        let end = offset.saturating_add(len);
        let mut copied = self.copied;
        self.waiting.iter().any(|(_, range)| {
            let start = range.at + std::mem::take(&mut copied);
            start < end && offset < range.at + range.len
        })
    }

    fn report(&self) {
        if let Some(written) = &self.written {
            written(self.waiting.front().map_or(self.end, |(_, range)| range.at + self.copied));
        }
    }

    fn failure(&self) -> io::Result<()> {
        match &self.failed {
            Some((kind, why)) => Err(io::Error::new(*kind, why.clone())),
            None if self.is_abandoned => Err(io::ErrorKind::Interrupted.into()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;
    use std::sync::mpsc;

    use super::*;

    fn file_of(len: usize) -> (Arc<File>, Vec<u8>) {
        let contents: Vec<u8> = (0..len as u32).map(|at| ((at * 31) >> 5) as u8).collect();
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&contents, 0).unwrap();
        (Arc::new(file), contents)
    }

    #[test]
    fn what_is_waited_for_is_there_and_what_is_told_has_no_gap() {
        const LARGE: u64 = 20 << 20;
        let (from, contents) = file_of(LARGE as usize);
        let to = Arc::new(tempfile::tempfile().unwrap());
        let (sender, told) = mpsc::channel();
        let copying = Copying::begin(to.clone(), 0, true, Box::new(move |end| _ = sender.send(end))).unwrap();
        let underway = copying.underway();
        underway.add(&from, Range { offset: 0, len: LARGE, at: 0 }).unwrap();
        to.write_all_at(b"between", LARGE).unwrap();
        underway.appended(LARGE + 7);
        underway.add(&from, Range { offset: 3, len: 100, at: LARGE + 7 }).unwrap();
        underway.add(&from, Range { offset: 5, len: LARGE - 5, at: LARGE + 107 }).unwrap();
        assert_eq!(underway.end(), 2 * LARGE + 102);
        let piece = |at: u64, len: u64| {
            underway.wait_for(at, len).unwrap();
            let mut piece = vec![0; len as usize];
            to.read_exact_at(&mut piece, at).unwrap();
            piece
        };
        assert_eq!(piece(LARGE, 7), b"between");
        assert!(piece(LARGE - 1000, 1000) == contents[LARGE as usize - 1000..]);
        assert!(piece(LARGE + 7, 100) == contents[3..103]);
        assert!(piece(LARGE + 107, LARGE - 5) == contents[5..]);
        copying.finish().unwrap();
        let told: Vec<u64> = told.iter().collect();
        assert!(told.is_sorted() && told.last() == Some(&(2 * LARGE + 102)), "{told:?}");
    }

    #[test]
    fn who_waits_for_what_cannot_be_copied_hears_why() {
        let (from, _) = file_of(1000);
        let copying = Copying::begin(Arc::new(tempfile::tempfile().unwrap()), 0, false, Box::new(|_| {})).unwrap();
        let underway = copying.underway();
        // Longer than what it is taken from.
        underway.add(&from, Range { offset: 0, len: 1 << 20, at: 0 }).unwrap();
        assert_eq!(underway.wait_for(1 << 19, 1).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(underway.add(&from, Range { offset: 0, len: 1 << 20, at: 1 << 20 }).is_err());
        assert_eq!(copying.finish().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn nobody_waits_for_a_file_that_is_not_wanted_any_more() {
        let (from, _) = file_of(32 << 20);
        let copying = Copying::begin(Arc::new(tempfile::tempfile().unwrap()), 0, false, Box::new(|_| {})).unwrap();
        let underway = copying.underway();
        for turn in 0..64 {
            underway.add(&from, Range { offset: 0, len: 32 << 20, at: turn * (32 << 20) }).unwrap();
        }
        let waiting = std::thread::spawn({
            let underway = underway.clone();
            move || underway.wait_for(63 * (32 << 20), 1)
        });
        drop(copying);
        assert!(waiting.join().unwrap().is_err());
    }
}
