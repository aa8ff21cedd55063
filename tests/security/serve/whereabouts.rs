//! Where things are on the host is told to nobody who is not on it: in no result, error, notification or header.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::support::{Part, Plugin, Response, Service, packed_plugin, raw_zip, token, zip};

/// A service whose every place has a name that can be recognised, and everything that it ever said.
struct Scene {
    service: Service,
    /// What must not be said.
    secrets: Vec<String>,
    heard: Mutex<Vec<(String, Response)>>,
    token: String,
    places: Places,
}

/// Directories of the host. The data directory is the service's own.
struct Places {
    all: tempfile::TempDir,
}

impl Places {
    fn at(&self, name: &str) -> PathBuf {
        self.all.path().join(name)
    }
}

impl Scene {
    fn set(config: Value, prepare: impl FnOnce(&Path, &Places)) -> Scene {
        let places = Places { all: tempfile::Builder::new().prefix("whereabouts-").tempdir().unwrap() };
        for name in ["inbox", "home", "temporary", "granted"] {
            std::fs::create_dir(places.at(name)).unwrap();
        }
        std::fs::write(places.at("inbox/sample.zip"), zip(&[("a.txt", "mine"), ("notes/b.txt", "also mine")])).unwrap();
        let data = Service::prepare(config);
        prepare(data.path(), &places);
        let root = format!("in={}", places.at("inbox").display());
        let token =
            token(data.path(), "ada", &["--role", "operator", "--open-root", &root, "--sessions", "6", "--disk", "3000000"]);
        let (home, temporary) = (places.at("home"), places.at("temporary"));
        let variables: [(&str, &Path); 2] = [("HOME", &home), ("TMPDIR", &temporary)];
        let service = Service::within(data.clone(), &[], &variables);
        let mut secrets: Vec<String> = [data.path(), places.all.path()]
            .into_iter()
            .flat_map(|path| [path.to_owned(), path.canonicalize().unwrap()])
            .map(|path| path.display().to_string())
            .collect();
        // Where this was built, and by whom.
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().display().to_string();
        secrets.extend([source, "/.cargo/".into(), "/rustc/".into(), ".rs:".into()]);
        Scene { service, secrets, heard: Mutex::default(), token, places }
    }

    fn hear(&self, what: &str, response: Response) -> Response {
        let said = format!("{:?} {}", response.headers, response.text());
        for secret in &self.secrets {
            assert!(!said.contains(secret.as_str()), "{what} says {secret}: {said}");
        }
        let copy = Response { status: response.status, headers: response.headers.clone(), body: response.body.clone() };
        self.heard.lock().unwrap().push((what.to_owned(), copy));
        response
    }

    /// Calls a tool, and listens to its progress and its log too.
    fn call(&self, tool: &str, arguments: Value) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/logLevel": "debug",
            "progressToken": "p",
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let what = format!("{tool} {arguments}");
        self.hear(&what, self.post("tools/call", tool, &params)).json()
    }

    /// Whether a call failed with this code; and it was heard all the same.
    #[track_caller]
    fn fails(&self, code: &str, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        let text = answer.to_string();
        assert!(text.contains(&format!("\"{code}\"")), "{tool}: not {code}: {text}");
        text
    }

    fn ask(&self, method: &str, params: Value) -> Value {
        let mut params = params;
        params["_meta"] =
            json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
        let name = params["uri"].as_str().or(params["name"].as_str()).unwrap_or_default().to_owned();
        self.hear(method, self.post(method, &name, &params)).json()
    }

    fn post(&self, method: &str, name: &str, params: &Value) -> Response {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("authorization", bearer.as_str()),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
            ("mcp-name", name),
        ];
        self.service.send("POST /mcp", &headers, body.as_bytes())
    }

    fn plain(&self, line: &str, body: &[u8]) -> Response {
        let bearer = format!("Bearer {}", self.token);
        self.hear(line, self.service.send(line, &[("authorization", &bearer), ("content-type", "application/zip")], body))
    }

    fn heard(&self) -> usize {
        self.heard.lock().unwrap().len()
    }
}

#[test]
fn sessions_and_archives_do_not_tell_where_they_are() {
    let config = json!({"defaults": {"lock_timeout_ms": 200}, "security": {"max_compression_ratio": 50}});
    let scene = Scene::set(config, |_, _| {});
    let inbox = |name: &str| scene.places.at("inbox").join(name);
    // Opening: what is good, and everything that can be wrong with an archive.
    for (name, bytes) in [
        ("text.zip", b"no archive".to_vec()),
        ("empty.zip", Vec::new()),
        ("up.zip", raw_zip(b"", &[Part::new("../evil", b"x")], b"")),
        ("bomb.zip", zip(&[("zeros", &"0".repeat(3 << 20))])),
        ("many.zip", zip(&[("large", &(0..400_000).map(|n| format!("{n}")).collect::<String>())])),
    ] {
        std::fs::write(inbox(name), bytes).unwrap();
        let answer = scene.call("zipfs_open", json!({"path": format!("/in/{name}")}));
        assert!(answer["result"]["isError"] == true, "{name}: {answer}");
    }
    std::fs::create_dir(inbox("directory.zip")).unwrap();
    std::os::unix::fs::symlink("sample.zip", inbox("link.zip")).unwrap();
    for name in ["directory.zip", "link.zip", "absent.zip", "sample.zip/below", ""] {
        scene.fails("ZIP_NOT_FOUND", "zipfs_open", json!({"path": format!("/in/{name}")}));
    }
    let opened = scene.call("zipfs_open", json!({"path": "/in/sample.zip", "name": "work"}));
    assert_eq!(opened["result"]["structuredContent"]["name"], "work", "{opened}");
    scene.call("zipfs_open", json!({"path": "/in/sample.zip", "name": "work"}));
    // Every tool, well used and badly.
    for (tool, arguments) in [
        ("zipfs_sessions", json!({})),
        ("zipfs_path", json!({})),
        ("zipfs_ls", json!({})),
        ("zipfs_ls", json!({"path": "absent"})),
        ("zipfs_tree", json!({})),
        ("zipfs_read", json!({"path": "a.txt"})),
        ("zipfs_read", json!({"path": "notes"})),
        ("zipfs_read", json!({"path": "../a.txt"})),
        ("zipfs_read", json!({"path": "/proc/self/environ"})),
        ("zipfs_grep", json!({"pattern": "mine"})),
        ("zipfs_grep", json!({"pattern": "("})),
        ("zipfs_write", json!({"path": "new.txt", "content": "new"})),
        ("zipfs_write", json!({"path": "notes", "content": "new"})),
        ("zipfs_delete", json!({"path": "absent"})),
        ("zipfs_status", json!({})),
        ("zipfs_diff", json!({})),
        ("zipfs_sync", json!({"dry_run": true})),
        ("zipfs_sync", json!({})),
        ("zipfs_prune", json!({"dry_run": true})),
        ("zipfs_read", json!({"session": "absent", "path": "a"})),
        ("zipfs_read", json!({"wrong": 1})),
        ("no_such_tool", json!({})),
    ] {
        scene.call(tool, arguments);
    }
    // While somebody else has the session.
    let lock = std::fs::read_dir(scene.service.data().join("workspaces")).unwrap().flatten().find_map(|entry| {
        let files = std::fs::read_dir(entry.path()).ok()?.flatten();
        files.map(|file| file.path()).find(|path| path.file_name().is_some_and(|name| name == "metadata.json.lock"))
    });
    let lock = std::fs::File::open(lock.expect("the lock of the session")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let locked = scene.fails("LOCKED", "zipfs_read", json!({"path": "a.txt"}));
    assert!(locked.contains("is locked"), "{locked}");
    drop(lock);
    // The archive is changed, gone, and its directory no directory any more.
    let sample = std::fs::read(inbox("sample.zip")).unwrap();
    let write = |text: &str| scene.call("zipfs_write", json!({"path": "new.txt", "content": text}));
    write("one");
    std::fs::write(inbox("sample.zip"), zip(&[("other.txt", "of somebody else")])).unwrap();
    scene.fails("CONFLICT_DETECTED", "zipfs_sync", json!({}));
    std::fs::write(inbox("sample.zip"), b"no archive any more").unwrap();
    scene.fails("CONFLICT_DETECTED", "zipfs_sync", json!({}));
    std::fs::remove_file(inbox("sample.zip")).unwrap();
    assert_eq!(scene.call("zipfs_sync", json!({}))["result"]["isError"], true);
    std::fs::rename(scene.places.at("inbox"), scene.places.at("moved")).unwrap();
    assert_eq!(scene.call("zipfs_sync", json!({"force": true}))["result"]["isError"], true);
    assert_eq!(scene.call("zipfs_close", json!({"sync": true}))["result"]["isError"], true);
    scene.fails("ZIP_NOT_FOUND", "zipfs_open", json!({"path": "/in/sample.zip"}));
    scene.plain("GET /archives/work", b"");
    std::fs::write(scene.places.at("inbox"), b"no directory").unwrap();
    assert_eq!(scene.call("zipfs_sync", json!({"force": true}))["result"]["isError"], true);
    scene.fails("ZIP_NOT_FOUND", "zipfs_open", json!({"path": "/in/sample.zip"}));
    std::fs::remove_file(scene.places.at("inbox")).unwrap();
    std::fs::rename(scene.places.at("moved"), scene.places.at("inbox")).unwrap();
    std::fs::write(inbox("sample.zip"), sample).unwrap();
    // What was extracted is gone or something else.
    let contents: PathBuf = std::fs::read_dir(scene.service.data().join("workspaces"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.is_dir() && !path.file_name().unwrap().to_string_lossy().starts_with('.'))
        .unwrap();
    for name in ["baseline", "metadata.json", "contents", "original.zip"] {
        let (there, away) = (contents.join(name), contents.join("away"));
        if std::fs::rename(&there, &away).is_ok() {
            for tool in ["zipfs_status", "zipfs_ls", "zipfs_sync", "zipfs_sessions"] {
                scene.call(tool, json!({}));
            }
            std::fs::write(&there, b"damaged").unwrap();
            for tool in ["zipfs_status", "zipfs_ls", "zipfs_sync", "zipfs_sessions"] {
                scene.call(tool, json!({}));
            }
            std::fs::remove_file(&there).unwrap();
            std::fs::rename(&away, &there).unwrap();
        }
    }
    scene.call("zipfs_close", json!({"sync": false}));
    scene.call("zipfs_prune", json!({"all": true}));
    // Over the other way, up to what may be used and beyond it.
    let noise: String = (0..120_000u64).map(|n| format!("{:x}", n.wrapping_mul(6_364_136_223_846_793_005))).collect();
    for number in 0..8 {
        scene.plain(&format!("POST /archives?name=up{number}"), &zip(&[("a.txt", &noise[..400_000])]));
    }
    scene.call("zipfs_write", json!({"session": "up0", "path": "more", "content": noise}));
    for (line, body) in [
        ("POST /archives?name=x", b"no archive".to_vec()),
        ("POST /archives?file=../x", zip(&[("a", "a")])),
        ("POST /archives?name=../x", zip(&[("a", "a")])),
        ("GET /archives/up0", Vec::new()),
        ("GET /archives/absent", Vec::new()),
        ("GET /archives/", Vec::new()),
        ("DELETE /archives/up0", Vec::new()),
    ] {
        scene.plain(line, &body);
    }
    assert!(scene.heard() > 70, "{}", scene.heard());
}

#[test]
fn a_right_guess_is_answered_like_a_wrong_one() {
    let scene = Scene::set(json!({}), |_, _| {});
    let bearer = format!("Bearer {}", scene.token);
    // What the caller wrote comes back as it was: that one path is known here and the other is not must not show.
    let guesses = [scene.service.data().to_owned(), scene.places.at("inbox"), "/srv/nothing-like-it".into()];
    let answers: Vec<Vec<String>> = guesses
        .iter()
        .map(|guess| {
            let guess = guess.display().to_string();
            let agent = scene.service.agent(&scene.token);
            let mut all: Vec<String> = [
                agent.call("zipfs_open", json!({"path": format!("{guess}/sample.zip")})).0.to_string(),
                agent.call("zipfs_open", json!({"path": guess})).0.to_string(),
                agent.call("zipfs_open", json!({"path": format!("/in/x {guess}")})).0.to_string(),
                agent.call("zipfs_open", json!({"path": "/in/absent", "name": guess})).0.to_string(),
                agent.call("zipfs_read", json!({"path": "a.txt", "session": guess})).0.to_string(),
                agent.ask("resources/read", json!({"uri": format!("list://{guess}")})).text(),
            ]
            .into_iter()
            .collect();
            let line = format!("GET /archives{guess}");
            all.push(scene.service.send(&line, &[("authorization", &bearer)], b"").text());
            // Of an address the first slash is not part of the name.
            let plain = |text: String| text.replace(&guess, "GUESS").replace(guess.trim_start_matches('/'), "GUESS");
            all.into_iter().map(|text| without_ids(&plain(text))).collect()
        })
        .collect();
    assert_eq!(answers[0], answers[2]);
    assert_eq!(answers[1], answers[2]);
}

/// The number of the request is another each time.
fn without_ids(text: &str) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    if let Some(message) = value.as_object_mut() {
        message.remove("id");
    }
    value.to_string()
}

#[test]
fn plugins_and_the_host_itself_do_not_tell_where_they_are() {
    let tables = "[workspace]\naccess = \"write\"\n[[directory]]\nname = \"docs\"\nguest = \"/docs\"\naccess = \"read\"\n";
    let scene = Scene::set(json!({"audit": {"on_failure": "refuse"}}), |data, places| {
        let cli = crate::support::Zipfs(data);
        for guest in ["trap", "exit7", "showcase", "flood-log", "not-json"] {
            cli.ok(&["plugin", "add", "--yes", crate::support::guest(guest).to_str().unwrap()]);
        }
        let directory = format!("directory=docs:{}", places.at("granted").display());
        cli.ok(&["plugin", "add", "--yes", Plugin::of("places", tables).path().to_str().unwrap(), "--grant", &directory]);
        let root = format!("root={}", places.at("granted").display());
        let plugin = packed_plugin("rootspace");
        cli.ok(&["plugin", "add", plugin.to_str().unwrap(), "--yes", "--grant", "files", "--grant", &root]);
        let plugin = packed_plugin("fs");
        cli.ok(&["plugin", "add", plugin.to_str().unwrap(), "--yes", "--grant", &root]);
    });
    let rpc = |method: &str, path: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"path": path}}).to_string();
        scene.plain("POST /", body.as_bytes())
    };
    let everything = || {
        for (tool, arguments) in [
            ("trap", json!({})),
            ("exit7", json!({})),
            ("not_json", json!({})),
            ("places_read", json!({"path": "/docs/absent"})),
            ("places_list", json!({})),
            ("text_read", json!({"path": "absent.txt"})),
            ("text_read", json!({"path": "/etc/passwd"})),
            ("text_read", json!({"path": "../secret"})),
            ("file_create", json!({"path": "new/note.txt", "content": "x"})),
            ("file_remove", json!({"path": "absent", "hash": "0"})),
        ] {
            scene.call(tool, arguments);
        }
        for uri in ["list:///", "list:///absent", "list:///../x", "show://nothing"] {
            scene.ask("resources/read", json!({"uri": uri}));
        }
        for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list", "server/discover", "no/such"] {
            scene.ask(method, json!({}));
        }
        scene.ask("prompts/get", json!({"name": "absent"}));
        for (method, path) in [("fs.listDirectory", "/"), ("fs.readFile", "absent"), ("fs.readFile", "../x"), ("fs.none", "x")] {
            rpc(method, path);
        }
        for line in ["GET /", "GET /health", "GET /metrics", "GET /nothing", "GET /.well-known/oauth-protected-resource/mcp"] {
            scene.plain(line, b"");
        }
        scene.plain("POST /mcp/absent", b"{}");
        scene.plain("POST /archives", &zip(&[("a", "a")]));
    };
    everything();
    // Directories that were granted are gone, or are something else.
    std::fs::remove_dir_all(scene.places.at("granted")).unwrap();
    everything();
    let gone = scene.fails("GRANT_UNUSABLE", "text_read", json!({"path": "a.txt"}));
    assert!(gone.contains("(a granted directory)"), "{gone}");
    std::fs::write(scene.places.at("granted"), b"no directory").unwrap();
    everything();
    // What was granted cannot be read, then what plugins there are is something else.
    let data = scene.service.data().to_owned();
    let grants = std::fs::read(data.join("grants.toml")).unwrap();
    std::fs::write(data.join("grants.toml"), b"this is no list of grants").unwrap();
    everything();
    std::fs::write(data.join("grants.toml"), grants).unwrap();
    let plugins: Vec<PathBuf> = components(&data.join("plugins"));
    assert!(plugins.len() > 3, "{plugins:?}");
    for component in plugins {
        std::fs::write(component, b"\0asm damaged").unwrap();
    }
    let _ = std::fs::remove_dir_all(data.join("cache"));
    std::fs::write(data.join("cache"), b"no directory").unwrap();
    everything();
    // The log cannot be written, and nothing is done.
    std::fs::remove_dir_all(data.join("audit")).unwrap();
    std::fs::write(data.join("audit"), b"no directory").unwrap();
    everything();
    let refused = scene.fails("AUDIT_UNAVAILABLE", "zipfs_sessions", json!({}));
    assert!(refused.contains("(the server's audit log)") || refused.contains("(the server's data)"), "{refused}");
    std::fs::remove_file(data.join("audit")).unwrap();
    // Sessions have no place, then the whole data directory is gone.
    std::fs::rename(data.join("workspaces"), data.join("workspaces-away")).unwrap();
    std::fs::write(data.join("workspaces"), b"no directory").unwrap();
    everything();
    scene.call("zipfs_open", json!({"path": "/in/sample.zip"}));
    let away = data.with_extension("away");
    std::fs::rename(&data, &away).unwrap();
    scene.call("zipfs_open", json!({"path": "/in/sample.zip"}));
    everything();
    std::fs::rename(&away, &data).unwrap();
    assert!(scene.heard() > 200, "{}", scene.heard());
}

/// Every component below a directory.
fn components(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(components(&path)),
            path if path.extension().is_some_and(|extension| extension == "wasm") => found.push(path),
            _ => {}
        }
    }
    found
}
