//! One guest for each crime. Each ends within its bound with the right code, and the next call works.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Archive, Reply, Server, Session};

/// Short limits, so that the tests are short.
fn limits() -> Value {
    json!({
        "calls": {"deadline_ms": 1000, "cpu_ms": 1000, "session_deadline_ms": 5000},
        "security": {"max_extracted_size_bytes": 8 << 20, "max_file_count": 200},
    })
}

/// A server with one guest added, and a session for it to work on.
struct Scene {
    server: Server,
    archive: Archive,
    guest: &'static str,
}

impl Scene {
    #[track_caller]
    fn set(guest: &'static str) -> Scene {
        let server = Server::with(limits());
        server.add(guest);
        Scene { server, archive: Archive::of(&[("a.txt", "unharmed"), ("d/b.txt", "too")]), guest }
    }

    fn tool(&self) -> String {
        self.guest.replace('-', "_")
    }

    /// Lets the guest do its worst on a session, and checks that nothing of it is left.
    #[track_caller]
    fn play(&self, check: impl FnOnce(&Session, Reply)) {
        let session = self.server.open(&self.archive);
        // One round first: pools and caches fill on the first call.
        self.crime(&session);
        let (memory, descriptors) = (self.server.process().memory(), self.server.process().descriptors());
        let began = Instant::now();
        let reply = self.crime(&session);
        let took = began.elapsed();
        assert!(took < Duration::from_millis(1600), "{} took {took:?}", self.guest);
        check(&session, reply);
        self.server.call(&format!("{}_ok", self.tool()), json!({})).value();
        session.call("zipfs_read", json!({"path": "a.txt"})).value();
        std::thread::sleep(Duration::from_millis(100));
        let grown = self.server.process().memory().saturating_sub(memory);
        assert!(grown < 80 << 20, "{} left {grown} bytes of memory in use", self.guest);
        let held = self.server.process().descriptors();
        assert!(held <= descriptors + 2, "{} left descriptors open: {descriptors} before, {held} after", self.guest);
    }

    #[track_caller]
    fn crime(&self, session: &Session) -> Reply {
        let listed = self.server.request("tools/list", json!({}))["result"]["tools"].clone();
        let tool = listed.as_array().unwrap().iter().find(|tool| tool["name"] == json!(self.tool())).expect("the tool").clone();
        match tool["inputSchema"]["properties"].get("session") {
            Some(_) => session.call(&self.tool(), json!({})),
            None => self.server.call(&self.tool(), json!({})),
        }
    }

    #[track_caller]
    fn ends_as(&self, code: &str) {
        self.play(|_, reply| {
            reply.fails(code);
        });
    }
}

#[test]
fn spin() {
    Scene::set("spin").ends_as("TIMEOUT");
}

#[test]
fn sleep() {
    Scene::set("sleep").ends_as("TIMEOUT");
}

#[test]
fn deadlines_hold_to_a_tenth_of_a_second() {
    for guest in ["spin", "sleep"] {
        let server = Server::with(limits());
        server.add(guest);
        // The best of three: a busy machine can delay one answer, not make one early.
        let best = (0..3).map(|_| {
            let began = Instant::now();
            server.call(guest, json!({})).fails("TIMEOUT");
            began.elapsed()
        });
        let best = best.min().unwrap();
        assert!(best >= Duration::from_millis(990) && best <= Duration::from_millis(1100), "{guest}: {best:?}");
    }
}

#[test]
fn read_stdin_finds_nothing_and_does_not_wait() {
    Scene::set("read-stdin").play(|_, reply| {
        reply.value();
    });
}

#[test]
fn grow() {
    Scene::set("grow").ends_as("LIMIT_EXCEEDED");
}

#[test]
fn deep() {
    Scene::set("deep").ends_as("INTERNAL_ERROR");
}

#[test]
fn trap_tells_its_panic() {
    Scene::set("trap").play(|_, reply| {
        let message = reply.fails("INTERNAL_ERROR");
        assert!(message.contains("trap"), "{message}");
    });
}

#[test]
fn exit7() {
    Scene::set("exit7").play(|_, reply| {
        reply.fails("INTERNAL_ERROR");
    });
}

#[test]
fn handles() {
    Scene::set("handles").ends_as("LIMIT_EXCEEDED");
}

#[test]
fn flood_stdout_never_reaches_ours() {
    // Every line of the server's output is parsed as a message by the harness.
    for guest in ["flood-stdout", "flood-stderr"] {
        Scene::set(guest).play(|_, _| {});
    }
}

#[test]
fn flood_log() {
    Scene::set("flood-log").play(|_, _| {});
}

#[test]
fn flood_progress() {
    let scene = Scene::set("flood-progress");
    scene.play(|_, _| {});
    let id = scene.server.begin("tools/call", json!({"name": "flood_progress", "arguments": {}, "_meta": {"progressToken": 1}}));
    scene.server.answer(id);
    let reports = scene.server.others().iter().filter(|message| message["method"] == "notifications/progress").count();
    assert!(reports < 200, "{reports} reports came through");
}

#[test]
fn flood_result() {
    Scene::set("flood-result").ends_as("LIMIT_EXCEEDED");
}

#[test]
fn a_result_that_is_larger_than_the_memory_it_comes_from() {
    Scene::set("multiply-result").ends_as("LIMIT_EXCEEDED");
}

#[test]
fn a_result_beyond_the_limit_for_answers() {
    let scene = Scene::set("flood-result");
    scene.server.call("flood_result", json!({"mebibytes": 20})).fails("LIMIT_EXCEEDED");
    scene.server.call("flood_result_ok", json!({})).value();
}

#[test]
fn random_huge() {
    Scene::set("random-huge").ends_as("INTERNAL_ERROR");
}

#[test]
fn not_json() {
    Scene::set("not-json").ends_as("INTERNAL_ERROR");
}

#[test]
fn not_object() {
    Scene::set("not-object").ends_as("INTERNAL_ERROR");
}

#[test]
fn no_structured() {
    Scene::set("no-structured").ends_as("INTERNAL_ERROR");
}

#[test]
fn wrong_schema() {
    Scene::set("wrong-schema").ends_as("INTERNAL_ERROR");
}

#[test]
fn disks_and_inodes_are_not_filled() {
    for guest in ["fill", "fill-raw", "files", "directories", "sparse", "tiny-writes"] {
        let scene = Scene::set(guest);
        let session = scene.server.open(&scene.archive);
        let began = Instant::now();
        let reply = scene.crime(&session);
        assert!(began.elapsed() < Duration::from_millis(1600), "{guest}");
        // A guest may take the refusal and stop by itself; one that does not is stopped.
        if reply.0["result"]["isError"] == true {
            let (code, message) = reply.failure();
            assert!(code == "LIMIT_EXCEEDED" || (guest == "tiny-writes" && code == "TIMEOUT"), "{guest}: {code}: {message}");
        } else {
            assert_ne!(reply.value()["error"], json!(""), "{guest} was never refused: {reply:?}");
        }
        let (mut bytes, mut files) = (0, 0);
        let mut open = vec![session.path.clone()];
        while let Some(dir) = open.pop() {
            for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
                let metadata = entry.metadata().unwrap();
                files += 1;
                if metadata.is_dir() { open.push(entry.path()) } else { bytes += metadata.len() }
            }
        }
        assert!(bytes <= 8 << 20 && files <= 200, "{guest} got {bytes} bytes in {files} files");
        scene.server.call(&format!("{}_ok", scene.tool()), json!({})).value();
        session.call("zipfs_read", json!({"path": "a.txt"})).value();
    }
}

#[test]
fn the_quota_cannot_be_talked_down() {
    let scene = Scene::set("accounts");
    let session = scene.server.open(&scene.archive);
    // What one call gains at its end shows in those after it.
    for round in 0..10 {
        let reply = scene.crime(&session);
        let wrote = reply.value()["attempts"].clone();
        for attempt in wrote.as_array().unwrap() {
            assert_eq!(attempt["refused"], true, "round {round}: {attempt}");
        }
    }
}

#[test]
fn links() {
    let scene = Scene::set("links");
    std::fs::write(scene.server.data().join("secret"), "secret").unwrap();
    scene.play(|session, reply| {
        for attempt in reply.value()["attempts"].as_array().unwrap() {
            assert_eq!(attempt["refused"], true, "{attempt}");
        }
        for entry in std::fs::read_dir(&session.path).unwrap() {
            assert!(!entry.unwrap().file_type().unwrap().is_symlink());
        }
    });
    assert!(!scene.server.data().join("workspaces/x").exists());
}

#[test]
fn read_only_means_read_only() {
    Scene::set("read-only").play(|session, reply| {
        for attempt in reply.value()["attempts"].as_array().unwrap() {
            assert_eq!(attempt["refused"], true, "{attempt}");
        }
        assert_eq!(std::fs::read_to_string(session.path.join("a.txt")).unwrap(), "unharmed");
        assert_eq!(std::fs::read_dir(&session.path).unwrap().count(), 2);
    });
}

#[test]
fn environment_is_empty() {
    Scene::set("environment").play(|_, reply| {
        let seen = reply.value().to_string();
        assert!(!seen.contains("PATH") && !seen.contains("ZIPFS") && !seen.contains("mcp"), "{seen}");
    });
}

#[test]
fn a_tool_without_a_workspace_sees_no_directory() {
    let scene = Scene::set("environment");
    let seen = scene.server.call("environment_without_workspace", json!({})).value().to_string();
    assert!(!seen.contains("/workspace"), "{seen}");
}

#[test]
fn fifo_does_not_hold_the_host() {
    let scene = Scene::set("fifo");
    let session = scene.server.open(&scene.archive);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, session.path.join("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let began = Instant::now();
    let reply = scene.crime(&session);
    assert!(began.elapsed() < Duration::from_millis(1600), "{reply:?}");
    for tool in ["zipfs_read", "zipfs_ls"] {
        session.call(tool, json!({"path": "pipe"}));
    }
    session.call("zipfs_read", json!({"path": "a.txt"})).value();
    session.call("zipfs_status", json!({})).value();
    session.call("zipfs_close", json!({})).value();
}

#[test]
fn capabilities_that_were_not_declared_are_refused() {
    for (guest, capability) in [("undeclared-files", "files"), ("undeclared-sessions", "sessions")] {
        let server = Server::with(limits());
        let path = crate::support::guest(guest);
        // The component imports the interface, so even adding it takes a decision by name.
        server.cli().fails(&["plugin", "add", "--yes", path.to_str().unwrap()], 5);
        server.cli().ok(&["plugin", "add", path.to_str().unwrap(), "--grant", capability]);
        let session = server.open(&Archive::of(&[("a.txt", "unharmed")]));
        let tool = guest.replace('-', "_");
        let listed = server.request("tools/list", json!({}))["result"]["tools"].clone();
        let shown = listed.as_array().unwrap().iter().find(|shown| shown["name"] == json!(tool)).unwrap().to_string();
        let reply = if shown.contains("\"session\"") { session.call(&tool, json!({})) } else { server.call(&tool, json!({})) };
        assert!(reply.0.to_string().contains("CAPABILITY_REFUSED"), "{guest}: {reply:?}");
        assert_eq!(std::fs::read_to_string(session.path.join("a.txt")).unwrap(), "unharmed");
        // The plugin has it: for the tool that declares it.
        let honest = guest.replace("undeclared-", "declared_");
        let reply = if capability == "files" { session.call(&honest, json!({})) } else { server.call(&honest, json!({})) };
        assert_eq!(reply.value()["attempts"][0]["refused"], false, "{guest}: {reply:?}");
    }
}

#[test]
fn lying_errors_are_passed_on_within_bounds() {
    let scene = Scene::set("lying-class");
    let reply = scene.server.call("lying_class", json!({}));
    assert_eq!(reply.0["result"]["isError"], true);
    assert!(reply.0.to_string().len() < 3 << 20);
}
