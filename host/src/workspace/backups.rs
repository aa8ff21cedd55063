//! Old versions of an archive, kept beside it: `report.bak.zip`, `report.bak.2.zip`, the newest first.
//!
//! Which of these files are ours is written down for each archive, beyond the life of a session: not their names, which
//! somebody else could use, but what they look like to `stat`. Only those are ever renamed or removed; where somebody else has
//! such a name, the next free number is used.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::copy::hex;
use super::durable::{expect_at, flush_file, write_whole};
use super::identity::Identity;
use super::store::create_private_dir;
use crate::config::Durability;

/// Where the lists are, in the directory of sessions.
const LISTS: &str = ".backups";

/// What is known of an archive's backups.
#[derive(Debug, Default, Serialize, Deserialize)]
struct List {
    /// No backup of ours has a higher number.
    highest: usize,
    files: Vec<Identity>,
}

impl List {
    fn has(&self, file: &Identity) -> bool {
        self.files.iter().any(|known| known.is_same_file(file))
    }
}

/// Gives the archive a second name, under which it waits to become a backup. `source` is the archive, open.
pub fn set_aside(dir: &Dir, name: &str, source: &File, waiting: &str, durability: Durability) -> io::Result<()> {
    let metadata = source.metadata()?;
    if let Err(error) = dir.hard_link(name, dir, waiting) {
        // Some filesystems have no hard links. A copy costs time, not safety.
        tracing::debug!(%error, "copying the backup instead of linking it");
        let copied = copy_aside(dir, source, waiting, durability);
        if copied.is_err() {
            let _ = dir.remove_file(waiting);
        }
        return copied;
    }
    // A link that only claims to be there would leave the old archive without a name a moment later.
    match Identity::at(dir, waiting) {
        Ok(linked) if linked.is_same_file(&Identity::of(&metadata)) => Ok(()),
        Ok(_) => {
            let _ = dir.remove_file(waiting);
            Err(io::Error::other("somebody replaced the archive"))
        }
        Err(error) => Err(error),
    }
}

fn copy_aside(dir: &Dir, source: &File, waiting: &str, durability: Durability) -> io::Result<()> {
    let copy = dir.open_with(waiting, OpenOptions::new().write(true).create_new(true).mode(0o600))?.into_std();
    let metadata = source.metadata()?;
    super::copy::copy(source, &copy, metadata.len())?;
    copy.set_permissions(metadata.permissions())?;
    copy.set_modified(metadata.modified()?)?;
    flush_file(&copy, durability)
}

/// What a rotation does, found out without doing anything.
pub struct Plan {
    lists: Dir,
    /// Under which the archive's list is kept.
    key: String,
    /// The list as it has to be before anything moves: after a crash in the middle it knows every file that is ours, wherever it
    /// got to. Nothing if it is so already.
    list: Option<Vec<u8>>,
    /// The numbers along which the backups move, the first for the newest.
    run: Vec<usize>,
    expired: Vec<usize>,
}

impl Plan {
    /// The list's place and contents, if it has to be written. Whoever has other files to put on disk does it in one go.
    pub fn list(&self) -> Option<(&Dir, &str, &[u8])> {
        Some((&self.lists, &self.key, self.list.as_deref()?))
    }
}

/// How the backups of `source` move when `fresh` becomes the newest.
pub fn plan(workspaces: &Dir, source: &Path, dir: &Dir, fresh: &Identity, depth: usize) -> io::Result<Plan> {
    let name = file_name(source)?;
    let lists = match workspaces.open_dir(LISTS) {
        Ok(lists) => lists,
        Err(_) => create_private_dir(workspaces, LISTS)?,
    };
    let key = hex(&Sha256::digest(source.as_os_str().as_encoded_bytes()));
    let list: List = lists.read(&key).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let at = |number: usize| Identity::at(dir, &backup_name(name, number));
    let ours: Vec<(usize, Identity)> = (1..=list.highest)
        .filter_map(|number| Some((number, at(number).ok()?)))
        .filter(|(_, file)| list.has(file) && !file.is_same_file(fresh))
        .collect();
    let (kept, expired) = ours.split_at(ours.len().min(depth.saturating_sub(1)));

    // Each of ours moves to the next number that is ours or free, up to the first free one; what is behind that stays.
    let mut run = Vec::new();
    for number in 1.. {
        let is_kept = kept.iter().any(|(ours, _)| *ours == number);
        let is_free = !is_kept && (expired.iter().any(|(ours, _)| *ours == number) || at(number).is_err());
        if is_kept || is_free {
            run.push(number);
        }
        if is_free {
            break;
        }
    }
    let highest = run.iter().chain(ours.iter().map(|(number, _)| number)).copied().max().unwrap_or(1);
    let is_known = list.highest >= highest && list.has(fresh);
    let files = std::iter::once(*fresh).chain(ours.iter().map(|(_, file)| *file)).collect();
    let list = if is_known { None } else { Some(serde_json::to_vec(&List { highest, files })?) };
    let expired = expired.iter().map(|(number, _)| *number).collect();
    Ok(Plan { lists, key, list, run, expired })
}

/// Makes what waits the newest backup and lets the oldest go. After a crash it is called again, and goes on where it was. The names
/// are left to the caller to put on disk.
///
/// Returns the backup's name, or `None` if nothing waits.
pub fn rotate(
    workspaces: &Dir,
    source: &Path,
    dir: &Dir,
    waiting: &str,
    depth: usize,
    durability: Durability,
) -> io::Result<Option<String>> {
    let fresh = match Identity::at(dir, waiting) {
        Ok(fresh) => fresh,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let plan = plan(workspaces, source, dir, &fresh, depth)?;
    if let Some((lists, key, list)) = plan.list() {
        write_whole(lists, key, list, durability)?;
    }
    let name = file_name(source)?;
    for number in plan.expired {
        remove_at_leisure(dir, &backup_name(name, number))?;
    }
    for step in plan.run.windows(2).rev() {
        dir.rename(backup_name(name, step[0]), dir, backup_name(name, step[1]))?;
    }
    let newest = backup_name(name, plan.run[0]);
    dir.rename(waiting, dir, &newest)?;
    expect_at(dir, &newest, fresh.inode)?;
    Ok(Some(newest))
}

/// Forgets which backups of an archive are ours, once there is no such archive.
pub fn forget(workspaces: &Dir, source: &Path) {
    let key = hex(&Sha256::digest(source.as_os_str().as_encoded_bytes()));
    let _ = workspaces.open_dir(LISTS).and_then(|lists| lists.remove_file(key));
}

fn file_name(source: &Path) -> io::Result<&str> {
    source.file_name().and_then(|name| name.to_str()).ok_or_else(|| io::ErrorKind::InvalidFilename.into())
}

/// Removes a name at once and what is behind it in the background: giving back the blocks of a large file takes a while.
fn remove_at_leisure(dir: &Dir, name: &str) -> io::Result<()> {
    let held = dir.open(name).ok();
    dir.remove_file(name)?;
    std::thread::spawn(move || drop(held));
    Ok(())
}

/// `report.xlsx` → `report.bak.xlsx`, `report.bak.2.xlsx`; `report` → `report.bak`.
fn backup_name(name: &str, number: usize) -> String {
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    match number {
        1 => format!("{stem}.bak{extension}"),
        _ => format!("{stem}.bak.{number}{extension}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backups_keep_the_extension() {
        assert_eq!(backup_name("report.xlsx", 1), "report.bak.xlsx");
        assert_eq!(backup_name("report.xlsx", 2), "report.bak.2.xlsx");
        assert_eq!(backup_name("report", 1), "report.bak");
        assert_eq!(backup_name(".zip", 3), ".zip.bak.3");
        assert_eq!(backup_name("a.tar.zip", 1), "a.tar.bak.zip");
    }

    struct Shelf {
        temporary: tempfile::TempDir,
        dir: Dir,
    }

    impl Shelf {
        fn new() -> Shelf {
            let temporary = tempfile::tempdir().unwrap();
            let dir = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
            dir.create_dir("sessions").unwrap();
            Shelf { temporary, dir }
        }

        fn keep(&self, contents: &str, depth: usize) {
            self.dir.write("wait", contents).unwrap();
            let sessions = self.dir.open_dir("sessions").unwrap();
            let source = self.temporary.path().join("a.zip");
            rotate(&sessions, &source, &self.dir, "wait", depth, Durability::Fast).unwrap().unwrap();
        }

        fn all(&self) -> Vec<(String, String)> {
            let names = self.dir.entries().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut all: Vec<_> = names.filter(|name| name.ends_with(".zip")).collect();
            all.sort_by_key(|name| (name.len(), name.clone()));
            all.into_iter().map(|name| (name.clone(), self.dir.read_to_string(name).unwrap())).collect()
        }
    }

    fn named(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(name, contents)| (name.to_string(), contents.to_string())).collect()
    }

    #[test]
    fn what_is_not_ours_is_neither_moved_nor_removed() {
        let shelf = Shelf::new();
        shelf.dir.write("a.bak.2.zip", "theirs").unwrap();
        for version in ["1", "2", "3"] {
            shelf.keep(version, 2);
        }
        assert_eq!(shelf.all(), named(&[("a.bak.zip", "3"), ("a.bak.2.zip", "theirs"), ("a.bak.3.zip", "2")]));
        // A backup that somebody put another file in the place of is not ours any more.
        shelf.dir.remove_file("a.bak.zip").unwrap();
        shelf.dir.write("a.bak.zip", "also theirs").unwrap();
        shelf.keep("4", 2);
        shelf.keep("5", 2);
        let expected = [("a.bak.zip", "also theirs"), ("a.bak.2.zip", "theirs"), ("a.bak.3.zip", "5"), ("a.bak.4.zip", "4")];
        assert_eq!(shelf.all(), named(&expected));
    }

    #[test]
    fn a_gap_is_filled_and_nothing_beyond_it_moves() {
        let shelf = Shelf::new();
        for version in ["1", "2", "3"] {
            shelf.keep(version, 5);
        }
        shelf.dir.remove_file("a.bak.zip").unwrap();
        shelf.dir.remove_file("a.bak.2.zip").unwrap();
        shelf.keep("4", 5);
        assert_eq!(shelf.all(), named(&[("a.bak.zip", "4"), ("a.bak.3.zip", "1")]));
        shelf.keep("5", 1);
        assert_eq!(shelf.all(), named(&[("a.bak.zip", "5")]));
    }

    #[test]
    fn a_rotation_that_was_cut_off_goes_on_where_it_was() {
        let shelf = Shelf::new();
        for version in ["1", "2", "3"] {
            shelf.keep(version, 3);
        }
        // As after a crash: the oldest is gone, the second has moved, the newest has not.
        shelf.dir.rename("a.bak.2.zip", &shelf.dir, "a.bak.3.zip").unwrap();
        shelf.keep("4", 3);
        assert_eq!(shelf.all(), named(&[("a.bak.zip", "4"), ("a.bak.2.zip", "3"), ("a.bak.3.zip", "2")]));
    }
}
