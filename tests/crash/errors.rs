//! System calls that fail, once or from then on, and such that only claim to have worked.

use serde_json::Value;

use super::scene::{Act, Scene};
use super::stepper::{DURABLE, Point, each, points};
use super::{has_program, is_full};

/// The last is of filesystems that cannot do what others can: then there is another way.
const ERRORS: &[&str] = &["EIO", "ENOSPC", "EDQUOT", "EROFS", "EMFILE", "EINTR", "EACCES", "EOPNOTSUPP"];

/// A call, what becomes of it, and from when on.
struct Disturbance {
    act: Act,
    point: Point,
    how: String,
}

impl Disturbance {
    fn inject(&self) -> String {
        format!("{}:{}", self.point.call, self.how)
    }

    fn happens(&self) {
        let what = format!("{:?} with {}", self.act, self.inject());
        let mut scene = Scene::prepare(self.act);
        scene.is_mute = self.point.call == "write";
        let (answer, _) = scene.traced(DURABLE, Some(&self.inject()));
        if let Some(answer) = &answer {
            check_answer(answer, &what);
        }
        // A server that is still there must be usable at once, and not only the next process.
        if answer.is_some() && self.act.is_sync() {
            scene.server.call("zipfs_status", serde_json::json!({})).value();
        }
        scene.check(&what);
    }
}

/// A result, or an error with a code.
fn check_answer(answer: &Value, what: &str) {
    if answer["result"]["isError"] == true {
        let code = answer["result"]["structuredContent"]["error"]["code"].as_str().unwrap_or_default();
        assert!(!code.is_empty(), "{what}: an error without a code: {answer}");
    }
}

fn points_of(act: Act) -> Vec<Point> {
    points(&Scene::prepare(act).traced(DURABLE, None).1)
}

/// Every point with every error in the full run; otherwise every n-th of these pairs, so that each error and most points occur.
fn disturbances(act: Act, step: usize) -> Vec<Disturbance> {
    let mut all = Vec::new();
    for point in points_of(act) {
        for error in ERRORS {
            for from_then_on in ["", "+"] {
                // It means "again", and whoever hears it tries again: for ever, if it never stops. No kernel does that.
                if (*error, from_then_on) == ("EINTR", "+") {
                    continue;
                }
                let how = format!("error={error}:when={}{from_then_on}", point.number);
                all.push(Disturbance { act, point: point.clone(), how });
            }
        }
    }
    all.into_iter().step_by(step).collect()
}

#[test]
fn errors_of_sync_leave_the_old_archive_or_the_new_one() {
    if has_program("strace") {
        each(&disturbances(Act::Sync, if is_full() { 1 } else { 19 }), Disturbance::happens);
    }
}

/// The disk may refuse what is written of a large archive at any time, and say so to whoever asks first.
#[test]
fn a_large_archive_that_cannot_be_put_on_disk_does_not_replace_the_old_one() {
    if !has_program("strace") {
        return;
    }
    let flushes = points_of(Act::SyncLarge).into_iter().filter(|point| ["fdatasync", "fsync"].contains(&point.call.as_str()));
    let failing = flushes.map(|point| Disturbance { act: Act::SyncLarge, how: format!("error=EIO:when={}", point.number), point });
    let failing: Vec<_> = failing.collect();
    assert!(failing.len() >= 4, "{} flushes", failing.len());
    each(&failing, Disturbance::happens);
}

/// Where no file can be made without a name, the stage has one from the beginning, and where names cannot be exchanged one is taken
/// over: that is as safe, and leaves as little behind.
#[test]
fn a_filesystem_that_can_do_less_serves_as_well() {
    if !has_program("strace") {
        return;
    }
    let some: Vec<Disturbance> = points_of(Act::Sync)
        .into_iter()
        .filter(|point| ["openat", "renameat2", "linkat", "ioctl", "copy_file_range"].contains(&point.call.as_str()))
        .map(|point| Disturbance { act: Act::Sync, how: format!("error=EOPNOTSUPP:when={}", point.number), point })
        .collect();
    let synced = std::sync::atomic::AtomicUsize::new(0);
    each(&some, |one| {
        let scene = Scene::prepare(Act::Sync);
        let (answer, log) = scene.traced(DURABLE, Some(&one.inject()));
        let is_unnamed = log.lines().any(|line| line.contains("O_TMPFILE") && line.contains("INJECTED"));
        if is_unnamed {
            assert_ne!(answer.expect("an answer")["result"]["isError"], true, "without a name to begin with");
            assert!(log.lines().any(|line| line.contains(".zipfs-tmp-") && line.contains("O_EXCL")), "another way was taken");
            synced.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        scene.check(&one.inject());
    });
    assert!(synced.into_inner() > 0, "no filesystem without nameless files was met");
}

#[test]
fn errors_of_open_write_and_close_leave_nothing_half_made() {
    if has_program("strace") {
        for act in [Act::Open, Act::Write, Act::Close] {
            each(&disturbances(act, if is_full() { 1 } else { 83 }), Disturbance::happens);
        }
    }
}

#[test]
fn names_that_only_claim_to_have_changed_are_noticed() {
    if !has_program("strace") {
        return;
    }
    let lies: Vec<Disturbance> = points_of(Act::Sync)
        .into_iter()
        .filter(|point| ["renameat", "renameat2", "linkat"].contains(&point.call.as_str()))
        .flat_map(|point| {
            ["", "+"].map(|from_then_on| Disturbance {
                act: Act::Sync,
                how: format!("retval=0:when={}{from_then_on}", point.number),
                point: point.clone(),
            })
        })
        .collect();
    assert!(lies.len() >= 10);
    each(&lies, Disturbance::happens);
}

#[test]
fn a_sync_whose_rename_lied_does_not_report_success() {
    if has_program("strace") {
        let scene = Scene::prepare(Act::Sync);
        let (answer, _) = scene.traced(DURABLE, Some("renameat2:retval=0:when=1"));
        assert_eq!(answer.unwrap()["result"]["isError"], true);
        scene.check("a lying exchange");
    }
}
