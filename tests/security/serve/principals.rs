//! Two principals on one server: neither sees, enters or learns of what the other has; and none takes more than its share.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Archive, Service, zip};

/// A directory with an archive in it, for `--open-root`.
fn inbox() -> (Archive, String) {
    let archive = Archive::of(&[("a.txt", "mine"), ("notes/b.txt", "also mine")]);
    let root = format!("in={}", archive.dir().display());
    (archive, root)
}

/// Everything that was said, as one text.
fn told(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

#[test]
fn nobody_finds_the_sessions_of_another() {
    let (archive, root) = inbox();
    let arguments = ["--open-root", &root];
    let (service, [ada, eve]) = Service::with(json!({}), [("ada", &arguments), ("eve", &arguments)]);
    let (ada, eve) = (service.agent(&ada), service.agent(&eve));
    let opened = ada.call("zipfs_open", json!({"path": "/in/sample.zip", "name": "secret-plan"})).value();
    let id = opened["session_id"].as_str().unwrap().to_owned();
    ada.call("zipfs_read", json!({"path": "a.txt", "session": "secret-plan"})).value();

    // By name, id, prefix, case, nothing at all, and paths dressed up as names.
    assert_eq!(eve.call("zipfs_sessions", json!({})).value()["sessions"], json!([]));
    let unknown = eve.call("zipfs_read", json!({"path": "a.txt", "session": "no-such-plan"})).fails("SESSION_NOT_FOUND");
    let tools = [
        ("zipfs_read", json!({"path": "a.txt"})),
        ("zipfs_write", json!({"path": "a.txt", "content": "eve was here"})),
        ("zipfs_delete", json!({"path": "a.txt"})),
        ("zipfs_ls", json!({})),
        ("zipfs_tree", json!({})),
        ("zipfs_grep", json!({"pattern": "mine"})),
        ("zipfs_status", json!({})),
        ("zipfs_diff", json!({})),
        ("zipfs_sync", json!({"force": true})),
        ("zipfs_close", json!({"sync": false})),
    ];
    let upper = id.to_uppercase();
    let guesses = ["secret-plan", &id, &id[..4], &id[..8], &upper, "../secret-plan", &format!("{id}/contents"), ".", ""];
    for (tool, arguments) in &tools {
        for guess in guesses {
            let mut arguments = arguments.clone();
            arguments["session"] = json!(guess);
            let message = eve.call(tool, arguments).fails("SESSION_NOT_FOUND");
            assert_eq!(message, unknown.replace("no-such-plan", guess), "{tool} {guess}: the same as for nothing");
        }
        eve.call(tool, arguments.clone()).fails("NO_SESSIONS");
    }
    let pruned = eve.call("zipfs_prune", json!({"all": true})).0;
    assert!(!told(&pruned).contains(&id) && !told(&pruned).contains("secret-plan"), "{pruned}");
    assert_eq!(eve.download(&id).status, 404);
    assert_eq!(eve.download("secret-plan").status, 404);
    // The same name is free for everybody, and says nothing about others.
    let own = eve.call("zipfs_open", json!({"path": "in/sample.zip", "name": "secret-plan"})).value();
    assert_ne!(own["session_id"], json!(id));
    eve.call("zipfs_write", json!({"path": "a.txt", "content": "eve was here", "session": "secret-plan"})).value();
    let read = ada.call("zipfs_read", json!({"path": "a.txt"})).value();
    assert_eq!(read["content"], "mine", "hers is as it was");
    // Nor does the local user stumble over them, who has the directory itself.
    assert!(!service.cli().ok(&["sessions"]).contains("secret-plan"));
    drop(archive);
}

#[test]
fn transport_sessions_belong_to_whoever_began_them() {
    let (service, [ada, eve]) = Service::with(json!({"http": {"transport_sessions": 2}}), [("ada", &[]), ("eve", &[])]);
    let (ada, eve) = (service.agent(&ada), service.agent(&eve));
    let session = ada.handshake();
    let version = &session[14..15];
    assert!(session.len() == 36 && version == "4", "a UUID, version 4: {session}");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    assert_eq!(ada.legacy(&session, list.clone()).status, 200);
    for (who, session) in [(&eve, session.as_str()), (&eve, "6b1f7a2e-0000-4000-8000-000000000000"), (&ada, "x"), (&ada, "../..")] {
        let refused = who.legacy(session, list.clone());
        assert_eq!((refused.status, refused.json()), (404, json!({"error": "Session not found"})), "{session}");
    }
    // Not by another verb, nor by a header that sends it elsewhere.
    let nobodys = [("authorization", format!("Bearer {}", "zipfs_x"))];
    assert_eq!(service.send("DELETE /mcp", &[("authorization", &nobodys[0].1), ("mcp-session-id", &session)], b"").status, 401);
    let params = json!({"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "eve", "version": "0"}});
    let hijack = json!({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": params}).to_string();
    let taken = eve_sends(&service, &eve, &session, &hijack);
    assert_ne!(taken.header("mcp-session-id"), Some(&*session), "{taken:?}");
    assert_eq!(ada.legacy(&session, list.clone()).status, 200, "hers goes on");
    // The oldest makes room, for its owner only.
    let second = ada.handshake();
    eve.handshake();
    let third = ada.handshake();
    assert_eq!(ada.legacy(&session, list.clone()).status, 404, "the first of three, where two may be");
    for alive in [&second, &third] {
        assert_eq!(ada.legacy(alive, list.clone()).status, 200);
    }
}

/// With the headers of the newest revision, which has no sessions, and the session of another.
fn eve_sends(service: &Service, eve: &crate::support::Agent<'_>, session: &str, body: &str) -> crate::support::Response {
    let authorization = eve.authorization();
    let headers = [
        ("authorization", authorization.as_str()),
        ("mcp-session-id", session),
        ("mcp-protocol-version", "2026-07-28"),
        ("accept", "application/json, text/event-stream"),
    ];
    service.send("POST /mcp", &headers, body.as_bytes())
}

#[test]
fn a_deleted_transport_session_is_gone() {
    let (service, [token]) = Service::with(json!({}), [("ada", &[])]);
    let ada = service.agent(&token);
    let session = ada.handshake();
    let headers = [("authorization", format!("Bearer {token}")), ("mcp-session-id", session.clone())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(service.send("DELETE /mcp", &headers, b"").status, 202);
    assert_eq!(ada.legacy(&session, json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).status, 404);
    assert_eq!(service.send("GET /mcp", &headers, b"").status, 404);
    assert_eq!(service.send("DELETE /mcp", &headers, b"").status, 404);
}

#[test]
fn archives_of_the_host_are_opened_by_grant_only_and_its_paths_not_told() {
    let (archive, root) = inbox();
    let read_only = format!("{root}:read");
    let (service, [ada, bob, eve]) =
        Service::with(json!({}), [("ada", &["--open-root", &root]), ("bob", &["--open-root", &read_only]), ("eve", &[])]);
    let (ada, bob, eve) = (service.agent(&ada), service.agent(&bob), service.agent(&eve));
    let host = archive.path().display().to_string();
    let data = service.data().display().to_string();
    let hidden = [archive.dir().display().to_string(), data.clone()];
    let silent = |reply: &Value| hidden.iter().for_each(|path| assert!(!reply.to_string().contains(path.as_str()), "{reply}"));

    for path in ["/in/sample.zip", &host, "/etc/passwd", "../sample.zip", "/", ""] {
        let refused = eve.call("zipfs_open", json!({"path": path}));
        assert!(["OPEN_NOT_ALLOWED", "INVALID_PARAMS"].contains(&&*refused.failure().0), "{refused:?}");
    }
    let absent = ada.call("zipfs_open", json!({"path": "/in/absent.zip"}));
    absent.fails("ZIP_NOT_FOUND");
    silent(&absent.0);
    for path in [&host, "/in/../sample.zip", "/other/sample.zip", "/in/./../../etc/passwd"] {
        let refused = ada.call("zipfs_open", json!({"path": path}));
        assert!(["OPEN_NOT_ALLOWED", "ZIP_NOT_FOUND"].contains(&&*refused.failure().0), "{path}: {refused:?}");
    }
    let replies = [
        ada.call("zipfs_open", json!({"path": "/in/sample.zip", "name": "s"})),
        ada.call("zipfs_sessions", json!({})),
        ada.call("zipfs_write", json!({"path": "new.txt", "content": "new"})),
        ada.call("zipfs_status", json!({})),
        ada.call("zipfs_diff", json!({})),
        ada.call("zipfs_sync", json!({})),
        ada.call("zipfs_path", json!({})),
        ada.call("zipfs_open", json!({"path": "/in/new.txt"})),
    ];
    replies.iter().for_each(|reply| silent(&reply.0));
    assert_eq!(replies[1].value()["sessions"][0]["source_path"], "/in/sample.zip");
    assert_eq!(replies[5].value()["backup_path"], "/in/sample.bak.zip");
    replies[6].fails("PATH_HIDDEN");
    assert!(archive.read().contains_key("new.txt"), "her sync arrived");
    // An archive that is gone, or is no archive any more, is told of without saying where it was.
    ada.call("zipfs_write", json!({"path": "new.txt", "content": "newer"})).value();
    std::fs::rename(archive.path(), archive.dir().join("away.zip")).unwrap();
    let lost = ada.call("zipfs_sync", json!({}));
    lost.failure();
    silent(&lost.0);
    std::fs::rename(archive.dir().join("away.zip"), archive.path()).unwrap();
    // To read is not to write back.
    bob.call("zipfs_open", json!({"path": "/in/sample.zip"})).value();
    bob.call("zipfs_write", json!({"path": "a.txt", "content": "bob's"})).value();
    bob.call("zipfs_sync", json!({})).fails("SYNC_NOT_ALLOWED");
    bob.call("zipfs_sync", json!({"force": true})).fails("SYNC_NOT_ALLOWED");
    bob.call("zipfs_close", json!({"sync": true})).fails("SYNC_NOT_ALLOWED");
    // What was granted at opening is asked again at the end.
    service.cli().ok(&["token", "remove", "ada"]);
    let again = crate::support::token(service.data(), "ada", &[]);
    let ada = service.agent(&again);
    ada.call("zipfs_sync", json!({})).fails("SYNC_NOT_ALLOWED");
}

/// Text that hardly gets smaller.
fn noise(size: usize) -> String {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + (state >> 33) as u8 % 90)
    };
    (0..size).map(|_| next()).collect()
}

#[test]
fn sessions_and_disk_are_bounded() {
    let bytes = zip(&[("a.txt", &noise(200_000)), ("b.txt", "b")]);
    let (service, [few, small]) =
        Service::with(json!({}), [("few", &["--sessions", "2"]), ("small", &["--disk", "1800000", "--sessions", "9"])]);
    let few = service.agent(&few);
    for _ in 0..2 {
        assert_eq!(few.upload("", &bytes).status, 201);
    }
    let refused = few.upload("", &bytes);
    assert_eq!((refused.status, refused.json()["error"]["code"].clone()), (413, json!("LIMIT_EXCEEDED")));
    let small = service.agent(&small);
    for _ in 0..3 {
        assert_eq!(small.upload("", &bytes).status, 201);
    }
    assert_eq!(
        small.upload("", &bytes).json()["error"]["code"],
        "LIMIT_EXCEEDED",
        "a fourth would be 200 KB of files and as much of archive, twice"
    );
    let listed = small.call("zipfs_sessions", json!({})).value();
    let session = listed["sessions"][0]["id"].clone();
    let write = |size: usize| small.call("zipfs_write", json!({"session": session, "path": "more", "content": "x".repeat(size)}));
    write(300_000).fails("LIMIT_EXCEEDED");
    write(10_000).value();
    small.call("zipfs_close", json!({"session": listed["sessions"][1]["id"], "sync": false})).value();
    write(250_000).value();
}

#[test]
fn calls_at_once_are_bounded() {
    let config = json!({"calls": {"deadline_ms": 3_000}});
    let (service, [ada, eve]) = Service::with(config, [("ada", &["--concurrent", "2"]), ("eve", &[])]);
    service.add("sleep");
    service.add("noop");
    let (first, second) = (service.agent(&ada), service.agent(&ada));
    std::thread::scope(|scope| {
        let sleeping = [
            scope.spawn(|| first.call("sleep", json!({})).failure().0),
            scope.spawn(|| second.call("sleep", json!({})).failure().0),
        ];
        std::thread::sleep(Duration::from_millis(700));
        service.agent(&ada).call("noop", json!({})).fails("BUSY");
        service.agent(&eve).call("noop", json!({})).value();
        for one in sleeping {
            assert_eq!(one.join().unwrap(), "TIMEOUT");
        }
    });
    service.agent(&ada).call("noop", json!({})).value();
}

#[test]
fn requests_are_bounded() {
    let (service, [ada, eve]) = Service::with(json!({}), [("ada", &["--rate", "60"]), ("eve", &[])]);
    let began = Instant::now();
    let statuses: Vec<u16> = (0..12).map(|_| service.agent(&ada).ask("tools/list", json!({})).status).collect();
    let let_through = statuses.iter().filter(|status| **status == 200).count();
    let allowed = 6 + began.elapsed().as_secs() as usize + 1;
    assert!((6..=allowed).contains(&let_through), "{statuses:?}");
    let refused = service.agent(&ada).ask("tools/list", json!({}));
    if refused.status == 429 {
        assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    }
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(service.agent(&eve).ask("tools/list", json!({})).status, 200);
}
