//! Power cuts: the image behind a mounted filesystem is copied while it is in use, so the copy holds what had reached the disk.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::scene::{Act, Scene};
use super::stepper::{DURABLE, points};
use super::{has_program, is_full};

/// A kind of filesystem.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    /// The smallest it can be, in megabytes.
    size: u64,
    options: &'static str,
}

const EXT4: Kind = Kind { name: "ext4", size: 24, options: "loop,commit=300,noauto_da_alloc" };
/// The same with room for large archives.
const LARGE_EXT4: Kind = Kind { size: 256, ..EXT4 };
const BTRFS: Kind = Kind { name: "btrfs", size: 128, options: "loop,commit=300" };
const XFS: Kind = Kind { name: "xfs", size: 320, options: "loop" };

/// What is tested: all of them if everything is.
fn kinds() -> &'static [Kind] {
    if is_full() { &[EXT4, BTRFS, XFS] } else { &[EXT4] }
}

/// A filesystem that keeps everything in memory for as long as it is allowed to.
struct Disk {
    home: tempfile::TempDir,
    kind: Kind,
}

impl Disk {
    fn new(kind: Kind) -> Option<Disk> {
        let disk = Disk { home: tempfile::tempdir().expect("a directory"), kind };
        std::fs::create_dir(disk.point()).expect("a mount point");
        let image = disk.image();
        let made = std::fs::File::create(&image).and_then(|file| file.set_len(kind.size << 20)).is_ok()
            && run(Command::new(format!("mkfs.{}", kind.name)).arg("-q").arg(&image));
        if made && disk.mount() {
            return Some(disk);
        }
        let name = kind.name;
        crate::support::skipped(&format!("no {name} image can be mounted; this needs root, mkfs.{name} and loop devices"));
        None
    }

    fn image(&self) -> PathBuf {
        self.home.path().join("image")
    }

    fn point(&self) -> PathBuf {
        self.home.path().join("mounted")
    }

    fn mount(&self) -> bool {
        let mut command = Command::new("mount");
        run(command.args(["-t", self.kind.name, "-o", self.kind.options]).arg(self.image()).arg(self.point()))
    }

    /// Cuts the power: what is in memory is gone, and the machine comes up again.
    fn cut(&self) {
        let copy = self.home.path().join("copy");
        assert!(run(Command::new("cp").arg("--sparse=always").arg(self.image()).arg(&copy)));
        self.unmount();
        std::fs::rename(copy, self.image()).unwrap();
        assert!(self.mount(), "the filesystem is damaged");
    }

    fn unmount(&self) {
        for _ in 0..100 {
            if run(Command::new("umount").arg(self.point())) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{} is in use", self.point().display());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = run(Command::new("umount").arg("-l").arg(self.point()));
    }
}

fn run(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// A session on the disk, with edits, both on disk already: what is tested is the sync.
fn scene(place: &Path, act: Act, config: Value) -> Scene {
    let scene = Scene::at(place, place, act, config);
    assert!(run(Command::new("sync").arg("-f").arg(place)));
    scene
}

#[test]
fn a_power_cut_at_any_point_of_sync_leaves_the_old_archive_or_the_new_one() {
    for kind in kinds() {
        if let Some(disk) = Disk::new(*kind).filter(|_| has_program("strace")) {
            cut_everywhere(&disk, Act::Sync, if is_full() { 1 } else { 9 });
        }
    }
    if let Some(disk) = Disk::new(LARGE_EXT4).filter(|_| has_program("strace")) {
        cut_everywhere(&disk, Act::SyncLarge, if is_full() { 3 } else { 31 });
    }
}

/// At every n-th point.
fn cut_everywhere(disk: &Disk, act: Act, step: usize) {
    let recorded = scene(&disk.point(), act, json!({}));
    let all = points(&recorded.traced(DURABLE, None).1);
    recorded.check("the recorded sync");
    for point in all.iter().step_by(step) {
        let scene = scene(&disk.point(), act, json!({}));
        scene.traced(DURABLE, Some(&format!("{}:signal=KILL:when={}", point.call, point.number)));
        scene.server.kill();
        disk.cut();
        scene.check(&format!("power cut on {} at {} {}", disk.kind.name, point.call, point.number));
    }
}

/// How often the new archive was there after a power cut that followed the answer at once.
fn survivors(kind: Kind, act: Act, durability: &str, cuts: usize) -> Option<usize> {
    let disk = Disk::new(kind)?;
    let survived = (0..cuts).filter(|_| {
        let scene = scene(&disk.point(), act, json!({"durability": durability}));
        let old = std::fs::read(scene.archive.path()).unwrap();
        assert_ne!(scene.perform().unwrap()["result"]["isError"], true);
        scene.server.kill();
        disk.cut();
        let now = std::fs::read(scene.archive.path()).unwrap_or_default();
        if durability == "full" {
            scene.check("power cut after success");
        }
        now != old && zip::ZipArchive::new(std::io::Cursor::new(now)).is_ok()
    });
    Some(survived.count())
}

#[test]
fn what_was_reported_is_on_disk() {
    let cuts = if is_full() { 20 } else { 5 };
    for kind in kinds() {
        if let Some(survived) = survivors(*kind, Act::Sync, "full", cuts) {
            assert_eq!(survived, cuts, "{}", kind.name);
        }
    }
    let cuts = if is_full() { 10 } else { 2 };
    if let Some(survived) = survivors(LARGE_EXT4, Act::SyncLarge, "full", cuts) {
        assert_eq!(survived, cuts, "a large archive");
    }
}

/// The control: without the flushes the same test must see losses, or it would prove nothing.
#[test]
fn without_flushes_the_same_test_fails() {
    let cuts = if is_full() { 20 } else { 3 };
    if let Some(survived) = survivors(EXT4, Act::Sync, "fast", cuts) {
        assert!(survived < cuts, "nothing was lost in {cuts} cuts although nothing was flushed");
    }
}
