//! Owner, mode and extended attributes of an archive, for the one that takes its place.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{Gid, Mode, Uid, XattrFlags};
use rustix::io::Errno;

/// Gives `to` what `from` has. Whatever cannot be given by somebody who is not root is left out, as an editor would; a full disk
/// is an error.
pub fn keep(from: &File, to: &File) -> io::Result<()> {
    let (metadata, own) = (from.metadata()?, to.metadata()?);
    if (metadata.uid(), metadata.gid()) != (own.uid(), own.gid()) {
        let _ = rustix::fs::fchown(to, Some(Uid::from_raw(metadata.uid())), Some(Gid::from_raw(metadata.gid())));
    }
    keep_extended(from, to)?;
    // Last: an access list changes the mode, and a change of owner takes bits away.
    rustix::fs::fchmod(to, Mode::from_raw_mode(metadata.mode() & 0o7777))?;
    Ok(())
}

fn keep_extended(from: &File, to: &File) -> io::Result<()> {
    for name in names(from)?.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let kept = value(from, name).and_then(|value| rustix::fs::fsetxattr(to, name, &value, XattrFlags::empty()));
        match kept {
            Ok(()) | Err(Errno::NOTSUP | Errno::PERM | Errno::ACCESS | Errno::NODATA) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The names, each with a NUL behind it.
fn names(file: &File) -> io::Result<Vec<u8>> {
    match grown(|buffer| rustix::fs::flistxattr(file, buffer)) {
        Ok(names) => Ok(names),
        Err(Errno::NOTSUP | Errno::PERM | Errno::ACCESS) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn value(file: &File, name: &[u8]) -> rustix::io::Result<Vec<u8>> {
    grown(|buffer| rustix::fs::fgetxattr(file, name, buffer))
}

/// The kernel allows 64 KiB for either; most files have less than 256 bytes.
fn grown(read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    for size in [256, 64 << 10] {
        let mut buffer = vec![0; size];
        match read(&mut buffer) {
            Ok(len) => {
                buffer.truncate(len);
                return Ok(buffer);
            }
            Err(Errno::RANGE) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::RANGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn mode_and_extended_attributes_are_given_on() {
        let temporary = tempfile::tempdir().unwrap();
        let make = |name: &str| File::create_new(temporary.path().join(name)).unwrap();
        let (from, to) = (make("from"), make("to"));
        from.set_permissions(std::fs::Permissions::from_mode(0o640)).unwrap();
        let long = vec![b'x'; 1000];
        let supported = rustix::fs::fsetxattr(&from, "user.note", &long, XattrFlags::empty()).is_ok();
        keep(&from, &to).unwrap();
        assert_eq!(to.metadata().unwrap().mode() & 0o7777, 0o640);
        match supported {
            true => assert_eq!(value(&to, b"user.note").unwrap(), long),
            false => eprintln!("SKIPPED in part: this filesystem has no extended attributes"),
        }
    }
}
