//! Writing to the terminal: results to standard output, failures to standard error.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::Value;

use crate::failure::{Failure, Shape};

/// Writes text. A reader that has seen enough (`zipfs tools | head -1`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::internal(format!("Standard output cannot be written: {error}.")))
        }
        _ => Ok(()),
    }
}

pub fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Says what went wrong, in the form that was asked for, and picks the exit code.
pub fn fail(failure: &Failure, json: bool) -> ExitCode {
    let mut err = io::stderr().lock();
    let _ = match json {
        true => writeln!(err, "{}", failure.render(Shape::Nested)),
        false => writeln!(err, "error: {failure}"),
    };
    ExitCode::from(failure.exit_code())
}
