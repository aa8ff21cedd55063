//! Old versions of an archive, kept beside it: `report.bak.zip`, `report.bak.2.zip`, the newest first.
//!
//! Which of these files are ours is written down for each archive, beyond the life of a session. Only those are ever renamed or
//! removed; where somebody else has such a name, the next free number is used.

use std::io;
use std::path::Path;

use cap_std::fs::Dir;
use sha2::{Digest, Sha256};

use super::copy::hex;
use super::metadata::write_whole;
use super::store::create_private_dir;

/// Where the lists are, in the directory of sessions.
const LISTS: &str = ".backups";

/// Keeps `name`, the archive as it is now, as the newest backup, and lets the oldest go.
///
/// The new one is complete under a name of its own before any old one is touched. Returns its name, or `None` if none is kept.
pub fn keep(workspaces: &Dir, source: &Path, dir: &Dir, name: &str, depth: usize) -> io::Result<Option<String>> {
    if depth == 0 {
        return Ok(None);
    }
    let lists = match workspaces.open_dir(LISTS) {
        Ok(lists) => lists,
        Err(_) => create_private_dir(workspaces, LISTS)?,
    };
    let list = hex(&Sha256::digest(source.as_os_str().as_encoded_bytes()));
    let exists = |name: &str| dir.symlink_metadata(name).is_ok();
    let mut ours: Vec<String> = lists.read(&list).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    ours.retain(|name| exists(name));

    let fresh = format!(".{name}.zipfs-bak-{}", uuid::Uuid::new_v4().simple());
    if let Err(error) = dir.hard_link(name, dir, &fresh) {
        // Some filesystems have no hard links. A copy costs time, not safety.
        tracing::debug!(%error, "copying the backup instead of linking it");
        let copied = dir.copy(name, dir, &fresh).and_then(|_| dir.open(&fresh)?.sync_all());
        if let Err(error) = copied {
            let _ = dir.remove_file(&fresh);
            return Err(error);
        }
    }
    let slots: Vec<String> = (1..)
        .map(|number| backup_name(name, number))
        .filter(|slot| ours.contains(slot) || !exists(slot))
        .take(ours.len() + 1)
        .collect();
    // The list is written first: after a crash in the middle it names every file that is ours, wherever it got to. Then from the
    // oldest on, so that no step overwrites what the next one moves.
    write_whole(&lists, &list, &serde_json::to_vec(&slots)?)?;
    for (age, old) in ours.iter().enumerate().rev() {
        if age + 1 >= depth {
            dir.remove_file(old)?;
        } else if *old != slots[age + 1] {
            dir.rename(old, dir, &slots[age + 1])?;
        }
    }
    dir.rename(&fresh, dir, &slots[0])?;
    let kept: Vec<&String> = slots.iter().take(depth).collect();
    write_whole(&lists, &list, &serde_json::to_vec(&kept)?)?;
    Ok(slots.into_iter().next())
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
}
