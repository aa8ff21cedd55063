//! A plugin that comes, changes or goes is there as before or as after, wherever the command is killed; and the next one works.

use std::path::Path;
use std::process::Command;

use super::stepper::{Point, each, points};
use super::{has_program, is_full};
use crate::support::{Face, Zipfs};

/// What leaves a trace, or takes a lock.
const CALLS: &str = "rename,renameat,renameat2,fsync,fdatasync,unlink,unlinkat,flock,link,linkat,mkdir,mkdirat,fchmod,ftruncate";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Add,
    Update,
    Remove,
}

/// A data directory as it is before the act, with both versions beside it.
struct Scene {
    data: tempfile::TempDir,
    act: Act,
}

impl Scene {
    fn prepare(act: Act) -> Scene {
        let data = tempfile::tempdir().unwrap();
        let old = Face::new(1).write(&data.path().join("old.face"));
        Face::new(1).version(2).write(&data.path().join("new.face"));
        if act != Act::Add {
            Zipfs(data.path()).ok(&["plugin", "add", "--yes", old.to_str().unwrap()]);
        }
        Scene { data, act }
    }

    fn arguments(&self) -> Vec<String> {
        let file = |name: &str| self.data.path().join(name).display().to_string();
        let words = match self.act {
            Act::Add => vec!["plugin".into(), "add".into(), "--yes".into(), file("old.face")],
            Act::Update => vec!["plugin".into(), "update".into(), "faces-00001".into(), "--from".into(), file("new.face")],
            Act::Remove => vec!["plugin".into(), "remove".into(), "faces-00001".into()],
        };
        words.into_iter().collect()
    }

    /// Runs the act under strace; returns the log, and whether it came to its end.
    fn traced(&self, inject: Option<&str>) -> (String, bool) {
        let log = self.data.path().join("strace.log");
        let zipfs = Zipfs(self.data.path()).command();
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o"]).arg(&log).args(["-e", &format!("trace={CALLS}")]);
        if let Some(inject) = inject {
            command.args(["-e", &format!("inject={inject}")]);
        }
        command.arg(zipfs.get_program()).args(self.arguments()).env_clear();
        for (name, value) in zipfs.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            command.env(name, value);
        }
        let output = command.output().unwrap();
        (std::fs::read_to_string(log).unwrap_or_default(), output.status.success())
    }

    /// As before or as after, and whatever is asked next is done.
    fn check(&self, what: &str) {
        let zipfs = Zipfs(self.data.path());
        let answers = || {
            let output = zipfs.run(&["--json", "call", "faces_00001"]);
            String::from_utf8_lossy(&output.stdout).split('"').find(|word| word.ends_with("0000.0.0")).map(str::to_owned)
        };
        let now = answers();
        let (old, new) = (Some("10000.0.0".to_owned()), Some("20000.0.0".to_owned()));
        let allowed = match self.act {
            Act::Add | Act::Remove => [None, old],
            Act::Update => [old, new],
        };
        assert!(allowed.contains(&now), "{what}: {now:?} answers");
        let verified = zipfs.run(&["plugin", "verify"]);
        assert!(verified.status.success(), "{what}: {}", String::from_utf8_lossy(&verified.stderr));
        // The same again, where it was not done.
        let after = match self.act {
            Act::Add => allowed[1].clone(),
            Act::Update => allowed[1].clone(),
            Act::Remove => None,
        };
        if now != after {
            zipfs.ok(&self.arguments().iter().map(String::as_str).collect::<Vec<_>>());
        }
        assert_eq!(answers(), after, "{what}: the next command");
        // And nothing of what was interrupted stays.
        if self.act != Act::Remove {
            zipfs.ok(&["plugin", "remove", "faces-00001"]);
        } else if now == after {
            let other = Face::new(2).write(&self.data.path().join("other.face"));
            zipfs.ok(&["plugin", "add", "--yes", other.to_str().unwrap()]);
            zipfs.ok(&["plugin", "remove", "faces-00002"]);
        }
        assert_eq!(left(self.data.path()), [""; 0], "{what}: left over");
    }
}

/// Components and compiled code of plugins that are not there any more.
fn left(data: &Path) -> Vec<String> {
    let names = |directory: &str| {
        let entries = std::fs::read_dir(data.join(directory)).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let mut left = names("plugins");
    left.extend(names("cache").into_iter().filter(|name| !name.ends_with(".json")));
    left
}

fn kill_everywhere(act: Act) {
    if !has_program("strace") {
        return;
    }
    let (log, ended) = Scene::prepare(act).traced(None);
    assert!(ended, "{act:?} works under strace");
    let all: Vec<Point> = points(&log);
    assert!(all.len() >= 10, "{all:?}");
    let some: Vec<&Point> = all.iter().step_by(if is_full() { 1 } else { 2 }).collect();
    let killed = std::sync::atomic::AtomicUsize::new(0);
    each(&some, |point| {
        let scene = Scene::prepare(act);
        let (_, ended) = scene.traced(Some(&format!("{}:signal=KILL:when={}", point.call, point.number)));
        killed.fetch_add(usize::from(!ended), std::sync::atomic::Ordering::Relaxed);
        scene.check(&format!("{act:?} killed at {} {}", point.call, point.number));
    });
    let killed = killed.into_inner();
    eprintln!("{act:?}: killed at {killed} of {} points", some.len());
    assert!(killed * 10 >= some.len() * 8, "{act:?}: only {killed} of {} points were reached", some.len());
}

#[test]
fn killed_while_a_plugin_is_added() {
    kill_everywhere(Act::Add);
}

#[test]
fn killed_while_a_plugin_is_updated() {
    kill_everywhere(Act::Update);
}

#[test]
fn killed_while_a_plugin_is_removed() {
    kill_everywhere(Act::Remove);
}
