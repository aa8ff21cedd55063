//! Commands and what they print, as data: each file of `transcripts/` is a session at a shell. `UPDATE=1` writes them anew.
//!
//! ```text
//! # a remark
//! $ zipfs read nope          what is typed, for `sh`
//! > text                     standard output
//! ! error: …                 standard error
//! = 1                        exit code, if it is not 0
//! ```
//!
//! Ids, times and paths of the run are replaced by words in angle brackets.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Zipfs, zip};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").join("tests/functional/cli/transcripts")
}

fn transcripts() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder()).expect("the folder").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

#[test]
fn transcripts_are_as_recorded() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    for file in transcripts() {
        let recorded = std::fs::read_to_string(&file).expect("a transcript");
        let replayed = replay(&recorded);
        if replayed == recorded {
            continue;
        }
        if update {
            std::fs::write(&file, replayed).expect("the transcript can be written");
        } else {
            let name = file.file_name().unwrap_or_default().display().to_string();
            wrong.push(format!("{name}: {}", first_difference(&recorded, &replayed)));
        }
    }
    assert!(wrong.is_empty(), "{}\nIf this is right: UPDATE=1", wrong.join("\n"));
}

/// A command without a transcript is a command that nobody tested.
#[test]
fn every_command_has_a_transcript() {
    let all: String = transcripts().iter().map(|file| std::fs::read_to_string(file).expect("a transcript")).collect();
    let typed: BTreeSet<&str> = all
        .lines()
        .filter(|line| line.starts_with("$ "))
        .flat_map(|line| line.split("zipfs ").skip(1))
        .filter_map(|rest| rest.split_whitespace().find(|word| !word.starts_with('-')))
        .collect();
    let data = tempfile::tempdir().unwrap();
    let commands = Zipfs(data.path()).ok(&["complete", "--", ""]);
    // Servers and shows have tests of their own.
    for command in
        commands.lines().filter_map(|line| line.split('\t').next()).filter(|name| !["mcp", "demo", "serve"].contains(name))
    {
        assert!(typed.contains(command), "no transcript types `zipfs {command}`");
    }
}

fn replay(recorded: &str) -> String {
    let place = Place::make();
    let mut text = String::new();
    for line in recorded.lines() {
        if let Some(typed) = line.strip_prefix("$ ") {
            text += &format!("{line}\n{}", place.run(typed));
        } else if line.is_empty() || line.starts_with('#') {
            text += &format!("{line}\n");
        }
    }
    text
}

fn first_difference(recorded: &str, replayed: &str) -> String {
    let mut typed = "";
    let mut replayed = replayed.lines();
    for line in recorded.lines() {
        let now = replayed.next().unwrap_or("(nothing)");
        if line != now {
            return format!("{typed}\n  recorded: {line}\n  now:      {now}");
        }
        if line.starts_with('$') {
            typed = line;
        }
    }
    format!("{typed}\n  recorded: (nothing)\n  now:      {}", replayed.next().unwrap_or("(nothing)"))
}

/// A directory with archives to work on, and a data directory.
struct Place(tempfile::TempDir);

impl Place {
    fn make() -> Place {
        let place = tempfile::Builder::new().prefix("transcript-").tempdir().expect("a directory");
        let put = |name: &str, bytes: &[u8]| std::fs::write(place.path().join(name), bytes).expect("an archive");
        let sample = [
            ("README.md", "# Sample\n\nTotal: 3\n"),
            ("docs/intro.md", "Hello, world.\nTotal: 40\n"),
            ("docs/deep/more.txt", "more\n"),
            ("empty/", ""),
            ("with space.txt", "spaced\n"),
        ];
        put("sample.zip", &zip(&sample));
        put("other.zip", &zip(&[("docs/other.md", "other\n"), ("note:1.txt", "colon\n")]));
        put("evil.zip", &zip(&[("ok.txt", ""), ("../evil.txt", "outside\n")]));
        put("bomb.zip", &zip(&[("zeros", &"0".repeat(200_000))]));
        put("broken.zip", b"this is no archive");
        put("picture.bin", &[0x89, b'P', b'N', b'G', 0, 255, 254]);
        Place(place)
    }

    fn run(&self, typed: &str) -> String {
        let binary = Path::new(env!("CARGO_BIN_EXE_zipfs"));
        let path = format!("{}:{}", binary.parent().expect("a directory").display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-c", typed]).current_dir(self.0.path()).env_clear().env("PATH", path);
        shell.env("ZIPFS_DATA_DIR", self.0.path().join("data")).stdin(std::process::Stdio::null());
        let output = shell.output().expect("sh can be run");
        let mut text = self.stream("> ", &output.stdout) + &self.stream("! ", &output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(code) => text += &format!("= {code}\n"),
            None => text += "= killed\n",
        }
        text
    }

    fn stream(&self, mark: &str, bytes: &[u8]) -> String {
        if bytes.is_empty() {
            return String::new();
        }
        let text = self.normal(&String::from_utf8_lossy(bytes));
        let mut marked = Vec::new();
        for line in text.lines() {
            writeln!(marked, "{}", format!("{mark}{line}").trim_end()).expect("memory");
        }
        let ended = if text.ends_with('\n') { "" } else { "  (no newline)\n" };
        String::from_utf8(marked).expect("text") + ended
    }

    /// The same on every run and every machine.
    fn normal(&self, text: &str) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let binary = env!("CARGO_BIN_EXE_zipfs");
        let here = self.0.path().canonicalize().expect("the directory");
        let text = text.replace(binary, "<ZIPFS>").replace(&here.display().to_string(), "<DIR>");
        let text = text.replace(&format!("zipfs {version}"), "zipfs <VERSION>").replace(&format!("\"{version}\""), "\"<VERSION>\"");
        let mut normal = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            let follows_a_digit = normal.ends_with(|c: char| c.is_ascii_alphanumeric());
            let (word, skip) = match shape(rest).filter(|_| !follows_a_digit) {
                Some((word, length)) => (word.to_owned(), length),
                None => (c.to_string(), c.len_utf8()),
            };
            normal += &word;
            rest = &rest[skip..];
        }
        normal
    }
}

/// What looks like an id, the beginning of one in a column, or a time.
fn shape(text: &str) -> Option<(&'static str, usize)> {
    const SHAPES: [(&str, &str); 3] =
        [("<ID>", "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"), ("<TIME>", "dddd-dd-ddTdd:dd:ddZ"), ("<ID8>   ", "xxxxxxxx  ")];
    let fits = |pattern: &str| {
        text.len() >= pattern.len()
            && text.bytes().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
                b'x' => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
                b'd' => byte.is_ascii_digit(),
                exact => byte == exact,
            })
    };
    SHAPES.iter().find(|(_, pattern)| fits(pattern)).map(|(word, pattern)| (*word, pattern.len()))
}
