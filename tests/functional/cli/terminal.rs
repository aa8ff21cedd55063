//! What is different at a terminal: questions, colours, progress, and control characters that are not obeyed.

use std::io::Write;
use std::process::Command;

use crate::support::{Archive, Server, Terminal, Zipfs};

/// A command as a person has it: in colour, unless they object.
fn at_home(zipfs: &Zipfs<'_>) -> Command {
    let mut command = zipfs.command();
    command.env_remove("NO_COLOR");
    command
}

const BINARY: &str = env!("CARGO_BIN_EXE_zipfs");

#[test]
fn closing_with_changes_asks() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let archive = Archive::of(&[("a.txt", "old")]);
    let path = archive.path().to_str().unwrap();
    for (answer, code, is_open, contents) in
        [("c\r", 1, true, "old"), ("\r", 1, true, "old"), ("n\r", 0, false, "old"), ("y\r", 0, false, "new")]
    {
        if !zipfs.ok(&["sessions", "-q"]).contains("report") {
            zipfs.ok(&["open", path, "--name", "report"]);
        }
        zipfs.ok(&["write", "a.txt", "--content", "new"]);
        let Some(mut terminal) = Terminal::start(&at_home(&zipfs), &format!("exec {BINARY} close report")) else { return };
        terminal.wait_for("a.txt");
        terminal.wait_for("[c]ancel: ");
        terminal.type_keys(answer);
        let (ended, screen) = terminal.end();
        assert_eq!(ended, code, "{answer:?}: {screen}");
        assert_eq!(zipfs.ok(&["sessions", "-q"]).contains("report"), is_open, "{answer:?}");
        assert_eq!(archive.read()["a.txt"], contents.as_bytes(), "{answer:?}");
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_want_them() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let archive = Archive::of(&[("docs/a.txt", "")]);
    zipfs.ok(&["open", archive.path().to_str().unwrap(), "--name", "report"]);
    zipfs.ok(&["write", "b.txt", "--content", "needle"]);
    for line in ["ls", "status", "grep needle", "ls nope"] {
        let line = format!("exec {BINARY} {line}");
        let Some(terminal) = Terminal::start(&at_home(&zipfs), &line) else { return };
        assert!(terminal.end().1.contains("\x1b["), "{line} has no colour at a terminal");
        let mut plain = at_home(&zipfs);
        plain.env("NO_COLOR", "1");
        let (_, screen) = Terminal::start(&plain, &line).expect("as before").end();
        assert!(!screen.contains('\x1b'), "{line} has colour against NO_COLOR: {screen:?}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).env_clear().env("ZIPFS_DATA_DIR", data.path());
        let output = shell.output().unwrap();
        let both = [output.stdout, output.stderr].concat();
        assert!(!both.contains(&0x1b), "{line} has colour in a pipe");
    }
}

#[test]
fn a_path_ends_its_line_only_at_a_terminal() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let archive = Archive::of(&[("a.txt", "")]);
    zipfs.ok(&["open", archive.path().to_str().unwrap(), "--name", "report"]);
    let path = data.path().join("workspaces/report/contents");
    assert_eq!(zipfs.ok(&["path"]), path.display().to_string());
    let Some(terminal) = Terminal::start(&at_home(&zipfs), &format!("exec {BINARY} path")) else { return };
    assert_eq!(terminal.end().1, format!("{}\r\n", path.display()));
}

#[test]
fn opening_and_syncing_show_how_far_they_are() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let text: String = (0..200_000).map(|number: u32| format!("{:08x}", number.wrapping_mul(2_654_435_761))).collect();
    let names: Vec<String> = (0..16).map(|number| format!("{number}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    let archive = Archive::of(&files);
    let open = format!("exec {BINARY} open {} --name report", archive.path().display());
    let Some(terminal) = Terminal::start(&at_home(&zipfs), &open) else { return };
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("Opening"), "{screen:?}");
    for name in &names {
        std::fs::write(data.path().join("workspaces/report/contents").join(name), &text[8..]).unwrap();
    }
    let (code, screen) = Terminal::start(&at_home(&zipfs), &format!("exec {BINARY} sync")).expect("as before").end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("Syncing") && screen.contains("16 modified"), "{screen:?}");
    // Nobody watches: nothing is drawn.
    zipfs.ok(&["close", "--no-sync"]);
    let output = zipfs.run(&["open", archive.path().to_str().unwrap()]);
    assert!(output.status.success() && output.stderr.is_empty());
    zipfs.ok(&["close"]);
    let (_, screen) = Terminal::start(&at_home(&zipfs), &format!("{open} --quiet")).expect("as before").end();
    assert_eq!(screen, "report\r\n");
}

#[test]
fn control_characters_of_an_archive_are_shown_and_not_obeyed() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let hostile = "\x1b]0;pwned\x07needle\x1b[2J\n";
    let archive = Archive::of(&[("a.txt", hostile)]);
    zipfs.ok(&["open", archive.path().to_str().unwrap(), "--name", "report"]);
    let planted = data.path().join("workspaces/report/contents/\x1b[31mred.txt");
    std::fs::write(planted, "x").unwrap();
    for line in ["read a.txt", "grep needle", "ls", "tree", "status"] {
        let mut command = at_home(&zipfs);
        command.env("NO_COLOR", "1");
        let Some(terminal) = Terminal::start(&command, &format!("exec {BINARY} {line}")) else { return };
        let (_, screen) = terminal.end();
        assert!(!screen.contains('\x1b') && !screen.contains('\x07'), "{line}: {screen:?}");
    }
    // Programs get what is there.
    assert_eq!(zipfs.ok(&["read", "a.txt"]), hostile);
    assert!(zipfs.ok(&["grep", "needle"]).contains("\x1b]0;pwned\x07needle"));
}

#[test]
fn writing_at_a_terminal_wants_to_be_told_what() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let archive = Archive::of(&[("a.txt", "old")]);
    zipfs.ok(&["open", archive.path().to_str().unwrap()]);
    let Some(terminal) = Terminal::start(&at_home(&zipfs), &format!("exec {BINARY} write a.txt")) else { return };
    let (code, screen) = terminal.end();
    assert_eq!(code, 2, "{screen}");
    assert!(screen.contains("--content"), "{screen}");
    let mut terminal = Terminal::start(&at_home(&zipfs), &format!("exec {BINARY} write a.txt --stdin")).expect("as before");
    terminal.type_keys("typed\r\x04");
    terminal.wait_for("Wrote 6 bytes");
    assert_eq!(terminal.end().0, 0);
    assert_eq!(zipfs.ok(&["read", "a.txt"]), "typed\n");
}

#[test]
fn a_tool_can_ask_at_a_terminal() {
    let server = Server::start();
    server.add("showcase");
    let zipfs = server.cli();
    let refused = zipfs.fails(&["call", "show_ask"], 1);
    assert!(refused.contains("INPUT_REQUIRED") && refused.contains("terminal"), "{refused}");
    let Some(mut terminal) = Terminal::start(&at_home(&zipfs), &format!("exec {BINARY} call show_ask")) else { return };
    terminal.wait_for("Who are you?");
    terminal.wait_for("name");
    terminal.type_keys("Ada\r");
    let (code, screen) = terminal.end();
    assert!(code == 0 && screen.contains("Hello, Ada!"), "{code}: {screen}");
}

#[test]
fn an_interrupted_open_leaves_nothing_behind() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let mut large = std::fs::File::create(data.path().join("large.zip")).unwrap();
    let text: String = (0..1_500_000).map(|number: u32| format!("{:08x}", number.wrapping_mul(2_654_435_761))).collect();
    let names: Vec<String> = (0..6).map(|number| format!("{number}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    large.write_all(&crate::support::zip(&files)).unwrap();
    let open = format!("exec {BINARY} open {}", data.path().join("large.zip").display());
    let Some(mut terminal) = Terminal::start(&at_home(&zipfs), &open) else { return };
    terminal.wait_for("Opening");
    terminal.type_keys("\x03");
    let (code, screen) = terminal.end();
    assert!(code == 1 && screen.contains("CANCELLED"), "{code}: {screen:?}");
    let left: Vec<String> = std::fs::read_dir(data.path().join("workspaces"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(".opening-") || !name.starts_with('.'))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}
