//! The system calls of opening archives that try to get out: whatever is made or changed lies in the data directory.

use std::path::{Component, Path, PathBuf};
use std::process::Command;

use zipfs_test_archives::{Case, Verdict, all};

use super::{among_canaries, snapshot};
use crate::support::Zipfs;

/// Calls that make, change or remove something by its name. Not every strace knows them all.
const CALLS: &str = "trace=?open,?openat,?openat2,?creat,?mkdir,?mkdirat,?mknod,?mknodat,?symlink,?symlinkat,?link,?linkat,?rename,\
                     ?renameat,?renameat2,?unlink,?unlinkat,?rmdir,?truncate,?chmod,?fchmodat,?fchmodat2,?chown,?fchownat,?utimensat,\
                     ?setxattr,?mount";

#[test]
fn archives_that_try_to_get_out_touch_nothing_outside() {
    let can_trace = Command::new("strace").args(["-o", "/dev/null", "true"]).output().is_ok_and(|output| output.status.success());
    if !can_trace {
        return crate::support::skipped(
            "archives_that_try_to_get_out_touch_nothing_outside: there is no strace, or it may not trace",
        );
    }
    let (outer, data) = among_canaries();
    let (archive, trace) = (outer.path().join("archive.zip"), tempfile::NamedTempFile::new().expect("a file"));
    // What only the first call makes is there before.
    std::fs::write(&archive, crate::support::zip(&[("a", "1")])).expect("an archive");
    Zipfs(data.path()).ok(&["call", "zipfs_open", "--arg", &format!("path={}", archive.display()), "--arg", "name=first"]);
    let before = snapshot(outer.path(), data.path());
    let is_meant = |case: &Case| matches!(case.verdict, Verdict::Refused("PATH_TRAVERSAL", _)) || case.name.contains("link");
    let mut seen = 0;
    for case in all().iter().filter(|case| is_meant(case)) {
        std::fs::write(&archive, &case.bytes).expect("an archive");
        let plain = Zipfs(data.path()).command();
        let mut traced = Command::new("strace");
        traced.args(["-f", "-y", "-qq", "-s", "4096", "-e", CALLS, "-o"]).arg(trace.path());
        traced.arg(plain.get_program()).args(["call", "zipfs_open", "--arg", &format!("path={}", archive.display())]);
        traced.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        traced.output().expect("strace runs");
        let calls = std::fs::read_to_string(trace.path()).expect("a trace");
        for line in calls.lines() {
            let Some(target) = touched(line) else { continue };
            seen += 1;
            let is_plain = target.components().all(|part| part != Component::ParentDir);
            assert!(is_plain && target.starts_with(data.path()), "{}: {line}", case.name);
        }
    }
    assert!(seen > 100, "only {seen} calls were seen: the trace is not read right");
    assert_eq!(snapshot(outer.path(), data.path()), before, "something outside changed");
}

/// What a traced call makes or changes, if it does: the directory it is relative to, and the name.
fn touched(line: &str) -> Option<PathBuf> {
    let call = line.split_once(' ').map_or(line, |(_, call)| call.trim_start());
    let name = call.split('(').next()?;
    let reads = name.starts_with("open") && !["O_CREAT", "O_WRONLY", "O_RDWR", "O_TRUNC"].iter().any(|flag| call.contains(flag));
    if reads || !call.contains('"') {
        return None;
    }
    let (head, rest) = call.split_once('"')?;
    let path = Path::new(rest.split('"').next()?);
    if path.is_absolute() {
        // Devices that every program writes to.
        return (!path.starts_with("/dev") && !path.starts_with("/proc/self")).then(|| path.to_owned());
    }
    let base = head.split_once('<').and_then(|(_, base)| base.split_once('>')).map(|(base, _)| base)?;
    Some(Path::new(base).join(path))
}

#[test]
fn a_trace_is_read_right() {
    let touches = |line: &str| touched(line).map(|path| path.display().to_string());
    assert_eq!(
        touches(r#"12 openat2(5</data/w>, "a/b", {flags=O_WRONLY|O_CREAT|O_EXCL}, 24) = 6</data/w/a/b>"#).unwrap(),
        "/data/w/a/b"
    );
    assert_eq!(touches(r#"12 mkdirat(5</data/w>, "../x", 0755) = 0"#).unwrap(), "/data/w/../x");
    assert_eq!(touches(r#"12 openat(AT_FDCWD</cwd>, "/etc/passwd", O_RDWR) = -1 EACCES"#).unwrap(), "/etc/passwd");
    assert_eq!(touches(r#"12 openat(AT_FDCWD</cwd>, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3</etc/passwd>"#), None);
}
