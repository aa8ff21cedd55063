//! The command line.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the built binary on a data directory.
pub struct Zipfs<'a>(pub &'a Path);

impl Zipfs<'_> {
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zipfs"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("ZIPFS_DATA_DIR", self.0)
            .env("NO_COLOR", "1");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().expect("zipfs can be run")
    }

    /// Standard output of a command that must succeed.
    #[track_caller]
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "zipfs {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Standard error of a command that must fail with this code.
    #[track_caller]
    pub fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "zipfs {arguments:?}: {text}");
        text
    }
}
