//! Several servers and many calls on one session: nothing is lost, and nobody sees a conflict that is none.

use serde_json::json;

use crate::support::{Archive, Server};

#[test]
fn readers_writers_and_syncs_do_not_disturb_each_other() {
    const ROUNDS: usize = 25;
    let archive = Archive::of(&[("a.txt", "1"), ("b.txt", "2")]);
    let first = Server::start();
    let session = first.open(&archive).id;
    let second = Server::on(first.data_handle());
    second.handshake(json!({}));
    let servers = [&first, &second];
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let (server, session) = (servers[worker % 2], &session);
            let call = move |tool: &str, mut arguments: serde_json::Value| {
                arguments["session"] = json!(session);
                server.call(tool, arguments).value()
            };
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let path = format!("w{worker}/{}.txt", round % 5);
                    let text = format!("worker {worker}, round {round}");
                    match worker {
                        // Two that sync, from different processes; the others work.
                        0 | 1 => drop(call("zipfs_sync", json!({}))),
                        2 | 3 => {
                            call("zipfs_status", json!({}));
                            assert!(call("zipfs_ls", json!({}))["entries"].as_array().unwrap().len() >= 2);
                        }
                        _ => {
                            call("zipfs_write", json!({"path": path, "content": text}));
                            assert_eq!(call("zipfs_read", json!({"path": path}))["content"], text);
                        }
                    }
                }
            });
        }
    });
    first.call("zipfs_sync", json!({})).value();
    first.call("zipfs_status", json!({})).is(json!({"modified": [], "added": [], "deleted": [], "unchanged_count": 22}));
    let packed = archive.read();
    assert_eq!(packed.len(), 22);
    for worker in 4..8 {
        for file in 0..5 {
            let last = format!("worker {worker}, round {}", ROUNDS - 5 + file);
            assert_eq!(packed[&format!("w{worker}/{file}.txt")], last.as_bytes());
        }
    }
    let listed = second.call("zipfs_sessions", json!({})).value();
    assert_eq!((&listed["sessions"][0]["id"], &listed["sessions"][0]["state"]), (&json!(session), &json!("open")));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_session_closed_by_another_server_is_gone_for_both() {
    let archive = Archive::of(&[("a.txt", "1")]);
    let first = Server::start();
    let session = first.open(&archive).id;
    let second = Server::on(first.data_handle());
    second.handshake(json!({}));
    second.call("zipfs_read", json!({"path": "a.txt", "session": session})).value();
    first.call("zipfs_close", json!({"session": session})).value();
    second.call("zipfs_read", json!({"path": "a.txt", "session": session})).fails("SESSION_NOT_FOUND");
    second.call("zipfs_read", json!({"path": "a.txt"})).fails("NO_SESSIONS");
}
