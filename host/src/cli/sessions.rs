//! `zipfs sessions`.

use serde_json::{Value, json};

use super::console::Console;
use super::fields::{list, number, text};
use super::output::shown;
use super::{columns, size};
use crate::failure::Failure;

pub async fn run(console: &Console) -> Result<(), Failure> {
    let listed = console.ask("zipfs_sessions", json!({})).await?;
    // A bare list, which is what scripts want to go through.
    console.show(&listed["sessions"], |_| match (list(&listed, "sessions"), console.quiet) {
        ([], true) => String::new(),
        ([], false) => "No session is open. Open an archive: zipfs open FILE\n".to_owned(),
        (sessions, true) => sessions.iter().map(|session| format!("{}\n", handle(session))).collect(),
        (sessions, false) => table(sessions),
    })
}

/// The name, or the id where there is none.
fn handle(session: &Value) -> &str {
    match text(session, "name") {
        "" => text(session, "id"),
        name => name,
    }
}

fn table(sessions: &[Value]) -> String {
    let header = ["SESSION", "ID", "STATE", "FILES", "SIZE", "LAST USED", "ARCHIVE"].map(str::to_owned);
    let row = |session: &Value| {
        [
            shown(handle(session)).into_owned(),
            text(session, "id").chars().take(8).collect(),
            text(session, "state").to_owned(),
            number(session, "file_count").to_string(),
            size::for_people(number(session, "extracted_size_bytes")),
            text(session, "last_accessed_at").to_owned(),
            shown(text(session, "source_path")).into_owned(),
        ]
    };
    columns::align(std::iter::once(header).chain(sessions.iter().map(row)))
}
