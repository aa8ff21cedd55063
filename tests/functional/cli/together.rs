//! People and agents on one session at the same time: nothing that was written is lost.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Archive, Server, have};

const WRITERS: usize = 6;
const ROUNDS: usize = 20;

#[test]
fn a_server_and_commands_write_and_sync_one_session_and_lose_nothing() {
    let server = Server::start();
    let archive = Archive::of(&[("kept.txt", "kept")]);
    let opened = server.call("zipfs_open", json!({"path": archive.path(), "name": "shared"})).value();
    assert_eq!(opened["name"], "shared");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (server, zipfs) = (&server, server.cli());
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let path = format!("from/{writer}/{round}.txt");
                    let content = format!("writer {writer} round {round}");
                    // Odd writers are agents, even ones people.
                    match writer % 2 {
                        1 => {
                            drop(server.call("zipfs_write", json!({"session": "shared", "path": path, "content": content})).value())
                        }
                        _ => drop(zipfs.ok(&["write", &format!("shared:{path}"), "--content", &content])),
                    }
                }
            });
        }
        let zipfs = server.cli();
        scope.spawn(move || {
            for _ in 0..ROUNDS / 2 {
                zipfs.ok(&["sync", "shared"]);
            }
        });
        scope.spawn(|| {
            for _ in 0..ROUNDS / 2 {
                server.call("zipfs_sync", json!({"session": "shared"})).value();
            }
        });
    });
    server.cli().ok(&["sync", "shared"]);
    server
        .call("zipfs_status", json!({"session": "shared"}))
        .is(json!({"modified": [], "added": [], "deleted": [], "unchanged_count": WRITERS * ROUNDS + 1}));
    let expected: Value = (0..WRITERS)
        .flat_map(|writer| (0..ROUNDS).map(move |round| (writer, round)))
        .map(|(writer, round)| (format!("from/{writer}/{round}.txt"), json!(format!("writer {writer} round {round}"))))
        .chain([("kept.txt".to_owned(), json!("kept"))])
        .collect::<serde_json::Map<_, _>>()
        .into();
    let ours: Value = archive
        .read()
        .into_iter()
        .filter(|(name, _)| !name.ends_with('/'))
        .map(|(name, bytes)| (name, json!(String::from_utf8(bytes).unwrap())))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_eq!(ours, expected);
    if have("python3", "others read the archive") {
        let script = "import sys, json, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; \
                      print(json.dumps({n: z.read(n).decode() for n in z.namelist() if not n.endswith('/')}))";
        let output = Command::new("python3").args(["-c", script]).arg(archive.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), expected);
    }
}

#[test]
fn commands_count_as_use() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    let used = || server.call("zipfs_sessions", json!({})).value()["sessions"][0]["last_accessed_at"].as_str().unwrap().to_owned();
    let lock = std::fs::File::open(session.path.parent().unwrap().join("metadata.json.lock")).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
    for command in [&["ls"][..], &["tree"], &["read", "a.txt"], &["write", "b.txt", "--content", ""], &["status"], &["grep", "x"]] {
        lock.set_modified(long_ago).unwrap();
        let before = used();
        server.cli().ok(command);
        assert!(used() > before, "zipfs {command:?}");
    }
}
