//! A file on its way to its place: written where no guest sees it, then given its name in one step.
//!
//! In a session that is the session's `tmp/`, beside its contents. A granted directory has no such place, and what is beside it may be
//! another filesystem; there the file has no name at all while it is written, so that a crash leaves nothing behind.

use std::io;

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use sha2::{Digest, Sha256};

use crate::workspace::copy::hex;

/// A file that is not in its place yet.
pub struct Incoming {
    pub file: File,
    home: Option<Home>,
}

/// Where it is until then. Without one it has no name.
struct Home {
    dir: Dir,
    name: String,
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            let _ = home.dir.remove_file(&home.name);
        }
    }
}

impl Incoming {
    /// In a directory of its own for such files.
    pub fn in_tmp(tmp: &Dir) -> io::Result<Incoming> {
        Incoming::named(tmp, uuid::Uuid::new_v4().simple().to_string())
    }

    /// In the filesystem of the directory that it is for.
    pub fn beside(dir: &Dir) -> io::Result<Incoming> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match retry_on_intr(|| rustix::fs::openat(dir, ".", flags, Mode::from_raw_mode(0o644))) {
            Ok(file) => Ok(Incoming { file: File::from_std(file.into()), home: None }),
            // Not every filesystem can; where it cannot, the file is seen while it is written, and by its name for what it is.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                Incoming::named(dir, format!("{PREFIX}{}", uuid::Uuid::new_v4().simple()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn named(dir: &Dir, name: String) -> io::Result<Incoming> {
        let file = dir.open_with(&name, OpenOptions::new().write(true).create_new(true).mode(0o644))?;
        Ok(Incoming { file, home: Some(Home { dir: dir.try_clone()?, name }) })
    }

    /// Gives it its name, over a file that has it.
    pub fn put_over(&mut self, dir: &Dir, name: &str) -> io::Result<()> {
        let Some(home) = &self.home else {
            // A name that belongs to this target alone: what a crash leaves under it, the next one removes.
            let passing = format!("{PREFIX}{}", &hex(&Sha256::digest(name))[..32]);
            let linked = match self.link(dir, &passing) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    dir.remove_file(&passing).and_then(|()| self.link(dir, &passing))
                }
                other => other,
            };
            return linked.and_then(|()| dir.rename(&passing, dir, name)).inspect_err(|_| {
                let _ = dir.remove_file(&passing);
            });
        };
        home.dir.rename(&home.name, dir, name)?;
        self.home = None;
        Ok(())
    }

    /// Gives it its name, if nothing has it.
    pub fn put_new(&mut self, dir: &Dir, name: &str) -> io::Result<()> {
        match &self.home {
            None => self.link(dir, name),
            Some(home) => Ok(retry_on_intr(|| rustix::fs::linkat(&home.dir, &home.name, dir, name, AtFlags::empty()))?),
        }
    }

    /// A first name for a file that has none.
    fn link(&self, dir: &Dir, name: &str) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(retry_on_intr(|| rustix::fs::linkat(CWD, &own, dir, name, AtFlags::SYMLINK_FOLLOW))?)
    }
}

/// How such files are named for the moments in which they have to have a name.
const PREFIX: &str = ".zipfs-incoming-";

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn directory() -> (tempfile::TempDir, Dir) {
        let temporary = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
        (temporary, dir)
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let (_temporary, dir) = directory();
        dir.create_dir("tmp").unwrap();
        let tmp = dir.open_dir("tmp").unwrap();
        dir.create_dir("contents").unwrap();
        let contents = dir.open_dir("contents").unwrap();
        let count = |dir: &Dir| dir.entries().unwrap().count();
        let begin: [&dyn Fn() -> Incoming; 3] =
            [&|| Incoming::in_tmp(&tmp).unwrap(), &|| Incoming::beside(&contents).unwrap(), &|| {
                Incoming::named(&contents, format!("{PREFIX}odd")).unwrap()
            }];
        for begin in begin {
            let mut incoming = begin();
            incoming.file.write_all(b"new").unwrap();
            drop(incoming);
            assert_eq!((count(&tmp), count(&contents)), (0, 0), "nothing stays of one that was given up");

            let mut incoming = begin();
            incoming.file.write_all(b"one").unwrap();
            incoming.put_new(&contents, "a").unwrap();
            drop(incoming);
            let mut second = begin();
            second.file.write_all(b"two").unwrap();
            assert_eq!(second.put_new(&contents, "a").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(contents.read("a").unwrap(), b"one");
            second.put_over(&contents, "a").unwrap();
            drop(second);
            assert_eq!(contents.read("a").unwrap(), b"two");
            assert_eq!((count(&tmp), count(&contents)), (0, 1));
            contents.remove_file("a").unwrap();
        }
    }

    #[test]
    fn what_a_crash_left_does_not_stop_the_next_one() {
        let (_temporary, dir) = directory();
        let put = |contents: &[u8]| {
            let mut incoming = Incoming::beside(&dir).unwrap();
            incoming.file.write_all(contents).unwrap();
            incoming.put_over(&dir, "a")
        };
        put(b"one").unwrap();
        dir.write(format!("{PREFIX}{}", &hex(&Sha256::digest("a"))[..32]), b"left").unwrap();
        put(b"two").unwrap();
        assert_eq!(dir.read("a").unwrap(), b"two");
        assert_eq!(dir.entries().unwrap().count(), 1);
    }
}
