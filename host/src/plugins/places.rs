//! Directories that a person granted: opened by handle for each call, and never one that has to do with our own data.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{Mode, OFlags};

use crate::failure::{Class, Failure};

/// Opens a granted directory. What is at a path can change after the grant, so the check is made on what was opened: not on names,
/// but on what each directory on the way up really is.
pub fn open_ambient(path: &Path, data: &Path) -> Result<Dir, Failure> {
    let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| {
        Failure::new(
            Class::NotFound,
            "GRANT_UNUSABLE",
            format!("The granted directory {} cannot be opened: {error}.", path.display()),
        )
        .suggest("Make it, or grant another.")
    })?;
    let unknown = |error: std::io::Error| {
        Failure::internal(format!("{} cannot be compared with the data directory: {error}.", path.display()))
    };
    // Without a data directory there is nothing in it to be reached.
    let Ok(own) = Dir::open_ambient_dir(data, ambient_authority()) else { return Ok(dir) };
    let overlap = is_beneath(&dir, &own).and_then(|inside| Ok(inside || is_beneath(&own, &dir)?)).map_err(unknown)?;
    match overlap {
        // Grants, secrets and compiled code are in there: whoever could write them could do anything.
        true => Err(Failure::new(
            Class::Forbidden,
            "GRANT_UNUSABLE",
            format!("{} holds the data directory of zipfs or is in it, and cannot be granted.", path.display()),
        )
        .suggest("Grant a directory that has nothing to do with it.")),
        false => Ok(dir),
    }
}

/// Whether a directory is the other, or somewhere in it.
fn is_beneath(dir: &Dir, other: &Dir) -> std::io::Result<bool> {
    let wanted = identity(other)?;
    let mut at: OwnedFd = dir.as_fd().try_clone_to_owned()?;
    let mut here = identity(&at)?;
    // As deep as paths can be.
    for _ in 0..4096 {
        if here == wanted {
            return Ok(true);
        }
        let up = rustix::fs::openat(&at, "..", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let above = identity(&up)?;
        if above == here {
            return Ok(false);
        }
        (at, here) = (up, above);
    }
    Ok(true)
}

fn identity(dir: impl AsFd) -> std::io::Result<(u64, u64)> {
    let found = rustix::fs::fstat(dir)?;
    Ok((found.st_dev, found.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_our_data_is_refused_under_any_name() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for dir in ["outer/data/plugins", "docs"] {
            std::fs::create_dir_all(at(dir)).unwrap();
        }
        std::os::unix::fs::symlink(at("outer/data/plugins"), at("link")).unwrap();
        let data = at("outer/data");
        assert!(open_ambient(&at("docs"), &data).is_ok());
        for overlapping in ["outer", "outer/data", "outer/data/plugins", "link", "docs/../outer/data"] {
            assert_eq!(open_ambient(&at(overlapping), &data).unwrap_err().code, "GRANT_UNUSABLE", "{overlapping}");
        }
        assert!(open_ambient(Path::new("/"), &data).is_err());
        assert!(open_ambient(&at("missing"), &data).is_err());
    }
}
