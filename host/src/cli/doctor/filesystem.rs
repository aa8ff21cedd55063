//! What the filesystem of the data directory can do, tried on it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

/// `null` while there is no data directory to try it in.
pub fn examine(root: &Path) -> Value {
    let Ok(place) = tempfile::Builder::new().prefix(".doctor-").tempdir_in(root) else { return Value::Null };
    let statistics = rustix::fs::statvfs(root).ok();
    json!({
        "type": kind(root),
        "free_bytes": statistics.map(|found| found.f_bavail.saturating_mul(found.f_frsize)),
        "reflink": can_share_blocks(place.path()).is_ok(),
        "hard_links": can_link(place.path()).is_ok(),
        "unnamed_files": can_make_unnamed(place.path()).is_ok(),
    })
}

/// Copies of archives that take no time and no space.
fn can_share_blocks(place: &Path) -> io::Result<()> {
    let mut from = File::create_new(place.join("from"))?;
    from.write_all(&[7; 8192])?;
    let to = File::create_new(place.join("to"))?;
    Ok(rustix::fs::ioctl_ficlone(&to, &from)?)
}

/// Backups without copying, if archives are on a filesystem of the same kind.
fn can_link(place: &Path) -> io::Result<()> {
    std::fs::write(place.join("file"), "")?;
    std::fs::hard_link(place.join("file"), place.join("link"))
}

/// Temporary files that a crash cannot leave behind.
fn can_make_unnamed(place: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, Mode, OFlags};
    rustix::fs::openat(CWD, place, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
    Ok(())
}

fn kind(root: &Path) -> String {
    let Ok(found) = rustix::fs::statfs(root) else { return "unknown".to_owned() };
    // Numbers of linux/magic.h.
    match found.f_type as u64 & 0xffff_ffff {
        0xef53 => "ext4",
        0x9123_683e => "btrfs",
        0x5846_5342 => "xfs",
        0x0102_1994 => "tmpfs",
        0x794c_7630 => "overlayfs",
        0x2fc1_2fc1 => "zfs",
        0xf2f5_2010 => "f2fs",
        0xca45_1a4e => "bcachefs",
        0x6969 => "nfs",
        0x0102_1997 => "9p",
        0x6573_5546 => "fuse",
        0xff53_4d42 | 0xfe53_4d42 => "smb",
        other => return format!("{other:#x}"),
    }
    .to_owned()
}
