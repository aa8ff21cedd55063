//! Where the filesystem can share blocks, a sync costs what changed, however large the archive is.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Archive, Server, Session};

/// A filesystem in a file, gone with the value.
struct Volume {
    home: tempfile::TempDir,
}

impl Volume {
    /// `None`, loudly, where it cannot be had.
    fn make(kind: &str) -> Option<Volume> {
        let volume = Volume { home: tempfile::tempdir().expect("a directory") };
        std::fs::create_dir(volume.point()).expect("a mount point");
        let image = volume.home.path().join("image");
        let is_there = std::fs::File::create(&image).and_then(|file| file.set_len(3 << 30)).is_ok()
            && run(Command::new(format!("mkfs.{kind}")).arg("-q").arg(&image))
            && run(Command::new("mount").args(["-o", "loop", "-t", kind]).arg(&image).arg(volume.point()));
        if !is_there {
            crate::support::skipped(&format!("no {kind} can be made and mounted; this needs root, mkfs.{kind} and loop devices"));
            return None;
        }
        Some(volume)
    }

    fn point(&self) -> PathBuf {
        self.home.path().join("mounted")
    }

    /// Bytes in use, when everything is on disk.
    fn used(&self) -> u64 {
        assert!(run(Command::new("sync").arg("-f").arg(self.point())));
        let told = rustix::fs::statvfs(self.point()).expect("statvfs");
        (told.f_blocks - told.f_bfree) * told.f_frsize
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = run(Command::new("umount").arg("-l").arg(self.point()));
    }
}

fn run(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// A small text between large files that do not compress; the large ones are the size of the archive.
fn archive(place: &Path, megabytes: usize) -> Archive {
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let archive = Archive::within(place, "sample.zip", b"");
    let mut zip = zip::ZipWriter::new(std::io::BufWriter::new(std::fs::File::create(archive.path()).unwrap()));
    let mut state = 1u64;
    let mut noise = vec![0; 1 << 20];
    for number in 0..4 {
        zip.start_file(format!("note-{number}.txt"), options).unwrap();
        writeln!(zip, "note {number}").unwrap();
        zip.start_file(format!("blob-{number}.bin"), options).unwrap();
        for _ in 0..megabytes / 4 {
            noise.as_chunks_mut::<8>().0.iter_mut().for_each(|chunk| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *chunk = (state ^ state >> 29).to_le_bytes();
            });
            zip.write_all(&noise).unwrap();
        }
    }
    zip.finish().unwrap().flush().unwrap();
    archive
}

/// One sync of one changed note: what it takes of the disk, and of time.
fn change(volume: &Volume, session: &Session, round: usize) -> (u64, Duration) {
    let text = format!("round {round} ").repeat(10 + round);
    session.call("zipfs_write", json!({"path": "note-2.txt", "content": text})).value();
    let before = volume.used();
    let began = Instant::now();
    session.call("zipfs_sync", json!({})).value();
    let taken = began.elapsed();
    (volume.used().saturating_sub(before), taken)
}

/// What a sync takes of an archive of this size: the median of several, each of which costs a backup. Checked from outside.
fn cost(volume: &Volume, megabytes: usize) -> (u64, Duration) {
    let archive = archive(&volume.point(), megabytes);
    let server = Server::within(&volume.point(), json!({}));
    let session = server.open(&archive);
    let mut costs: Vec<(u64, Duration)> = (0..7).map(|round| change(volume, &session, round)).collect();
    let unzip = Command::new("unzip").arg("-tqq").arg(archive.path()).output();
    assert!(unzip.is_err() || unzip.is_ok_and(|output| output.status.success()), "unzip -t");
    assert!(archive.read()["note-2.txt"].starts_with(b"round 6 "));
    let largest = costs.iter().map(|(bytes, _)| *bytes).max().unwrap_or_default();
    costs.sort_by_key(|(_, time)| *time);
    (largest, costs[costs.len() / 2].1)
}

fn costs_what_changed(kind: &str) {
    let Some(volume) = Volume::make(kind) else { return };
    let (small, large) = (cost(&volume, 32), cost(&volume, 256));
    let told = format!("{kind}: 32 MB {small:?}, 256 MB {large:?}");
    let _ = writeln!(std::io::stderr(), "{told}");
    // What changed, the session's own notes and the filesystem's; copying would take the archive's size.
    assert!(small.0.max(large.0) < 4 << 20, "{told}");
    // Eight times as much to keep, and other work on the machine: a copy with its hash takes a third of a second.
    assert!(large.1 < small.1 * 3 + Duration::from_millis(60), "{told}");
}

#[test]
fn a_sync_on_btrfs_costs_what_changed() {
    costs_what_changed("btrfs");
}

#[test]
fn a_sync_on_xfs_costs_what_changed() {
    costs_what_changed("xfs");
}
