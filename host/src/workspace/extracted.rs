//! Directories before extraction, modes, times and stats after it: what a guest cannot do through WASI.

use std::collections::BTreeSet;
use std::io;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Permissions, PermissionsExt};
use rustix::fs::{AtFlags, Timespec, Timestamps};

use super::baseline::{Recorded, Stat};
use super::listing::{Entry, Kind};

/// Nothing from an archive is writable by others, or runs as somebody else.
const MOST: u32 = 0o755;
/// What the owner always keeps: some tools store no mode at all, and a directory that cannot be entered cannot be removed.
const LEAST_FILE: u32 = 0o600;
const LEAST_DIRECTORY: u32 = 0o700;
/// What files and directories get if the archive does not say.
const USUAL_FILE: u32 = 0o644;
const USUAL_DIRECTORY: u32 = 0o755;

/// The mode an extracted file or directory gets.
pub fn masked_mode(mode: Option<u32>, is_directory: bool) -> u32 {
    match (mode, is_directory) {
        (Some(mode), false) => mode & MOST | LEAST_FILE,
        (Some(mode), true) => mode & MOST | LEAST_DIRECTORY,
        (None, false) => USUAL_FILE,
        (None, true) => USUAL_DIRECTORY,
    }
}

/// Every directory that the entries need, parents before what is in them. `None` if there are more than `most`.
pub fn needed_directories(entries: &[Entry], with_links: bool, most: u64) -> Option<BTreeSet<&str>> {
    let mut needed = BTreeSet::new();
    for entry in entries {
        let mut path = match entry.kind {
            Kind::Directory => entry.path.as_str(),
            Kind::File => parent(&entry.path),
            Kind::Symlink if with_links => parent(&entry.path),
            Kind::Symlink => continue,
        };
        while !path.is_empty() && needed.insert(path) {
            path = parent(path);
        }
        if needed.len() as u64 > most {
            return None;
        }
    }
    Some(needed)
}

pub fn make_directories(contents: &Dir, needed: BTreeSet<&str>) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(USUAL_DIRECTORY);
    for path in needed {
        contents.create_dir_with(path, &builder)?;
    }
    Ok(())
}

/// Sets modes and the times of directories, and records the stat of every file.
pub fn finish(contents: &Dir, entries: Vec<Entry>) -> io::Result<Vec<Recorded>> {
    let stats = finish_files(contents, &entries)?;
    let mut directories: Vec<&Entry> = entries.iter().filter(|entry| entry.kind == Kind::Directory).collect();
    // Last and deepest first, since whatever happens inside a directory changes its time.
    directories.sort_by_key(|entry| std::cmp::Reverse(entry.path.len()));
    let mut walk = Parents::new(contents)?;
    for entry in directories {
        let (dir, name) = walk.of(&entry.path)?;
        dir.set_permissions(name, Permissions::from_mode(masked_mode(entry.mode, true)))?;
        if let Some(seconds) = entry.modified {
            let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
            let times = Timestamps { last_access: time, last_modification: time };
            rustix::fs::utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        }
    }
    Ok(entries.into_iter().zip(stats).map(|(entry, stat)| Recorded { entry, stat }).collect())
}

/// A warning if files have fewer bytes than the archive declares. Their contents are right, or the driver had refused them.
pub fn smaller_than_declared(recorded: &[Recorded]) -> Option<String> {
    let mut smaller = recorded.iter().filter(|recorded| recorded.stat.is_some_and(|stat| stat.size < recorded.entry.size));
    let first = &smaller.next()?.entry.path;
    Some(match smaller.count() {
        0 => format!("The file {first:?} is smaller than the archive declares."),
        more => format!("The file {first:?} and {more} more are smaller than the archive declares."),
    })
}

/// One thread for each core; a hundred thousand files take their time.
fn finish_files(contents: &Dir, entries: &[Entry]) -> io::Result<Vec<Option<Stat>>> {
    let threads = if entries.len() < 1000 { 1 } else { std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8)) };
    let share = entries.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let started: Vec<_> = entries.chunks(share).map(|share| scope.spawn(move || finish_share(contents, share))).collect();
        let mut stats = Vec::with_capacity(entries.len());
        for thread in started {
            stats.extend(thread.join().map_err(|_| io::Error::other("a thread broke down"))??);
        }
        Ok(stats)
    })
}

fn finish_share(contents: &Dir, entries: &[Entry]) -> io::Result<Vec<Option<Stat>>> {
    let mut walk = Parents::new(contents)?;
    let mut finish = |entry: &Entry| {
        if entry.kind == Kind::Directory {
            return Ok(None);
        }
        if entry.kind == Kind::Symlink {
            // There is none unless links are allowed.
            let stat = walk.of(&entry.path).and_then(|(dir, name)| Ok(rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?));
            return Ok(stat.ok().map(|stat| Stat::of_raw(&stat)));
        }
        let (dir, name) = walk.of(&entry.path)?;
        // One component relative to its directory, without following: as bare a system call as there is.
        let look = || rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
        let mut stat = look()?;
        let mode = masked_mode(entry.mode, false);
        if stat.st_mode & 0o7777 != mode {
            dir.set_permissions(name, Permissions::from_mode(mode))?;
            stat = look()?;
        }
        Ok(Some(Stat::of_raw(&stat)))
    };
    entries.iter().map(&mut finish).collect()
}

/// The directory of the last path asked for, kept open: entries come grouped by directory.
struct Parents<'a> {
    root: &'a Dir,
    path: String,
    dir: Dir,
}

impl<'a> Parents<'a> {
    fn new(root: &'a Dir) -> io::Result<Parents<'a>> {
        Ok(Parents { root, path: String::new(), dir: root.try_clone()? })
    }

    fn of<'b>(&mut self, path: &'b str) -> io::Result<(&Dir, &'b str)> {
        let parent = parent(path);
        if parent != self.path {
            // Nobody but us can make anything in here before the session is published, and guests make no links.
            self.dir = if parent.is_empty() { self.root.try_clone()? } else { self.root.open_dir_nofollow(parent)? };
            self.path = parent.to_owned();
        }
        Ok((&self.dir, path.rsplit('/').next().unwrap_or(path)))
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mode_lets_others_write_or_changes_who_runs() {
        assert_eq!(masked_mode(Some(0o4777), false), 0o755);
        assert_eq!(masked_mode(Some(0o2777), true), 0o755);
        assert_eq!(masked_mode(Some(0), false), 0o600);
        assert_eq!(masked_mode(Some(0o500), true), 0o700);
        assert_eq!(masked_mode(None, false), 0o644);
    }
}
