//! `zipfs audit`: what was done, by whom, and whether the record of it is whole.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::console::{Console, misused};
use super::output::{print, print_bytes, print_json, shown};
use crate::audit::{Lines, Verdict, files, verify};
use crate::failure::{Class, Failure};

#[derive(Debug, clap::Subcommand)]
pub enum AuditCommand {
    /// Show the last lines.
    #[command(after_help = "Example: zipfs audit tail -n 20 --follow")]
    Tail {
        /// How many.
        #[arg(short = 'n', long, default_value_t = 10, value_name = "NUMBER")]
        lines: usize,
        /// Go on with new lines as they come, until Ctrl-C.
        #[arg(short, long)]
        follow: bool,
    },
    /// Check that no line was changed, removed, moved or cut off. Exit code 5 if one was.
    #[command(after_help = "Example: zipfs audit verify --head 1042:9f86d081884c7d65…")]
    Verify {
        /// A line and its hash, noted from an earlier check: shows also that the log was not written anew since.
        #[arg(long, value_name = "NUMBER:HASH")]
        head: Option<String>,
    },
    /// Print the log as it is, one JSON object a line, oldest first.
    #[command(after_help = "Example: zipfs audit export --since 2026-11-01T00:00:00Z --principal ci > november.jsonl")]
    Export {
        /// Only lines from this time on (RFC 3339).
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Only lines before this time.
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// Only lines of this principal.
        #[arg(long)]
        principal: Option<String>,
        /// Only lines of this tool, method or act.
        #[arg(long)]
        tool: Option<String>,
        /// Only lines of this session.
        #[arg(long)]
        session: Option<String>,
    },
}

/// How often `tail --follow` looks.
const LOOK: Duration = Duration::from_millis(250);

pub async fn run(console: &Console, command: &AuditCommand) -> Result<(), Failure> {
    let directory = console.config.audit_directory();
    match command {
        AuditCommand::Tail { lines, follow } => tail(console, &directory, *lines, *follow).await,
        AuditCommand::Verify { head } => check(console, &directory, head.as_deref()),
        AuditCommand::Export { since, until, principal, tool, session } => {
            let wanted = Wanted {
                since: since.as_deref().map(time).transpose()?,
                until: until.as_deref().map(time).transpose()?,
                equal: [("principal", principal), ("tool_name", tool), ("session", session)]
                    .into_iter()
                    .filter_map(|(key, value)| Some((key, value.as_deref()?)))
                    .collect(),
            };
            export(&directory, &wanted)
        }
    }
}

async fn tail(console: &Console, directory: &Path, most: usize, follow: bool) -> Result<(), Failure> {
    let mut last = VecDeque::new();
    for (_, path) in files(directory).map_err(|error| unreadable(directory, &error))? {
        for line in Lines::open(&path, u64::MAX).map_err(|error| unreadable(directory, &error))? {
            last.push_back(line.map_err(|error| unreadable(directory, &error))?.1);
            if last.len() > most {
                last.pop_front();
            }
        }
    }
    let mut seen = last.back().map_or(0, |line| number_of(line));
    for line in &last {
        show(console, line)?;
    }
    if !follow {
        return Ok(());
    }
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(()),
            () = tokio::time::sleep(LOOK) => {}
        }
        // The files that can hold lines after the last one seen: the last that begins before it, and those behind.
        let all = files(directory).map_err(|error| unreadable(directory, &error))?;
        let from = all.iter().rposition(|(first, _)| *first <= seen).unwrap_or(0);
        for (_, path) in &all[from.min(all.len())..] {
            for line in Lines::open(path, u64::MAX).map_err(|error| unreadable(directory, &error))? {
                let (_, line) = line.map_err(|error| unreadable(directory, &error))?;
                // A line that is being written is shown when it is whole.
                if number_of(&line) > seen && line.ends_with(b"\n") {
                    seen = number_of(&line);
                    if !show(console, &line)? {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// One line, for people or as it is. Says whether anybody still reads.
fn show(console: &Console, line: &[u8]) -> Result<bool, Failure> {
    if console.json {
        return print_bytes(line);
    }
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return print_bytes(b"(not a line of an audit log)\n") };
    let text = |key: &str| value[key].as_str().unwrap_or("-");
    let took = value["duration_us"].as_u64().map(|micros| format!("{:.1} ms", micros as f64 / 1000.0)).unwrap_or_default();
    let mut words =
        vec![text("timestamp"), text("principal"), text("transport"), text("tool_name"), text("outcome"), took.as_str()];
    let paths: Vec<&str> = value["paths"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (session, paths) = (text("session").get(..8).unwrap_or_default(), paths.join(" "));
    let count = value["details"]["count"].as_u64().filter(|_| value["kind"] == "refused");
    let count = count.map(|count| format!("× {count}")).unwrap_or_default();
    words.extend([session, &paths, &count]);
    words.retain(|word| !word.is_empty());
    print_bytes(shown(&format!("{}\n", words.join("  ").trim_end())).as_bytes())
}

fn number_of(line: &[u8]) -> u64 {
    serde_json::from_slice::<Value>(line).ok().and_then(|value| value["seq"].as_u64()).unwrap_or_default()
}

fn check(console: &Console, directory: &Path, noted: Option<&str>) -> Result<(), Failure> {
    let noted = noted.map(|text| {
        let parts = text.split_once(':').and_then(|(number, hash)| Some((number.parse::<u64>().ok()?, hash)));
        parts.ok_or_else(|| misused(format!("--head {text} is not NUMBER:HASH.")))
    });
    let verdict = verify(directory, noted.transpose()?).map_err(|error| unreadable(directory, &error))?;
    if verdict.findings.is_empty() {
        return console.show(&json!(verdict), |_| whole(&verdict));
    }
    if console.json {
        print_json(&json!(verdict))?;
    } else {
        for finding in &verdict.findings {
            let place = if finding.line > 0 { format!("{}:{}", finding.file, finding.line) } else { finding.file.clone() };
            print(&format!("{} {place}: {}\n", finding.kind, finding.message))?;
        }
    }
    let count = verdict.findings.len();
    Err(Failure::new(Class::Forbidden, "AUDIT_BROKEN", format!("The audit log is not as it was written: {count} findings."))
        .suggest(format!("Keep a copy of {} and find out who can write there.", directory.display())))
}

fn whole(verdict: &Verdict) -> String {
    match verdict.lines {
        0 => "The audit log is empty.\n".into(),
        lines => {
            format!("{lines} lines, {} to {}, are whole. Head: {}:{}\n", verdict.first, verdict.last, verdict.last, verdict.hash)
        }
    }
}

struct Wanted<'a> {
    since: Option<jiff::Timestamp>,
    until: Option<jiff::Timestamp>,
    equal: Vec<(&'static str, &'a str)>,
}

impl Wanted<'_> {
    fn fits(&self, line: &[u8]) -> bool {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { return self.equal.is_empty() && self.since.is_none() };
        let at = value["timestamp"].as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
        self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| at.is_some_and(|at| at < until))
            && self.equal.iter().all(|(key, wanted)| value[*key].as_str() == Some(wanted))
    }
}

fn export(directory: &Path, wanted: &Wanted<'_>) -> Result<(), Failure> {
    for (_, path) in files(directory).map_err(|error| unreadable(directory, &error))? {
        for line in Lines::open(&path, u64::MAX).map_err(|error| unreadable(directory, &error))? {
            let (_, line) = line.map_err(|error| unreadable(directory, &error))?;
            if wanted.fits(&line) && !print_bytes(&line)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn time(text: &str) -> Result<jiff::Timestamp, Failure> {
    text.parse().map_err(|_| misused(format!("{text:?} is not a time like 2026-11-18T09:30:00Z.")))
}

fn unreadable(directory: &Path, error: &std::io::Error) -> Failure {
    Failure::internal(format!("The audit log in {} cannot be read: {error}.", directory.display()))
}
