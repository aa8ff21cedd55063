//! Every odd path, against every path argument of every tool: nothing outside the workspace is read, created or named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Archive, Server, Session};

/// What a path may come to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    /// It leads or could lead out.
    Refused,
    /// It is a name like any other, however odd.
    Literal,
    /// It cannot be a path.
    Invalid,
    /// It is the root.
    Root,
}
use Verdict::{Invalid, Literal, Refused, Root};

fn table() -> Vec<(String, Verdict)> {
    let long = |length: usize| "n".repeat(length);
    let fixed = [
        ("..", Refused),
        ("../x", Refused),
        ("a/../x", Refused),
        ("a/../../x", Refused),
        ("./../x", Refused),
        ("/x", Refused),
        ("//x", Refused),
        ("/", Root),
        (".", Root),
        ("./", Root),
        ("", Root),
        ("..\\x", Refused),
        ("a\\..\\b", Refused),
        ("C:x", Refused),
        ("C:\\x", Refused),
        ("\\\\srv\\x", Refused),
        ("\\\\?\\C:\\x", Refused),
        ("%2e%2e/x", Literal),
        ("..%2fx", Literal),
        ("..%5cx", Literal),
        ("%00", Literal),
        ("\u{ff0e}\u{ff0e}/x", Literal),
        ("\u{2025}/x", Literal),
        ("a\u{2215}b", Literal),
        ("a\u{ff0f}b", Literal),
        (".\u{200b}./x", Literal),
        ("x\0", Refused),
        ("a\0b", Refused),
        ("\0", Refused),
        ("a\nb", Refused),
        ("a\rb", Refused),
        ("a\u{1b}b", Refused),
        ("a\u{7f}b", Refused),
        ("con", Literal),
        ("nul.txt", Literal),
        ("trailing.", Literal),
        ("trailing ", Literal),
        ("..foo", Literal),
        ("...", Literal),
        ("a..b", Literal),
        ("~/x", Literal),
        ("$HOME/x", Literal),
        ("-rf", Literal),
        ("../other/contents/secret.txt", Refused),
        ("/proc/self/cwd", Refused),
        ("/proc/self/root/etc/passwd", Refused),
        ("/etc/passwd", Refused),
        ("e\u{301}", Literal),
        ("\u{e9}", Literal),
    ];
    let mut all: Vec<(String, Verdict)> = fixed.into_iter().map(|(path, verdict)| (path.to_owned(), verdict)).collect();
    all.extend([
        (long(255), Literal),
        (long(256), Invalid),
        (format!("{}/x", long(4095)), Invalid),
        (format!("{}x", "d/".repeat(3000)), Invalid),
        (format!("{}etc/passwd", "../".repeat(40)), Refused),
    ]);
    all
}

/// Everything below a directory, with contents.
fn snapshot(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                all.insert(entry.path(), std::fs::read(entry.path()).unwrap());
            } else {
                all.insert(entry.path(), b"special".to_vec());
            }
        }
    }
    all
}

/// Tools of the bundled plugin with a path argument, and the rest of their arguments.
const TOOLS: [(&str, &str); 7] = [
    ("zipfs_ls", "{}"),
    ("zipfs_tree", "{}"),
    ("zipfs_grep", r#"{"pattern": "."}"#),
    ("zipfs_diff", "{}"),
    ("zipfs_read", "{}"),
    ("zipfs_write", r#"{"content": "planted"}"#),
    ("zipfs_delete", r#"{"recursive": true}"#),
];

fn call(session: &Session, tool: &str, more: &str, path: &str) -> Value {
    let mut arguments: Value = serde_json::from_str(more).unwrap();
    arguments["path"] = json!(path);
    session.call(tool, arguments).0
}

#[test]
fn every_path_argument_is_in_the_table() {
    let server = Server::start();
    let tools = server.request("tools/list", json!({}))["result"]["tools"].clone();
    for tool in tools.as_array().unwrap() {
        let properties = tool["inputSchema"]["properties"].as_object().cloned().unwrap_or_default();
        let marked: Vec<&String> =
            properties.iter().filter(|(_, schema)| schema.get("x-zipfs-path").is_some()).map(|(name, _)| name).collect();
        let name = tool["name"].as_str().unwrap();
        let tested = TOOLS.iter().any(|(tested, _)| *tested == name);
        assert_eq!(marked.len(), usize::from(tested), "{name} has path arguments {marked:?}");
    }
}

#[test]
fn no_path_leads_out() {
    let server = Server::start();
    let other = Archive::of(&[("secret.txt", "TOP SECRET")]);
    server.call("zipfs_open", json!({"path": other.path(), "name": "other"})).value();
    let archive = Archive::of(&[("a.txt", "1"), ("d/b.txt", "2")]);
    let opened = server.call("zipfs_open", json!({"path": archive.path(), "name": "ws"})).value();
    let session = Session { server: &server, id: "ws".into(), path: opened["workspace_path"].as_str().unwrap().into() };
    let outside = || {
        let mut all = snapshot(server.data());
        all.retain(|path, _| {
            // The host's own accounts, of disk, of what it has compared, and of what was called.
            let own = ["usage", ".usage", "baseline"];
            !path.starts_with(&session.path)
                && !path.starts_with(server.data().join("audit"))
                && path.file_name().is_none_or(|name| own.iter().all(|own| name != *own))
        });
        all.extend(snapshot(archive.dir()));
        all
    };
    let before = outside();
    for (path, verdict) in table() {
        for (tool, more) in TOOLS {
            let answer = call(&session, tool, more, &path);
            let shown: String = path.chars().take(40).collect();
            let text = answer.to_string();
            assert!(!text.contains("TOP SECRET") && !text.contains("root:"), "{tool} {shown:?} read what is outside: {text}");
            let code = answer["result"]["structuredContent"]["error"]["code"].as_str().unwrap_or_default().to_owned();
            match verdict {
                Refused => assert_eq!(code, "PATH_TRAVERSAL", "{tool} {shown:?}: {text}"),
                Invalid => assert_eq!(code, "INVALID_PARAMS", "{tool} {shown:?}: {text}"),
                Literal if tool == "zipfs_write" => assert_eq!(code, "", "{tool} {shown:?}: {text}"),
                // Written by the line above it, or not there.
                Literal => assert!(code.is_empty() || code == "PATH_NOT_FOUND", "{tool} {shown:?}: {text}"),
                Root if ["zipfs_ls", "zipfs_tree", "zipfs_grep", "zipfs_diff"].contains(&tool) => {
                    assert_eq!(code, "", "{tool} {shown:?}: {text}")
                }
                Root => assert!(!code.is_empty(), "{tool} {shown:?} took the root: {text}"),
            }
            if verdict == Literal && tool == "zipfs_write" {
                let written = session.path.join(&path);
                assert_eq!(std::fs::read(&written).ok().as_deref(), Some(&b"planted"[..]), "{shown:?} is not where its name says");
            }
        }
    }
    assert_eq!(before, outside(), "something outside the workspace changed");
}

#[test]
fn links_in_a_workspace_do_not_lead_out() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.txt"), "TOP SECRET").unwrap();
    let links = [
        ("file", outside.path().join("secret.txt")),
        ("dir", outside.path().to_owned()),
        ("up", "..".into()),
        ("dangling", outside.path().join("new")),
    ];
    for (name, target) in &links {
        std::os::unix::fs::symlink(target, session.path.join(name)).unwrap();
    }
    for path in ["file", "dir", "dir/secret.txt", "dir/new.txt", "up", "up/metadata.json", "dangling"] {
        for (tool, more) in TOOLS {
            let text = call(&session, tool, more, path).to_string();
            assert!(!text.contains("TOP SECRET") && !text.contains("zip_hash"), "{tool} {path} followed a link: {text}");
            // Deleting or replacing the link itself is fine; put it back for the next tool.
            for (name, target) in &links {
                let _ = std::fs::remove_file(session.path.join(name));
                let _ = std::os::unix::fs::symlink(target, session.path.join(name));
            }
        }
    }
    session.call("zipfs_status", json!({})).value();
    session.call("zipfs_close", json!({})).value();
    assert_eq!(std::fs::read_to_string(outside.path().join("secret.txt")).unwrap(), "TOP SECRET");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn a_path_through_a_file_and_a_slash_behind_one() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    for tool in ["zipfs_ls", "zipfs_read"] {
        let (code, _) = session.call(tool, json!({"path": "a.txt/x"})).failure();
        assert!(code == "PATH_NOT_FOUND" || code == "INVALID_PARAMS", "{tool}: {code}");
    }
    session.call("zipfs_write", json!({"path": "a.txt/x", "content": ""})).fails("INVALID_PARAMS");
    assert_eq!(std::fs::read_to_string(session.path.join("a.txt")).unwrap(), "1");
}
