//! A walk through a workspace that never follows a link, holds one directory open for each thread, and takes all cores where there
//! is much to see.

use std::io;
use std::mem::MaybeUninit;
use std::sync::{Condvar, Mutex, MutexGuard};

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, Stat, openat, statat};
use rustix::io::{Errno, retry_on_intr};

/// Something found on the way.
pub struct Seen<'a> {
    pub path: &'a str,
    pub stat: &'a Stat,
    /// For directories: whether nothing is in it.
    pub is_empty: bool,
}

impl Seen<'_> {
    pub fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

/// What a walk brought home, in no order.
pub struct Walked<T> {
    /// What `visit` made of things.
    pub found: Vec<T>,
    /// What cannot be named as text; only programs outside can make such names.
    pub unnamed: Vec<String>,
}

/// So many directories waiting to be looked into are worth more threads. Below that a walk is over before they have started.
const WORTH_SHARING: usize = 16;
/// More cores than that are left to others.
const MOST_THREADS: usize = 8;
/// Room for what the kernel tells of a directory at once.
const LISTING: usize = 32 << 10;

/// Visits everything beneath `root`. Directories are kept by their path, not open: an archive can have more of them than a process
/// may have files.
pub fn walk<T: Send>(root: &Dir, visit: impl Fn(Seen<'_>) -> Option<T> + Sync) -> io::Result<Walked<T>> {
    walk_from(root, vec![Unlisted::root()], |_| false, visit)
}

/// The same for what is in some directories, but not in those below them that are seen to otherwise.
pub fn walk_from<T: Send>(
    root: &Dir,
    begin: Vec<Unlisted>,
    is_seen_to: impl Fn(&str) -> bool + Sync,
    visit: impl Fn(Seen<'_>) -> Option<T> + Sync,
) -> io::Result<Walked<T>> {
    let is_seen_to: &(dyn Fn(&str) -> bool + Sync) = &is_seen_to;
    let mut walker = Walker::new(root, is_seen_to, &visit);
    let mut pending = begin;
    while pending.len() < WORTH_SHARING {
        let Some(next) = pending.pop() else { return Ok(walker.home) };
        walker.look_into(next, &mut pending)?;
    }
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS));
    let queue = Queue { state: Mutex::new(State { pending, looking: 0 }), changed: Condvar::new() };
    std::thread::scope(|scope| {
        let queue = &queue;
        let visit = &visit;
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(move || Walker::new(root, is_seen_to, visit).work(queue))).collect();
        let mut home = walker.work(queue);
        for other in others {
            let other = other.join().map_err(|_| io::Error::other("a thread broke down"))?;
            home = home.and_then(|mut home| {
                let other = other?;
                home.found.extend(other.found);
                home.unnamed.extend(other.unnamed);
                Ok(home)
            });
        }
        home
    })
}

/// A directory that is still to be looked into. One without a stat is not visited itself.
pub struct Unlisted {
    pub path: String,
    pub stat: Option<Stat>,
}

impl Unlisted {
    pub fn root() -> Unlisted {
        Unlisted { path: String::new(), stat: None }
    }
}

struct Walker<'a, T, V> {
    root: &'a Dir,
    is_seen_to: &'a (dyn Fn(&str) -> bool + Sync),
    visit: &'a V,
    home: Walked<T>,
    listing: Box<[MaybeUninit<u8>]>,
}

impl<'a, T, V: Fn(Seen<'_>) -> Option<T>> Walker<'a, T, V> {
    fn new(root: &'a Dir, is_seen_to: &'a (dyn Fn(&str) -> bool + Sync), visit: &'a V) -> Walker<'a, T, V> {
        let home = Walked { found: Vec::new(), unnamed: Vec::new() };
        Walker { root, is_seen_to, visit, home, listing: Box::new_uninit_slice(LISTING) }
    }

    fn work(mut self, queue: &Queue) -> io::Result<Walked<T>> {
        while let Some(mut turn) = queue.next() {
            let directory = std::mem::replace(&mut turn.directory, Unlisted::root());
            if let Err(error) = self.look_into(directory, &mut turn.below) {
                turn.is_last = true;
                return Err(error);
            }
        }
        Ok(self.home)
    }

    /// Visits what is in a directory, and then the directory. Those in it are left for later.
    fn look_into(&mut self, Unlisted { path, stat }: Unlisted, below: &mut Vec<Unlisted>) -> io::Result<()> {
        let dir = if path.is_empty() { self.root.try_clone() } else { self.root.open_dir_nofollow(&path) };
        let dir = match dir {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        // The handle only names the directory; one to read it through is opened beside it.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let readable = retry_on_intr(|| openat(&dir, ".", flags, Mode::empty()))?;
        let mut entries = RawDir::new(&readable, &mut self.listing);
        let mut is_empty = true;
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            is_empty = false;
            let joined = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            let Ok(text) = name.to_str() else {
                self.home.unnamed.push(joined(&name.to_string_lossy()));
                continue;
            };
            let stat = match statat(&readable, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error.into()),
            };
            let inner = joined(text);
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if (self.is_seen_to)(&inner) => {}
                FileType::Directory => below.push(Unlisted { path: inner, stat: Some(stat) }),
                _ => self.home.found.extend((self.visit)(Seen { path: &inner, stat: &stat, is_empty: false })),
            }
        }
        if let Some(stat) = stat {
            self.home.found.extend((self.visit)(Seen { path: &path, stat: &stat, is_empty }));
        }
        Ok(())
    }
}

/// The directories that several threads look into.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    pending: Vec<Unlisted>,
    /// Threads that are looking into one, and may find more.
    looking: usize,
}

/// A directory in the hands of a thread. What was found in it joins the queue when the value goes, however it goes: nobody waits for
/// a thread that broke down.
struct Turn<'a> {
    queue: &'a Queue,
    directory: Unlisted,
    below: Vec<Unlisted>,
    /// The walk ends here.
    is_last: bool,
}

impl Queue {
    /// Waits until there is a directory to look into, or until there will be none any more.
    fn next(&self) -> Option<Turn<'_>> {
        let mut state = self.lock();
        loop {
            if let Some(directory) = state.pending.pop() {
                state.looking += 1;
                return Some(Turn { queue: self, directory, below: Vec::new(), is_last: false });
            }
            if state.looking == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.looking -= 1;
        match self.is_last {
            true => state.pending.clear(),
            false => state.pending.append(&mut self.below),
        }
        drop(state);
        self.queue.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> (tempfile::TempDir, Dir) {
        let temporary = tempfile::tempdir().unwrap();
        let root = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
        (temporary, root)
    }

    #[test]
    fn thousands_of_directories_need_few_descriptors() {
        let (temporary, root) = root();
        for number in 0..3000 {
            root.create_dir(format!("d{number}")).unwrap();
        }
        std::os::unix::fs::symlink("/", temporary.path().join("d7/out")).unwrap();
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        let most = walk(&root, |_| Some(open())).unwrap().found;
        assert_eq!(most.len(), 3001);
        // Other tests of this process open files too.
        let most = most.into_iter().max().unwrap();
        assert!(most < before + 200, "{most} descriptors, {before} before");
    }

    #[test]
    fn everything_is_seen_once_by_however_many_threads() {
        let (_temporary, root) = root();
        let mut expected = Vec::new();
        for number in 0..40 {
            root.create_dir_all(format!("a/{number}/deep/er")).unwrap();
            root.write(format!("a/{number}/deep/file"), "x").unwrap();
            expected.extend(["", "/deep", "/deep/er", "/deep/file"].map(|below| format!("a/{number}{below}")));
        }
        expected.push("a".into());
        expected.sort();
        let mut seen = walk(&root, |seen| Some(seen.path.to_owned())).unwrap().found;
        seen.sort();
        assert_eq!(seen, expected);
        let empty = walk(&root, |seen| seen.is_empty.then(|| seen.path.to_owned())).unwrap().found;
        assert!(empty.len() == 40 && empty.iter().all(|path| path.ends_with("/er")));
    }

    #[test]
    fn an_error_of_one_thread_ends_the_walk() {
        let (_temporary, root) = root();
        for number in 0..100 {
            root.create_dir(format!("d{number}")).unwrap();
            root.write(format!("d{number}/f"), "").unwrap();
        }
        // A directory that turned into a file under the walker's feet.
        let swapped = std::sync::Once::new();
        let walked = walk(&root, |seen| {
            if seen.path.ends_with('f') {
                swapped.call_once(|| {
                    for number in 0..100 {
                        let name = format!("d{number}");
                        root.remove_dir_all(&name).unwrap();
                        root.write(&name, "").unwrap();
                    }
                });
            }
            Some(())
        });
        assert!(walked.is_err());
    }
}
