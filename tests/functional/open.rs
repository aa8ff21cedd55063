//! `zipfs_open`: archives become sessions, or leave nothing.

use serde_json::json;

use crate::support::{Archive, Server, zip};

#[test]
fn open_extracts_and_reports() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "hello"), ("d/b.txt", "world!"), ("empty/", "")]);
    let opened = server.call("zipfs_open", json!({"path": archive.path(), "name": "first"})).value();
    assert_eq!(opened["name"], "first");
    assert_eq!(opened["file_count"], 2);
    assert_eq!(opened["extracted_size_bytes"], 11);
    assert_eq!(opened["warnings"], json!([]));
    assert_eq!(opened["skipped_symlinks"], json!([]));
    assert_eq!(opened["session_id"].as_str().unwrap().len(), 36);
    let contents = std::path::PathBuf::from(opened["workspace_path"].as_str().unwrap());
    assert_eq!(contents, server.data().join("workspaces/first/contents"));
    assert_eq!(std::fs::read_to_string(contents.join("d/b.txt")).unwrap(), "world!");
    assert!(contents.join("empty").is_dir());
    assert_eq!(std::fs::read(contents.parent().unwrap().join("original.zip")).unwrap(), std::fs::read(archive.path()).unwrap());
}

#[test]
fn what_cannot_be_opened_says_why_and_leaves_nothing() {
    let server = Server::start();
    let archive = Archive::new("not.zip", b"this is no archive");
    let link = archive.dir().join("link.zip");
    std::os::unix::fs::symlink(archive.path(), &link).unwrap();
    let fifo = archive.dir().join("pipe.zip");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0).unwrap();
    let open = |path: &std::path::Path| server.call("zipfs_open", json!({"path": path}));
    open(archive.path()).fails("ZIP_INVALID");
    open(&archive.dir().join("missing.zip")).fails("ZIP_NOT_FOUND");
    open(archive.dir()).fails("ZIP_NOT_FOUND");
    open(&link).fails("ZIP_NOT_FOUND");
    open(&fifo).fails("ZIP_NOT_FOUND");
    open("sample.zip".as_ref()).fails("INVALID_PARAMS");
    let slip = Archive::of(&[("ok.txt", "1"), ("../evil.txt", "2")]);
    open(slip.path()).fails("PATH_TRAVERSAL");
    assert_eq!(leftovers(&server), Vec::<String>::new());
}

#[test]
fn an_archive_that_may_not_be_read_is_not_found() {
    if rustix::process::geteuid().is_root() {
        crate::support::skipped("root may read everything, so nothing shows what happens to those who may not");
        return;
    }
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1")]);
    std::fs::set_permissions(archive.path(), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let message = server.call("zipfs_open", json!({"path": archive.path()})).fails("ZIP_NOT_FOUND");
    assert!(message.contains("may not be read"), "{message}");
}

#[test]
fn a_bomb_is_named_with_its_limit() {
    let server =
        Server::with(json!({"security": {"max_file_count": 3, "max_extracted_size_bytes": 1000, "max_compression_ratio": 50}}));
    let open = |files: &[(&str, &str)]| {
        let archive = Archive::of(files);
        server.call("zipfs_open", json!({"path": archive.path()}))
    };
    let many = open(&[("a", ""), ("b", ""), ("c", ""), ("d", "")]).fails("ZIP_BOMB_DETECTED");
    assert!(many.contains("max_file_count"), "{many}");
    let large: String = (0..1500u32).map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26)).collect();
    let large = open(&[("a", &large)]).fails("ZIP_BOMB_DETECTED");
    assert!(large.contains("max_extracted_size_bytes"), "{large}");
    let ratio = open(&[("a", &" ".repeat(900))]).fails("ZIP_BOMB_DETECTED");
    assert!(ratio.contains("max_compression_ratio"), "{ratio}");
    assert_eq!(leftovers(&server), Vec::<String>::new());
}

#[test]
fn a_damaged_entry_undoes_the_whole_open() {
    let server = Server::start();
    let mut bytes = zip(&[("a.txt", "the first file is fine"), ("b.txt", "and this one will be damaged")]);
    let needle = b"b.txt";
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap() + needle.len() + 3;
    bytes[at] ^= 0xff;
    let archive = Archive::new("damaged.zip", &bytes);
    server.call("zipfs_open", json!({"path": archive.path()})).fails("ZIP_INVALID");
    assert_eq!(leftovers(&server), Vec::<String>::new());
}

#[test]
fn sessions_are_limited_in_number_and_name() {
    let server = Server::with(json!({"security": {"max_sessions": 2}}));
    let archive = Archive::of(&[("a.txt", "1")]);
    let open = |name: &str| server.call("zipfs_open", json!({"path": archive.path(), "name": name}));
    open("one").value();
    open("one").fails("NAME_COLLISION");
    for bad in ["deadbeef", "a b", "../x", ".hidden", "ü"] {
        open(bad).fails("INVALID_PARAMS");
    }
    open("two").value();
    open("three").fails("LIMIT_EXCEEDED");
}

#[test]
fn all_sessions_together_have_a_limit() {
    let server = Server::with(json!({"security": {"max_total_disk_bytes": 4000}}));
    let text = "x".repeat(50) + &"incompressible-enough ".repeat(60);
    let archive = Archive::of(&[("a.txt", &text)]);
    let first = server.open(&archive);
    server.call("zipfs_open", json!({"path": archive.path()})).value();
    server.call("zipfs_open", json!({"path": archive.path()})).fails("LIMIT_EXCEEDED");
    first.call("zipfs_close", json!({})).value();
    server.call("zipfs_open", json!({"path": archive.path()})).value();
}

#[test]
fn modes_are_kept_within_bounds() {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, mode) in [("plain", 0o644), ("script", 0o777), ("suid", 0o4755), ("none", 0)] {
        writer.start_file(name, zip::write::SimpleFileOptions::default().unix_permissions(mode)).unwrap();
        writer.write_all(b"x").unwrap();
    }
    let archive = Archive::new("modes.zip", &writer.finish().unwrap().into_inner());
    let server = Server::start();
    let session = server.open(&archive);
    let mode = |name: &str| std::fs::metadata(session.path.join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("plain"), mode("script"), mode("suid"), mode("none")), (0o644, 0o755, 0o755, 0o600));
}

#[test]
fn thousands_of_files_come_out_whole_and_progress_is_reported() {
    let server = Server::start();
    let names: Vec<(String, String)> =
        (0..3000).map(|n| (format!("d{}/f{n}.txt", n % 37), format!("contents of {n}\n").repeat(n % 50))).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    // Directories are entries too, and no files.
    files.push(("empty/", ""));
    let archive = Archive::of(&files);
    let id = server
        .begin("tools/call", json!({"name": "zipfs_open", "arguments": {"path": archive.path()}, "_meta": {"progressToken": "t"}}));
    let answer = server.answer(id);
    let opened = &answer["result"]["structuredContent"];
    assert_eq!(opened["file_count"], 3000, "{answer}");
    let contents = std::path::PathBuf::from(opened["workspace_path"].as_str().unwrap());
    for (name, text) in &names {
        assert_eq!(&std::fs::read_to_string(contents.join(name)).unwrap(), text, "{name}");
    }
    let progress: Vec<f64> = server
        .others()
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| message["params"]["progress"].as_f64().unwrap())
        .collect();
    assert!(!progress.is_empty() && progress.is_sorted(), "{progress:?}");
    assert_eq!(progress.last(), Some(&3000.0));
    assert!(
        server.others().iter().all(|message| message["method"] != "notifications/progress" || message["params"]["total"] == 3000.0)
    );
}

#[test]
fn a_file_without_an_end_is_not_copied_for_ever() {
    let server = Server::start();
    for endless in ["/proc/self/pagemap", "/proc/self/mem", "/dev/zero"] {
        let (code, _) = server.call("zipfs_open", json!({"path": endless})).failure();
        assert!(["ZIP_NOT_FOUND", "ZIP_INVALID", "INTERNAL_ERROR"].contains(&code.as_str()), "{endless}: {code}");
    }
    assert_eq!(leftovers(&server), Vec::<String>::new());
}

#[test]
fn directories_that_no_entry_mentions_are_counted() {
    let server = Server::with(json!({"security": {"max_file_count": 50}}));
    let names: Vec<String> = (0..10).map(|n| format!("{n}/{}f", "d/".repeat(20))).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let archive = Archive::of(&files);
    let message = server.call("zipfs_open", json!({"path": archive.path()})).fails("ZIP_BOMB_DETECTED");
    assert!(message.contains("max_file_count"), "{message}");
    assert_eq!(leftovers(&server), Vec::<String>::new());
}

#[test]
fn many_directories_need_few_descriptors() {
    let names: Vec<String> = (0..3000).map(|n| format!("d{n}/f.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let archive = Archive::of(&files);
    let server = Server::start();
    let pid = rustix::process::Pid::from_raw(server.process().0 as i32).unwrap();
    let few = rustix::process::Rlimit { current: Some(300), maximum: Some(300) };
    rustix::process::prlimit(Some(pid), rustix::process::Resource::Nofile, few).unwrap();
    let session = server.open(&archive);
    session.call("zipfs_status", json!({})).is(json!({"modified": [], "added": [], "deleted": [], "unchanged_count": 3000}));
    session.call("zipfs_close", json!({})).value();
}

#[test]
fn processes_that_open_at_once_do_not_disturb_each_other() {
    let data = tempfile::tempdir().unwrap();
    let archive = Archive::of(&[("a.txt", "1"), ("d/b.txt", "2")]);
    let path = format!("path={}", archive.path().display());
    let opening: Vec<_> = (0..16)
        .map(|_| crate::support::Zipfs(data.path()).command().args(["call", "zipfs_open", "--arg", &path]).output_later())
        .collect();
    for child in opening {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Starts a command whose output is read later.
trait OutputLater {
    fn output_later(&mut self) -> std::process::Child;
}

impl OutputLater for std::process::Command {
    fn output_later(&mut self) -> std::process::Child {
        self.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    }
}

/// Names in the directory of sessions, without the host's own files.
fn leftovers(server: &Server) -> Vec<String> {
    let entries = std::fs::read_dir(server.data().join("workspaces")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != ".usage" && name != ".publish").collect()
}
