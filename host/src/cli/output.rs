//! Writing to the terminal: results to standard output, failures and remarks to standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use anstyle::Style;
use serde_json::Value;

use crate::failure::{Failure, Shape};

/// Writes text. A reader that has seen enough (`zipfs tools | head -1`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes()).map(drop)
}

/// Writes bytes as they are, and says whether anybody still reads.
pub fn print_bytes(bytes: &[u8]) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Text in a colour, if standard output is a terminal and nobody objects (`NO_COLOR`).
pub fn paint(style: impl Into<Style>, text: &str) -> String {
    let style = style.into();
    match is_coloured() {
        true => format!("{style}{text}{style:#}"),
        false => text.to_owned(),
    }
}

fn is_coloured() -> bool {
    static DECIDED: OnceLock<bool> = OnceLock::new();
    *DECIDED.get_or_init(|| anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never)
}

pub fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Says what went wrong, in the form that was asked for, and picks the exit code.
pub fn fail(failure: &Failure, json: bool) -> ExitCode {
    let mut err = anstream::stderr().lock();
    let error = anstyle::AnsiColor::Red.on_default().bold();
    let _ = match json {
        true => writeln!(err, "{}", failure.render(Shape::Nested)),
        false => writeln!(err, "{error}error:{error:#} {}", harmless(&failure.to_string(), io::stderr().is_terminal())),
    };
    ExitCode::from(failure.exit_code())
}

/// A remark on standard error.
pub fn remark(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", harmless(text, io::stderr().is_terminal()));
}

/// Text from an archive, fit for where standard output goes.
pub fn shown(text: &str) -> Cow<'_, str> {
    harmless(text, io::stdout().is_terminal())
}

/// On a terminal control characters would move the cursor, rename the window or fill the clipboard, and an archive's author
/// could make them do so; there they are shown instead of obeyed. Programs get every byte.
fn harmless(text: &str, is_terminal: bool) -> Cow<'_, str> {
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if !is_terminal || text.chars().all(is_plain) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_plain(c) {
            true => safe.push(c),
            false => safe.extend(c.escape_default()),
        }
    }
    safe.into()
}

fn written(result: io::Result<()>) -> Result<bool, Failure> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::internal(format!("Standard output cannot be written: {error}."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_shown_control_characters_and_programs_get_them() {
        let hostile = "a\x1b]52;c;ZXZpbA==\x07b\r\u{9b}2Jc\n\td";
        assert_eq!(harmless(hostile, true), "a\\u{1b}]52;c;ZXZpbA==\\u{7}b\\r\\u{9b}2Jc\n\td");
        assert_eq!(harmless(hostile, false), hostile);
        assert!(matches!(harmless("plain ✓\n", true), Cow::Borrowed(_)));
    }
}
