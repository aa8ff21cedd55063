//! Symbolic links of an archive, for those who allow them: which are safe, and how they come into the workspace.
//!
//! No guest can follow a link out of its directory, but programs outside can. So a link is only taken if it leads to a place in
//! the workspace whatever is put there later.

use std::io;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Timespec, Timestamps};

use super::listing::{Entry, Kind};
use crate::failure::{Class, Failure};

/// The longest target that Linux takes.
const LONGEST: u64 = 4095;

/// The links of an archive, each as a file that the driver can extract: under a name of its own, with the target as contents.
pub fn as_files(entries: &[Entry]) -> Result<Vec<Entry>, Failure> {
    let mut files = Vec::new();
    for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.kind == Kind::Symlink) {
        if entry.size > LONGEST {
            return Err(Failure::new(
                Class::Invalid,
                "ZIP_INVALID",
                format!("the link {:?} has a target that is too long", entry.path),
            ));
        }
        files.push(Entry { path: file_name(index), kind: Kind::File, ..entry.clone() });
    }
    Ok(files)
}

/// Makes the links of which `extracted` holds the targets. Blocks.
pub fn make(contents: &Dir, extracted: &Dir, entries: &[Entry]) -> Result<(), Failure> {
    for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.kind == Kind::Symlink) {
        let make = || -> io::Result<Result<(), String>> {
            let name = file_name(index);
            let target = extracted.read(&name)?;
            extracted.remove_file(&name)?;
            let target = match String::from_utf8(target) {
                Ok(target) => target,
                Err(_) => return Ok(Err("its target is not text".to_owned())),
            };
            if let Err(why) = check(&entry.path, &target, contents) {
                return Ok(Err(why));
            }
            contents.symlink(&target, &entry.path)?;
            let Some(seconds) = entry.modified else { return Ok(Ok(())) };
            let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
            let times = Timestamps { last_access: time, last_modification: time };
            rustix::fs::utimensat(contents, entry.path.as_str(), &times, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(Ok(()))
        };
        match make() {
            Ok(Ok(())) => {}
            Ok(Err(why)) => {
                let message = format!("the link {:?} cannot be taken, {why}", entry.path);
                return Err(Failure::new(Class::Forbidden, "PATH_TRAVERSAL", message)
                    .suggest("Without security.allow_symlinks the archive can be opened; its links then stay in it."));
            }
            Err(error) => return Err(Failure::internal(format!("The link {:?} cannot be made: {error}.", entry.path))),
        }
    }
    Ok(())
}

fn file_name(index: usize) -> String {
    format!("link-{index}")
}

/// Whether a link leads to a place inside. `..` is only taken where it is certain what it is about: at the beginning, and after
/// directories that are really there. After anything else it could mean a place outside as soon as somebody puts a link there.
pub fn check(path: &str, target: &str, contents: &Dir) -> Result<(), String> {
    if target.is_empty() || target.starts_with('/') || target.contains(|c: char| c.is_control()) {
        return Err(format!("its target, {target:?}, is not a relative path"));
    }
    let mut place: Vec<&str> = path.split('/').collect();
    place.pop();
    let mut is_certain = true;
    for component in target.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                if !is_certain || place.pop().is_none() {
                    return Err(format!("its target, {target:?}, is outside of the archive or could come to be"));
                }
            }
            name => {
                place.push(name);
                is_certain = is_certain && contents.symlink_metadata(place.join("/")).is_ok_and(|found| found.is_dir());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_that_stay_inside_whatever_comes() {
        let temporary = tempfile::tempdir().unwrap();
        let contents = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
        contents.create_dir_all("a/b/c").unwrap();
        contents.write("a/file", "").unwrap();
        contents.symlink("a/b", "to-b").unwrap();
        let table = [
            ("l", "a/file", true),
            ("l", "missing", true),
            ("l", "./a/./b", true),
            ("a/b/l", "../../l", true),
            ("a/b/l", "../file", true),
            ("l", "a/b/../file", true),
            ("l", "a/b/c/../../..", true),
            ("l", "to-b/c", true),
            ("l", "..", false),
            ("l", "../x", false),
            ("a/l", "../../x", false),
            ("a/b/l", "../../../x", false),
            ("l", "/etc/passwd", false),
            ("l", "/", false),
            ("l", "", false),
            ("l", "a\nb", false),
            ("l", "to-b/../file", false),
            ("l", "missing/../a", false),
            ("l", "a/file/../../..", false),
        ];
        for (path, target, is_safe) in table {
            assert_eq!(check(path, target, &contents).is_ok(), is_safe, "{path} → {target}");
        }
    }
}
