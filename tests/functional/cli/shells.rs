//! Completion in real shells.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::support::{Archive, Terminal, Zipfs, have};

/// A place with two sessions, and a shell's environment that finds zipfs.
struct Desk {
    data: tempfile::TempDir,
    _archives: [Archive; 2],
}

impl Desk {
    fn new() -> Desk {
        let data = tempfile::tempdir().unwrap();
        let report = Archive::of(&[
            ("docs/intro.md", "the introduction\n"),
            ("docs/deep/more.txt", "more\n"),
            ("docs/a b $(touch pwned).txt", "spaced\n"),
            ("README.md", "read me\n"),
        ]);
        let other = Archive::of(&[("docs/other.md", "other\n")]);
        let zipfs = Zipfs(data.path());
        zipfs.ok(&["open", report.path().to_str().unwrap(), "--name", "report"]);
        zipfs.ok(&["open", other.path().to_str().unwrap(), "--name", "other"]);
        std::fs::write(data.path().join("local-file.zip"), "").unwrap();
        Desk { data, _archives: [report, other] }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let binaries = Path::new(env!("CARGO_BIN_EXE_zipfs")).parent().unwrap();
        let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
        command.env("PATH", path).env("ZIPFS_DATA_DIR", self.data.path()).env("HOME", self.data.path()).env("PS1", "ready> ");
        command.current_dir(self.data.path());
        command
    }

    fn proposals(&self, words: &[&str]) -> Vec<String> {
        let listed = Zipfs(self.data.path()).ok(&[&["complete", "--"], words].concat());
        listed.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect()
    }
}

#[test]
fn proposals() {
    let desk = Desk::new();
    let is = |words: &[&str], expected: &[&str]| assert_eq!(desk.proposals(words), expected, "{words:?}");
    is(&["sta"], &["status"]);
    is(&["ls", ""], &["other", "report"]);
    is(&["close", "rep"], &["report"]);
    is(&["ls", "report", ""], &["README.md", "docs/"]);
    is(&["ls", "report", "docs/d"], &["docs/deep/"]);
    is(&["ls", "-l", "report", "docs/deep/"], &["docs/deep/more.txt"]);
    is(&["read", "rep"], &["report:"]);
    is(&["read", "report:docs/in"], &["report:docs/intro.md"]);
    is(&["grep", "pattern", "report", "R"], &["README.md"]);
    is(&["grep", "pattern", "o"], &["other"]);
    is(&["read", "nobody:"], &[]);
    is(&["read", "report:../"], &[]);
    is(&["tree", "--max"], &["--max-depth"]);
    is(&["completion", ""], &["bash", "zsh", "fish"]);
    is(&["call", "zipfs_se"], &["zipfs_sessions"]);
    is(&["plugin", "rem"], &["remove"]);
    assert_eq!(Zipfs(desk.data.path()).run(&["complete", "--", "open", ""]).status.code(), Some(10), "files are for the shell");
    Zipfs(desk.data.path()).ok(&["close", "other"]);
    is(&["read", ""], &["report:", "README.md", "docs/"]);
    is(&["ls", ""], &["report", "README.md", "docs/"]);
}

#[test]
fn a_look_at_sessions_makes_nothing_and_is_quick() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    assert_eq!(zipfs.ok(&["complete", "--", "ls", ""]), "");
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0, "no directory was made, and no guest was run to be described");
    let desk = Desk::new();
    let quickest = (0..10).map(|_| {
        let began = Instant::now();
        assert_eq!(desk.proposals(&["close", ""]), ["other", "report"]);
        began.elapsed()
    });
    // It takes four milliseconds on a quiet machine; a guest that is compiled takes a second.
    let quickest = quickest.min().unwrap();
    assert!(quickest.as_millis() < 50, "{quickest:?}");
}

/// Types a line with a Tab in it and waits for what the completed command prints.
#[track_caller]
fn completes(terminal: &mut Terminal, keys: &str, printed: &str) {
    // A shell works out a completion before it takes the next key.
    terminal.type_keys(&format!("{keys}\r"));
    terminal.wait_for(printed);
}

/// Tries a shell at a terminal: `program` begins it, `load` brings the completions in, and `more` is what only it can do.
fn at_a_terminal(shell: &str, program: &str, load: &str, more: &[(&str, &str)]) {
    if !have(shell, "completion works in it") {
        return;
    }
    let desk = Desk::new();
    let Some(mut terminal) = Terminal::start(&desk.command(shell), program) else { return };
    terminal.wait_for("ready> ");
    terminal.type_keys(&format!("{load} echo lo''aded\r"));
    terminal.wait_for("loaded");
    let common = [
        ("zipfs pat\trep\t", "workspaces/report/contents"),
        ("zipfs read report docs/in\t", "the introduction"),
        ("zipfs read rep\tdocs/in\t", "the introduction"),
        ("zipfs read report:docs/de\tmo\t", "more"),
        ("zipfs read report:docs/a\t", "spaced"),
        ("zipfs open local-f\t --name 'a b'", "INVALID_PARAMS"),
    ];
    for (keys, printed) in common.iter().chain(more) {
        completes(&mut terminal, keys, printed);
    }
    terminal.type_keys("exit\r");
    terminal.end();
    assert!(!desk.data.path().join("pwned").exists(), "a file name was run as a command");
}

#[test]
fn bash() {
    let load = "source <(zipfs completion bash); bind 'set enable-bracketed-paste off';";
    at_a_terminal("bash", "bash --norc --noprofile -i", load, &[("zipfs read report docs/a\\ b\t", "spaced")]);
}

#[test]
fn zsh() {
    let load = "autoload -Uz compinit && compinit -u -D && source <(zipfs completion zsh) &&";
    at_a_terminal("zsh", "zsh -f -i", load, &[]);
}

#[test]
fn fish() {
    if !have("fish", "completion works in it") {
        return;
    }
    let desk = Desk::new();
    let complete = |line: &str| {
        let script = format!("zipfs completion fish | source; complete --do-complete '{line}'");
        let output = desk.command("fish").args(["--no-config", "-c", &script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete("zipfs close re"), ["report"]);
    assert_eq!(complete("zipfs ls report docs/d"), ["docs/deep/"]);
    assert_eq!(complete("zipfs read report:docs/in"), ["report:docs/intro.md"]);
    assert_eq!(complete("zipfs read report docs/a\\ b"), ["docs/a b $(touch pwned).txt"]);
    assert_eq!(complete("zipfs sta"), ["status"]);
    assert!(complete("zipfs open loc").contains(&"local-file.zip".to_owned()));
    assert!(!desk.data.path().join("pwned").exists(), "a file name was run as a command");
}
