//! Programs of others, which judge what we wrote. One that is missing is said loudly and not held against us.

use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Whether a program can be run. If not, what is skipped is said on standard error.
pub fn have(program: &str, for_what: &str) -> bool {
    let found = Command::new(program).arg("--help").output().is_ok();
    if !found {
        skipped(&format!("there is no `{program}` here, so nothing shows that {for_what}"));
    }
    found
}

/// Standard output of a program that must succeed.
#[track_caller]
pub fn run(program: &str, arguments: &[&str], directory: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(directory).env("TZ", "UTC").output().expect("it can be run");
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a script of Python prints, as JSON.
#[track_caller]
pub fn python(script: &str, arguments: &[&str]) -> serde_json::Value {
    let arguments: Vec<&str> = ["-c", script].iter().chain(arguments).copied().collect();
    let printed = run("python3", &arguments, Path::new("/"));
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

/// Says that something is not tested, and why. Past the test runner, which shows only what failing tests print.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}
