//! The audit log against those who would rather not be in it, against a full disk, and against telling too much.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::crash::places::Mounted;
use crate::support::{Archive, Audited, Server, Zipfs};

/// A log of ten lines, and what `audit verify` finds after something was done to its only file.
fn after(tampering: impl FnOnce(&Path, Vec<String>)) -> Vec<(String, u64, String)> {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    for _ in 0..10 {
        zipfs.ok(&["sessions"]);
    }
    zipfs.ok(&["audit", "verify"]);
    let file = Audited::of(data.path()).files().remove(0);
    let lines = std::fs::read_to_string(&file).unwrap().split_inclusive('\n').map(str::to_owned).collect();
    tampering(&file, lines);
    let output = zipfs.run(&["audit", "verify", "--json"]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = verdict["findings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings.map(|found| (text(&found["kind"]), found["line"].as_u64().unwrap(), text(&found["message"]))).collect()
}

fn write(file: &Path, lines: &[String]) {
    std::fs::write(file, lines.concat()).unwrap();
}

#[test]
fn tampering_is_found_and_located() {
    let found = after(|file, mut lines| {
        lines[4] = lines[4].replace("\"principal\":\"local\"", "\"principal\":\"nobody\"");
        write(file, &lines);
    });
    assert_eq!((found.len(), found[0].0.as_str(), found[0].1), (1, "changed", 5), "{found:?}");
    let found = after(|file, mut lines| {
        lines.remove(4);
        write(file, &lines);
    });
    assert_eq!((found.len(), found[0].0.as_str(), found[0].1), (1, "missing", 5), "{found:?}");
    assert!(found[0].2.contains("Line 5 is missing"), "{found:?}");
    let found = after(|file, mut lines| {
        lines.swap(3, 6);
        write(file, &lines);
    });
    assert!(found.iter().any(|(kind, ..)| kind == "reordered"), "{found:?}");
    assert_eq!(found[0].1, 4, "{found:?}");
    let found = after(|file, mut lines| {
        lines.truncate(8);
        write(file, &lines);
    });
    assert_eq!((found.len(), found[0].0.as_str(), found[0].1), (1, "truncated", 8), "{found:?}");
    let found = after(|file, mut lines| {
        let last = lines[9].replace("\"outcome\":\"ok\"", "\"outcome\":\"no\"");
        lines[9] = last;
        write(file, &lines);
    });
    assert_eq!((found.len(), found[0].0.as_str(), found[0].1), (1, "changed", 10), "{found:?}");
    let found = after(|file, mut lines| {
        let half = lines[9].len() / 2;
        lines[9].truncate(half);
        write(file, &lines);
    });
    assert!(found.iter().any(|(kind, line, _)| kind == "broken" && *line == 10), "{found:?}");
    let found = after(|file, mut lines| {
        lines[2] = "{}\n".into();
        write(file, &lines);
    });
    assert!(found.iter().any(|(kind, line, _)| kind == "broken" && *line == 3), "{found:?}");
    let found = after(|file, mut lines| {
        lines.push("{\"kind\":\"call\",\"seq\":11,\"prev_hash\":\"made up\"}\n".into());
        write(file, &lines);
    });
    assert_eq!((found[0].0.as_str(), found[0].1), ("changed", 10), "{found:?}");
    let found = after(|file, _| std::fs::remove_file(file.with_file_name("head")).unwrap());
    assert_eq!((found.len(), found[0].0.as_str()), (1, "missing"), "{found:?}");
    let found = after(|file, _| std::fs::write(file.with_file_name("head"), "nonsense").unwrap());
    assert_eq!((found.len(), found[0].0.as_str()), (1, "broken"), "{found:?}");
    let found = after(|file, _| std::fs::remove_file(file).unwrap());
    assert_eq!((found.len(), found[0].0.as_str()), (1, "truncated"), "{found:?}");
}

#[test]
fn writing_on_does_not_cover_up_what_was_cut_off() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    for _ in 0..6 {
        zipfs.ok(&["sessions"]);
    }
    let file = Audited::of(data.path()).files().remove(0);
    let text = std::fs::read_to_string(&file).unwrap();
    let kept: usize = text.split_inclusive('\n').take(3).map(str::len).sum();
    // In the middle of line 4.
    std::fs::write(&file, &text[..kept + 20]).unwrap();
    zipfs.ok(&["sessions"]);
    let output = zipfs.run(&["audit", "verify"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("Lines 4 to 6 are missing"), "{said}");
    // The files of a rotated log cannot go either.
    let config = json!({"audit": {"max_file_bytes": 16 << 10}});
    let server = Server::with(config);
    for _ in 0..60 {
        server.call("zipfs_sessions", json!({})).value();
    }
    let log = Audited::of(server.data());
    assert!(log.files().len() >= 3);
    server.cli().ok(&["audit", "verify"]);
    std::fs::remove_file(&log.files()[0]).unwrap();
    assert!(server.cli().run(&["audit", "verify"]).status.code() == Some(5), "the first file is missed");
}

#[test]
fn many_processes_write_one_chain() {
    let server = Server::with(json!({"audit": {"max_file_bytes": 32 << 10, "keep_files": 100}}));
    let data = server.data().to_owned();
    let callers: Vec<_> = (0..6)
        .map(|_| {
            let data = data.clone();
            std::thread::spawn(move || (0..12).for_each(|_| drop(Zipfs(&data).ok(&["sessions"]))))
        })
        .collect();
    // Some are killed in the middle of it.
    for round in 0..12 {
        let mut killed = Zipfs(&data).command().arg("sessions").stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(round));
        let _ = killed.kill();
        let _ = killed.wait();
    }
    for _ in 0..50 {
        server.call("zipfs_sessions", json!({})).value();
    }
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    let calls = Audited::of(&data).calls();
    assert!((6 * 12 + 50..=6 * 12 + 50 + 12).contains(&calls.len()), "{} lines", calls.len());
    server.cli().ok(&["audit", "verify"]);
}

#[test]
fn a_log_that_cannot_be_written_refuses_calls_before_they_run() {
    let place = tempfile::tempdir().unwrap();
    // Where a directory should be, there is a file.
    let blocked = place.path().join("log");
    std::fs::write(&blocked, "in the way").unwrap();
    let server = Server::with(json!({"audit": {"directory": blocked}}));
    let archive = Archive::of(&[("a.txt", "hi")]);
    let message = server.call("zipfs_open", json!({"path": archive.path()})).fails("AUDIT_UNAVAILABLE");
    assert!(message.contains("audit.on_failure"), "{message}");
    assert_eq!(std::fs::read_dir(server.data().join("workspaces")).unwrap().count(), 0, "nothing was opened");
    // It goes on as soon as it can be written.
    std::fs::remove_file(&blocked).unwrap();
    server.call("zipfs_open", json!({"path": archive.path()})).value();
    assert_eq!(Audited::at(&blocked).calls().len(), 1);

    let careless = Server::with(json!({"audit": {"directory": place.path().join("log/head"), "on_failure": "continue"}}));
    careless.call("zipfs_open", json!({"path": archive.path()})).value();
}

#[test]
fn a_full_disk_refuses_calls_and_no_line_is_lost() {
    let Some(small) = Mounted::tmpfs("size=400k") else { return };
    let log = small.path().join("log");
    let server = Server::with(json!({"audit": {"directory": log}}));
    server.call("zipfs_sessions", json!({})).value();
    let _ = std::fs::write(small.path().join("filler"), vec![0; 1 << 20]);
    // Room for the next calls was taken ahead: somebody can still make room with them.
    let mut answered = 1;
    let archive = Archive::of(&[("a.txt", "hi")]);
    let refused = loop {
        let reply = server.call("zipfs_sessions", json!({}));
        if reply.0["result"]["isError"] == json!(true) {
            break reply;
        }
        answered += 1;
        assert!(answered < 2_000, "the disk is full");
    };
    refused.fails("AUDIT_UNAVAILABLE");
    assert!(answered > 20, "only {answered} calls after the disk was full");
    server.call("zipfs_open", json!({"path": archive.path()})).fails("AUDIT_UNAVAILABLE");
    assert_eq!(std::fs::read_dir(server.data().join("workspaces")).unwrap().count(), 0, "nothing was opened");
    assert_eq!(Audited::at(&log).calls().len(), answered, "every answer has its line");
    std::fs::remove_file(small.path().join("filler")).unwrap();
    server.call("zipfs_open", json!({"path": archive.path()})).value();
    server.cli().ok(&["audit", "verify"]);
}

#[test]
fn contents_and_secrets_are_not_in_the_log() {
    const SECRET: &str = "hunter2-hunter2";
    let server = Server::start();
    server.add("showcase");
    let archive = Archive::of(&[("a.txt", SECRET)]);
    let session = server.open(&archive);
    session.call("zipfs_read", json!({"path": "a.txt"})).value();
    session.call("zipfs_write", json!({"path": "b.txt", "content": SECRET})).value();
    session.call("zipfs_grep", json!({"pattern": SECRET})).value();
    session.call("zipfs_read", json!({"path": 5, "password": SECRET})).fails("INVALID_PARAMS");
    session.call("zipfs_read", json!({"path": "a.txt", SECRET: 1})).fails("INVALID_PARAMS");
    server.request("tools/call", json!({"name": "no_such_tool", "arguments": {"token": SECRET}}));
    server.call("show_arguments", json!({"text": SECRET})).fails("INVALID_PARAMS");
    let kept = String::from_utf8_lossy(&Audited::of(server.data()).bytes()).into_owned();
    assert!(!kept.contains("hunter2"), "{kept}");
    assert!(kept.contains("\"paths\":[\"b.txt\"]"));

    let discreet = Server::with(json!({"audit": {"paths": "hashed"}}));
    let session = discreet.open(&archive);
    session.call("zipfs_write", json!({"path": "layoffs-2027.txt", "content": "x"})).value();
    let kept = String::from_utf8_lossy(&Audited::of(discreet.data()).bytes()).into_owned();
    assert!(!kept.contains("layoffs") && kept.contains("\"effects\":[{"), "{kept}");
}

#[test]
fn lines_are_bounded() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "hi")]);
    server.open(&archive);
    server.request("tools/call", json!({"name": "\u{1}".repeat(1 << 20), "arguments": {}}));
    server.call("zipfs_read", json!({"path": "\u{1}".repeat(1 << 20)})).failure();
    server.call("zipfs_read", json!({"path": "ü".repeat(1 << 20)})).failure();
    let log = Audited::of(server.data());
    assert_eq!(log.calls().len(), 4);
    let text = std::fs::read_to_string(&log.files()[0]).unwrap();
    assert!(text.lines().all(|line| line.len() < 4 << 10), "{:?}", text.lines().map(str::len).collect::<Vec<_>>());
    server.cli().ok(&["audit", "verify"]);
}

#[test]
fn the_log_is_for_its_owner_alone() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    zipfs.ok(&["sessions"]);
    let directory = data.path().join("audit");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    for entry in std::fs::read_dir(&directory).unwrap().flatten() {
        assert_eq!(mode(&entry.path()), 0o600, "{}", entry.path().display());
    }
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o777)).unwrap();
    zipfs.fails(&["sessions"], 5);
}
