//! The report, in words.

use serde_json::Value;

use crate::cli::fields::{count, list, number, text, truth};
use crate::cli::output::{paint, shown};
use crate::cli::{columns, connect, size};

/// All of it, or with `quiet` only what is wrong.
pub fn of(report: &Value, quiet: bool) -> String {
    match quiet {
        true => problems(report),
        false => {
            format!(
                "{}\n{}\n{}\n{}\n{}\n{}",
                overview(report),
                section("Settings", &settings(report)),
                section("Plugins", &plugins(report)),
                section("Clients", connect::snippets().trim_end()),
                section("Diagnosis", problems(report).trim_end()),
                ""
            )
            .trim_end()
            .to_owned()
                + "\n"
        }
    }
}

fn section(title: &str, body: &str) -> String {
    let body: String = body.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect();
    format!("{}\n{body}", paint(anstyle::Style::new().bold(), title))
}

fn overview(report: &Value) -> String {
    let (data, sessions, cache) = (&report["data_directory"], &report["sessions"], &report["cache"]);
    let from = data["from"].as_str().map(|variable| format!(" (from {variable})")).unwrap_or_default();
    let state = match (truth(data, "exists"), truth(data, "writable")) {
        (true, true) => "",
        (true, false) => ", not writable",
        (false, true) => ", not there yet",
        (false, false) => ", not there, and cannot be made",
    };
    let rows = [
        [
            "zipfs".to_owned(),
            format!("{} for {}, {}", text(report, "version"), text(report, "platform"), shown(text(report, "program"))),
        ],
        ["data directory".to_owned(), format!("{}{from}{state}", shown(text(data, "path")))],
        ["filesystem".to_owned(), filesystem(&report["filesystem"])],
        [
            "sessions".to_owned(),
            format!(
                "{} open, {} extracted, {} in use now",
                number(sessions, "open"),
                size::for_people(number(sessions, "extracted_bytes")),
                number(sessions, "in_use")
            ),
        ],
        ["cache".to_owned(), format!("{}, {}", count(number(cache, "files"), "file"), size::for_people(number(cache, "bytes")))],
    ];
    columns::align(rows.into_iter())
}

fn filesystem(found: &Value) -> String {
    if found.is_null() {
        return "not tried: the data directory is not there or cannot be written".to_owned();
    }
    let can = |key: &str| if truth(found, key) { "yes" } else { "no" };
    format!(
        "{}, {} free; reflink {}, hard links {}, unnamed files {}",
        text(found, "type"),
        size::for_people(number(found, "free_bytes")),
        can("reflink"),
        can("hard_links"),
        can("unnamed_files"),
    )
}

fn settings(report: &Value) -> String {
    let row = |setting: &Value| {
        let value = setting["value"].as_str().map_or_else(|| setting["value"].to_string(), str::to_owned);
        [text(setting, "key").to_owned(), value, text(setting, "source").to_owned()]
    };
    columns::align(list(report, "settings").iter().map(row))
}

fn plugins(report: &Value) -> String {
    let row = |plugin: &Value| {
        [
            shown(text(plugin, "name")).into_owned(),
            shown(text(plugin, "version")).into_owned(),
            count(number(plugin, "tools"), "tool"),
            shown(text(plugin, "origin")).into_owned(),
        ]
    };
    columns::align(list(report, "plugins").iter().map(row))
}

fn problems(report: &Value) -> String {
    let problems = list(report, "problems");
    if problems.is_empty() {
        return "Nothing is wrong.\n".to_owned();
    }
    let line = |problem: &Value| {
        let mark = paint(anstyle::AnsiColor::Red.on_default().bold(), "wrong:");
        format!("{mark} {} {}\n", shown(text(problem, "problem")), shown(text(problem, "next")))
    };
    problems.iter().map(line).collect()
}
