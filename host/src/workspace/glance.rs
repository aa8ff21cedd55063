//! A glance at a workspace: what can be told without listing its directories.
//!
//! A directory that looks as it did has the same names in it. So only its files are left to be looked at, which is half of what a
//! walk through a large workspace costs. Each directory must be known, else something could come to be in one that nobody looks at.

use std::collections::HashMap;
use std::io;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, fstat, fstatfs, statat};
use rustix::io::Errno;

use super::baseline::{Baseline, Recorded, Stat};
use super::listing::Kind;

/// What was seen.
pub struct Glance<'a> {
    /// What the workspace's own directory looked like before anything else was looked at.
    pub root: Stat,
    /// The known directories that are there.
    pub directories: HashMap<&'a str, Directory>,
    /// One for each entry of the baseline.
    pub looks: Vec<Look>,
}

/// A known directory as it is now.
#[derive(Clone, Copy)]
pub struct Directory {
    pub stat: rustix::fs::Stat,
    /// Whether the same names are in it as were.
    pub is_quiet: bool,
}

/// What became of an entry.
pub enum Look {
    /// It is in a directory that has to be listed, or is one.
    Unseen,
    /// It was not touched. Its size.
    Same(u64),
    /// It was touched, or might have been.
    Differs(Box<rustix::fs::Stat>),
    Gone,
}

impl<'a> Glance<'a> {
    /// Looks at every known directory and at what is in those that are quiet.
    pub fn take(contents: &Dir, baseline: &'a Baseline) -> io::Result<Glance<'a>> {
        let root = Stat::of_raw(&fstat(contents)?);
        let found = on_all_cores(&baseline.directories, |(path, before)| {
            let stat = look(contents, path)?.filter(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
            let is_same = |stat: &rustix::fs::Stat| {
                before.is_some_and(|before| before == Stat::of_raw(stat) && before.is_settled_at(baseline.taken))
            };
            Ok(stat.map(|stat| (path.as_str(), Directory { stat, is_quiet: is_same(&stat) })))
        })?;
        let directories: HashMap<&str, Directory> = found.into_iter().flatten().collect();
        let looks = match directories.is_empty() {
            true => baseline.entries.iter().map(|_| Look::Unseen).collect(),
            false => {
                // Entries come grouped by directory: most have the one before's.
                let mut last = ("", directories.get("").is_some_and(|root| root.is_quiet));
                let orders: Vec<(&Recorded, bool)> = baseline
                    .entries
                    .iter()
                    .map(|known| {
                        let parent = known.entry.path.rsplit_once('/').map_or("", |(parent, _)| parent);
                        if parent != last.0 {
                            last = (parent, directories.get(parent).is_some_and(|parent| parent.is_quiet));
                        }
                        (known, last.1)
                    })
                    .collect();
                on_all_cores(&orders, |(known, is_quiet)| look_at_entry(contents, known, *is_quiet, &directories, baseline.taken))?
            }
        };
        Ok(Glance { root, directories, looks })
    }
}

fn look_at_entry(
    contents: &Dir,
    known: &Recorded,
    is_quiet: bool,
    directories: &HashMap<&str, Directory>,
    taken: i64,
) -> io::Result<Look> {
    let path = known.entry.path.as_str();
    if known.entry.kind == Kind::Directory {
        let is_quiet = directories.get(path).is_some_and(|directory| directory.is_quiet);
        return Ok(if is_quiet { Look::Same(0) } else { Look::Unseen });
    }
    if !is_quiet {
        return Ok(Look::Unseen);
    }
    let Some(stat) = look(contents, path)? else { return Ok(Look::Gone) };
    let now = Stat::of_raw(&stat);
    let is_same = known.stat == Some(now) && now.is_settled_at(taken);
    Ok(if is_same { Look::Same(now.size) } else { Look::Differs(Box::new(stat)) })
}

/// What is under a path, if there is something. A link in the middle of the path is followed; but what is behind it has another
/// inode than what was recorded, and whoever opens it finds that it leads outside.
fn look(contents: &Dir, path: &str) -> io::Result<Option<rustix::fs::Stat>> {
    let looked = if path.is_empty() { fstat(contents) } else { statat(contents, path, AtFlags::SYMLINK_NOFOLLOW) };
    match looked {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Below that a thread is not worth starting.
const WORTH_SHARING: usize = 1000;
/// More cores than that are left to others.
const MOST_THREADS: usize = 8;

fn on_all_cores<'t, T: Sync, R: Send>(items: &'t [T], work: impl Fn(&'t T) -> io::Result<R> + Sync) -> io::Result<Vec<R>> {
    let threads = match items.len() {
        0..WORTH_SHARING => return items.iter().map(work).collect(),
        _ => std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS)),
    };
    std::thread::scope(|scope| {
        let work = &work;
        let shares = items.chunks(items.len().div_ceil(threads));
        let started: Vec<_> =
            shares.map(|share| scope.spawn(move || share.iter().map(work).collect::<io::Result<Vec<R>>>())).collect();
        let mut all = Vec::with_capacity(items.len());
        for share in started {
            all.extend(share.join().map_err(|_| io::Error::other("a thread broke down"))??);
        }
        Ok(all)
    })
}

/// Whether a change in a directory is sure to show in what `stat` says of it. Of the filesystems of others that is not known; there
/// every directory is listed each time.
pub fn shows_changes(contents: &Dir) -> bool {
    const EXT4: u64 = 0xef53;
    const XFS: u64 = 0x5846_5342;
    const BTRFS: u64 = 0x9123_683e;
    const TMPFS: u64 = 0x0102_1994;
    const F2FS: u64 = 0xf2f5_2010;
    let kind = fstatfs(contents).ok().and_then(|told| u64::try_from(told.f_type).ok());
    kind.is_some_and(|kind| [EXT4, XFS, BTRFS, TMPFS, F2FS].contains(&kind))
}

/// The directories of a workspace that was just made, with their stats.
pub fn first_look(contents: &Dir, paths: impl Iterator<Item = String>) -> io::Result<Vec<(String, Option<Stat>)>> {
    if !shows_changes(contents) {
        return Ok(Vec::new());
    }
    let paths: Vec<String> = std::iter::once(String::new()).chain(paths).collect();
    let stats = on_all_cores(&paths, |path| Ok(look(contents, path)?.map(|stat| Stat::of_raw(&stat))))?;
    Ok(paths.into_iter().zip(stats).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workspace::baseline::clock;
    use crate::workspace::copy::checksum;
    use crate::workspace::listing::Entry;
    use crate::workspace::status::{Changes, compare};

    /// Repeatable chance.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % sides
        }

        fn path(&mut self) -> String {
            let depth = 1 + self.roll(4);
            (0..depth).map(|_| ["a", "b", "c", "d"][self.roll(4)]).collect::<Vec<_>>().join("/")
        }
    }

    /// One thing that a program outside might do; most are refused, which is fine too.
    fn meddle(contents: &Dir, dice: &mut Dice) {
        let (one, other) = (dice.path(), dice.path());
        let _ = match dice.roll(9) {
            0 => contents.create_dir_all(&one),
            1..=3 => contents.write(&one, vec![b'x'; dice.roll(9)]),
            4 => contents.remove_file(&one),
            5 => contents.remove_dir_all(&one),
            6 => contents.rename(&one, contents, &other),
            7 => contents.hard_link(&one, contents, &other),
            _ => contents.symlink("a", &one),
        };
    }

    /// All that can be told of a comparison but which files had to be read for it.
    fn told(changes: &Changes) -> impl PartialEq + std::fmt::Debug + use<> {
        let modified: Vec<_> = changes.modified.iter().map(|(index, found)| (*index, found.path.clone(), found.stat)).collect();
        let added: Vec<_> = changes.added.iter().map(|found| (found.label(), found.stat)).collect();
        let usage = (changes.usage.bytes, changes.usage.files);
        (modified, added, changes.deleted.clone(), changes.unchanged, changes.unpackable.clone(), usage)
    }

    /// What is there, as a sync would record it.
    fn record(contents: &Dir, directories: Vec<(String, Option<Stat>)>, taken: i64) -> Baseline {
        let nothing = Baseline::new(Vec::new(), Vec::new(), 0);
        let all = compare(contents, &nothing, false).unwrap().added;
        let recorded = all.into_iter().map(|found| {
            let crc32 = if found.kind == Kind::File { checksum(contents.open(&found.path).unwrap()).unwrap().0 } else { 0 };
            let entry = Entry {
                raw_name: Vec::new(),
                kind: found.kind,
                size: found.stat.size,
                compressed_size: 0,
                crc32,
                method: 0,
                mode: None,
                modified: None,
                offset: 0,
                span: 0,
                path: found.path,
            };
            Recorded { stat: (found.kind == Kind::File).then_some(found.stat), entry }
        });
        Baseline::new(recorded.collect(), directories, taken)
    }

    /// Long enough for the clock of the filesystem to tell what came before from what comes after.
    fn let_settle() {
        std::thread::sleep(Duration::from_millis(12));
    }

    #[test]
    fn a_glance_finds_what_a_walk_finds() {
        let temporary = tempfile::tempdir().unwrap();
        let contents = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
        let mut dice = Dice(7);
        let mut baseline = Baseline::new(Vec::new(), Vec::new(), 0);
        let (mut quiet, mut rounds) = (0, 0);
        for round in 0..150 {
            for _ in 0..dice.roll(6) {
                meddle(&contents, &mut dice);
            }
            if dice.roll(3) > 0 {
                let_settle();
            }
            let compared = clock();
            let mut by_walk = Baseline::new(baseline.entries.clone(), Vec::new(), baseline.taken);
            let glanced = compare(&contents, &baseline, false).unwrap();
            let walked = compare(&contents, &by_walk, false).unwrap();
            assert_eq!(told(&glanced), told(&walked), "round {round}");
            let glance = Glance::take(&contents, &baseline).unwrap();
            quiet += glance.directories.values().filter(|directory| directory.is_quiet).count();
            rounds += usize::from(glance.looks.iter().any(|look| matches!(look, Look::Same(_) | Look::Differs(_))));
            match dice.roll(3) {
                0 => {
                    baseline.settle(&glanced, compared);
                    by_walk.settle(&walked, compared);
                }
                _ => baseline = record(&contents, glanced.directories, compared),
            }
        }
        assert!(quiet > 300 && rounds > 40, "{quiet} quiet directories, files in {rounds} rounds: this shows nothing");
    }

    #[test]
    fn what_was_just_made_is_known() {
        let temporary = tempfile::tempdir().unwrap();
        let contents = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
        contents.create_dir_all("a/b").unwrap();
        contents.write("a/b/c", "c").unwrap();
        let_settle();
        let directories = first_look(&contents, ["a".to_owned(), "a/b".to_owned()].into_iter()).unwrap();
        let baseline = record(&contents, directories, clock());
        let glance = Glance::take(&contents, &baseline).unwrap();
        assert_eq!(glance.directories.values().filter(|directory| directory.is_quiet).count(), 3);
        assert!(matches!(glance.looks[..], [Look::Same(1)]));
        contents.write("a/b/d", "d").unwrap();
        let changes = compare(&contents, &baseline, false).unwrap();
        assert_eq!(changes.added.iter().map(|found| found.path.as_str()).collect::<Vec<_>>(), ["a/b/d"]);
    }
}
