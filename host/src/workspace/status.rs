//! What differs between the workspace and the archive: a walk that stats, and a look into the files whose stat moved.

use std::collections::{HashMap, HashSet};
use std::io;

use cap_std::fs::Dir;
use rustix::fs::FileType;

use super::baseline::{Baseline, Recorded, Stat};
use super::copy::checksum;
use super::extracted::masked_mode;
use super::glance::{self, Glance, Look};
use super::links;
use super::listing::{Change, Kind};
use super::quota::Usage;
use super::walk::{Seen, Unlisted, walk_from};

/// A file or directory of the workspace, or a link of a session that has links. Nothing of the host follows one.
#[derive(Debug, Clone)]
pub struct Found {
    pub path: String,
    pub kind: Kind,
    pub stat: Stat,
    pub mode: u32,
    /// Whether a directory has nothing in it.
    is_empty: bool,
}

/// The differences, sorted by path.
#[derive(Debug, Default)]
pub struct Changes {
    /// Number of the entry, and its file.
    pub modified: Vec<(u32, Found)>,
    pub added: Vec<Found>,
    /// Number and path of the entry; directories end in `/`.
    pub deleted: Vec<(u32, String)>,
    pub unchanged: u64,
    /// Unchanged ones whose contents had to be read to know that.
    pub reread: Vec<(u32, Stat)>,
    /// Every directory, with what it looked like before it was listed; nothing for one that holds what no archive can hold. Empty if
    /// the filesystem does not tell enough.
    pub directories: Vec<(String, Option<Stat>)>,
    /// What programs outside put there and no archive can hold: links, devices, names that are not text.
    pub unpackable: Vec<String>,
    /// All that is there, for the quota.
    pub usage: Usage,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.modified.is_empty() && self.added.is_empty() && self.deleted.is_empty()
    }

    pub fn count(&self) -> u64 {
        (self.modified.len() + self.added.len() + self.deleted.len() + self.unpackable.len()) as u64
    }

    /// The first of them, for a message.
    pub fn summary(&self) -> String {
        const SHOWN: usize = 10;
        let modified = self.modified.iter().map(|(_, found)| format!("{} (modified)", found.path));
        let added = self.added.iter().map(|found| format!("{} (added)", found.label()));
        let deleted = self.deleted.iter().map(|(_, label)| format!("{label} (deleted)"));
        let odd = self.unpackable.iter().map(|path| format!("{path} (no file)"));
        let mut some: Vec<String> = modified.chain(added).chain(deleted).chain(odd).take(SHOWN).collect();
        let more = self.count() as usize - some.len();
        if more > 0 {
            some.push(format!("and {more} more"));
        }
        some.join(", ")
    }

    /// The paths of the files that a sync writes.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let written = self.modified.iter().map(|(_, found)| found).chain(&self.added);
        written.filter(|found| found.kind == Kind::File).map(|found| found.path.as_str())
    }

    /// The same as orders for the driver.
    pub fn orders(&self) -> Vec<Change> {
        let removed = self.deleted.iter().map(|(index, _)| Change::Remove(*index));
        // A link has no contents that could be replaced; it goes and comes again.
        let (links, files): (Vec<_>, Vec<_>) = self.modified.iter().partition(|(_, found)| found.kind == Kind::Symlink);
        let renewed = links.iter().map(|(index, _)| Change::Remove(*index));
        let replaced = files.iter().map(|(index, found)| Change::Replace {
            index: *index,
            size: found.stat.size,
            modified: found.stat.modified.div_euclid(1_000_000_000),
            mode: found.mode,
        });
        let added = links.iter().map(|(_, found)| found).chain(&self.added).map(Found::addition);
        removed.chain(renewed).chain(replaced).chain(added).collect()
    }
}

impl Found {
    fn addition(&self) -> Change {
        let modified = self.stat.modified.div_euclid(1_000_000_000);
        Change::Add { path: self.path.clone(), kind: self.kind, size: self.stat.size, modified, mode: self.mode }
    }

    /// As it is shown: directories end in `/`.
    pub fn label(&self) -> String {
        label(&self.path, self.kind)
    }
}

fn label(path: &str, kind: Kind) -> String {
    if kind == Kind::Directory { format!("{path}/") } else { path.to_owned() }
}

/// Compares the workspace with what is recorded of the archive. Entries without a stat are compared by their contents. `with_links`
/// says whether the session has links; otherwise those of the archive stay in it, and others are none of ours.
pub fn compare(contents: &Dir, baseline: &Baseline, with_links: bool) -> io::Result<Changes> {
    let mut changes = Changes::default();
    let glance = Glance::take(contents, baseline)?;
    let mut here = look_around(contents, with_links, &glance.directories)?;
    let mut by_path: HashMap<&str, (u32, &Recorded)> = HashMap::new();
    for ((known, index), look) in baseline.entries.iter().zip(0..).zip(&glance.looks) {
        if let Look::Same(size) = look {
            let is_file = known.entry.kind == Kind::File;
            changes.unchanged += u64::from(is_file);
            changes.usage.bytes += if is_file { *size } else { 0 };
            changes.usage.files += u64::from(known.entry.kind != Kind::Directory);
            continue;
        }
        by_path.insert(known.entry.path.as_str(), (index, known));
        if let Look::Differs(stat) = look {
            here.add(judge(contents, with_links, &Seen { path: &known.entry.path, stat, is_empty: false }));
        }
    }
    here.odd.sort();
    let bytes: u64 = here.all.iter().filter(|found| found.kind == Kind::File).map(|found| found.stat.size).sum();
    let quiet = glance.directories.iter().filter(|(path, directory)| directory.is_quiet && !path.is_empty()).count();
    changes.usage.bytes += bytes;
    changes.usage.files += (here.all.len() + here.odd.len() + quiet) as u64;
    changes.directories = here.directories(contents, &glance);
    changes.unpackable = here.odd;
    for found in here.all {
        let known = by_path.get(found.path.as_str()).copied().filter(|(_, known)| known.entry.kind == found.kind);
        match known {
            Some((index, known)) => {
                by_path.remove(found.path.as_str());
                if found.kind == Kind::Directory {
                    continue;
                }
                if known.stat == Some(found.stat) && found.stat.is_settled_at(baseline.taken) {
                    changes.unchanged += u64::from(found.kind == Kind::File);
                } else if has_same_contents(contents, &found, known)? {
                    changes.unchanged += u64::from(found.kind == Kind::File);
                    changes.reread.push((index, found.stat));
                } else {
                    changes.modified.push((index, Found { mode: mode_to_pack(&found, known), ..found }));
                }
            }
            // Directories exist by what is in them; an empty one has to be said.
            None if found.kind == Kind::Directory && !found.is_empty => {}
            None => changes.added.push(found),
        }
    }
    let taken_over: HashSet<&str> = changes.added.iter().map(|added| added.path.as_str()).collect();
    for (path, (index, known)) in by_path {
        // A link that was not extracted is not missing, unless something else took its place.
        if known.entry.kind != Kind::Symlink || with_links || taken_over.contains(path) {
            changes.deleted.push((index, label(path, known.entry.kind)));
        }
    }
    changes.modified.sort_by(|a, b| a.1.path.cmp(&b.1.path));
    changes.added.sort_by(|a, b| a.path.cmp(&b.path));
    changes.deleted.sort_by(|a, b| a.1.cmp(&b.1));
    Ok(changes)
}

/// A mode that was cut down at extraction and left alone since goes back as the archive had it. Only what would run new contents as
/// somebody else is dropped, as the kernel does when a file is written.
fn mode_to_pack(found: &Found, known: &Recorded) -> u32 {
    match known.entry.mode {
        Some(mode) if found.mode == masked_mode(Some(mode), false) => mode & !0o6000,
        _ => found.mode,
    }
}

fn has_same_contents(contents: &Dir, found: &Found, known: &Recorded) -> io::Result<bool> {
    // What was extracted may be smaller than declared; then its own size counts.
    let expected = known.stat.map_or(known.entry.size, |stat| stat.size);
    if found.stat.size != expected {
        return Ok(false);
    }
    let (crc, size) = match found.kind {
        Kind::Symlink => checksum(contents.read_link_contents(&found.path)?.as_os_str().as_encoded_bytes())?,
        _ => checksum(contents.open(&found.path)?)?,
    };
    Ok(crc == known.entry.crc32 && size == expected)
}

fn is_safe_link(contents: &Dir, path: &str) -> bool {
    let target = contents.read_link_contents(path);
    target.is_ok_and(|target| target.to_str().is_some_and(|target| links::check(path, target, contents).is_ok()))
}

/// What is in a workspace.
#[derive(Default)]
struct Here {
    /// What an archive can hold.
    all: Vec<Found>,
    /// The names of the rest.
    odd: Vec<String>,
}

impl Here {
    fn add(&mut self, judged: Result<Found, String>) {
        match judged {
            Ok(found) => self.all.push(found),
            Err(path) => self.odd.push(path),
        }
    }

    /// The directories, as the next comparison wants to know them.
    fn directories(&self, contents: &Dir, glance: &Glance) -> Vec<(String, Option<Stat>)> {
        if !glance::shows_changes(contents) {
            return Vec::new();
        }
        let with_odd: HashSet<&str> = self.odd.iter().map(|path| path.rsplit_once('/').map_or("", |(parent, _)| parent)).collect();
        let quiet = glance.directories.iter().filter(|(path, directory)| directory.is_quiet && !path.is_empty());
        let quiet = quiet.map(|(path, directory)| (*path, Stat::of_raw(&directory.stat)));
        let listed = self.all.iter().filter(|found| found.kind == Kind::Directory);
        let listed = listed.map(|found| (found.path.as_str(), found.stat));
        let all = std::iter::once(("", glance.root)).chain(quiet).chain(listed);
        all.map(|(path, stat)| (path.to_owned(), (!with_odd.contains(path)).then_some(stat))).collect()
    }
}

/// Everything in the workspace but what is in quiet directories.
fn look_around(contents: &Dir, with_links: bool, glanced: &HashMap<&str, glance::Directory>) -> io::Result<Here> {
    let is_root_known = glanced.contains_key("");
    let to_list = glanced.iter().filter(|(_, directory)| !directory.is_quiet);
    let to_list = to_list.map(|(path, directory)| Unlisted { path: (*path).to_owned(), stat: Some(directory.stat) });
    let begin = match is_root_known {
        true => to_list.map(|unlisted| if unlisted.path.is_empty() { Unlisted::root() } else { unlisted }).collect(),
        false => vec![Unlisted::root()],
    };
    // A known directory is quiet, or it is among those that the walk begins with. Other ones come by their parents, which are not quiet.
    let is_seen_to = |path: &str| glanced.contains_key(path);
    let walked = walk_from(contents, begin, is_seen_to, |seen| Some(judge(contents, with_links, &seen)))?;
    let mut here = Here { all: Vec::with_capacity(walked.found.len()), odd: walked.unnamed };
    walked.found.into_iter().for_each(|judged| here.add(judged));
    Ok(here)
}

/// What it is, or the name of what no archive can hold.
fn judge(contents: &Dir, with_links: bool, seen: &Seen) -> Result<Found, String> {
    let kind = match seen.file_type() {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink if with_links && is_safe_link(contents, seen.path) => Kind::Symlink,
        _ => return Err(seen.path.to_owned()),
    };
    let (path, mode) = (seen.path.to_owned(), seen.stat.st_mode & 0o7777);
    Ok(Found { path, kind, stat: Stat::of_raw(seen.stat), mode, is_empty: seen.is_empty })
}
