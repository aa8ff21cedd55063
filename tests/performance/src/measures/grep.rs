//! `grep-…`: a search of the whole workspace as a command, beside ripgrep on one thread and on all, and GNU grep. All of them count
//! the lines that match, which is what `zipfs grep` does beyond those it shows; nobody prints them.

use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Finding, Measure};
use crate::archives::Set;
use crate::effort::Effort;
use crate::figures::{Better, Figure};
use crate::opened::{NAME, Opened};
use crate::peers::{Absent, Field, Role};
use crate::promise::Promise;
use crate::rounds::{Runner, take_turns};
use crate::timed;

/// What is looked for.
#[derive(Clone, Copy)]
struct Pattern {
    text: &'static str,
    ignore_case: bool,
}

const LITERAL: Pattern = Pattern { text: "unreachable_unchecked", ignore_case: false };
const REGEX: Pattern = Pattern { text: r"fn \w+_\w+\(", ignore_case: false };
const CASE: Pattern = Pattern { text: "overflow", ignore_case: true };
const ALTERNATION: Pattern = Pattern { text: "foo_bar|Mutex|quux", ignore_case: false };

pub const ALL: [Measure; 8] = [
    measure("grep-files-literal", "`unreachable_unchecked` in 10,000 files", |f, e| run(Set::Tree, LITERAL, f, e)),
    measure("grep-files-regex", r"`fn \w+_\w+\(` in 10,000 files", |f, e| run(Set::Tree, REGEX, f, e)),
    measure("grep-files-case", "`overflow` in either case in 10,000 files", |f, e| run(Set::Tree, CASE, f, e)),
    measure("grep-files-alternation", "`foo_bar|Mutex|quux` in 10,000 files", |f, e| run(Set::Tree, ALTERNATION, f, e)),
    measure("grep-large-literal", "`unreachable_unchecked` in 10 files of 20 MB", |f, e| run(Set::Long, LITERAL, f, e)),
    measure("grep-large-regex", r"`fn \w+_\w+\(` in 10 files of 20 MB", |f, e| run(Set::Long, REGEX, f, e)),
    measure("grep-large-case", "`overflow` in either case in 10 files of 20 MB", |f, e| run(Set::Long, CASE, f, e)),
    measure("grep-large-alternation", "`foo_bar|Mutex|quux` in 10 files of 20 MB", |f, e| run(Set::Long, ALTERNATION, f, e)),
];

const fn measure(name: &'static str, about: &'static str, run: fn(&Field, &Effort) -> Finding) -> Measure {
    Measure { name, about, unit: "ms", better: Better::Lower, run }
}

/// What zipfs may take on all cores, as a multiple of ripgrep's time on one.
fn most_times(set: Set) -> f64 {
    if set == Set::Tree { 1.3 } else { 1.6 }
}

fn run(set: Set, pattern: Pattern, field: &Field, effort: &Effort) -> Finding {
    let mut finding = race(set, pattern, field, effort).unwrap_or_else(|error| Finding::nobody(&error));
    let (zipfs, other) = (finding.of(Role::Zipfs).next(), finding.of(Role::RipgrepOneThread).next());
    let promise = Promise::at_most("zipfs grep ÷ rg -j1, p50", most_times(set), "×");
    finding.promises = vec![promise.between(zipfs, other, |own, other| own.over(other, Figure::Median))];
    finding
}

/// How a program says how many lines it found.
type Count = fn(&Output) -> Result<u64>;

fn race(set: Set, pattern: Pattern, field: &Field, effort: &Effort) -> Result<Finding> {
    let archive = set.provide(&field.bench)?;
    let opened = field.opened_for_searching(set, || Opened::with(field, set.name(), &archive))?;
    let mut own = opened.command(["grep", pattern.text, NAME, "--max-results", "0", "--json"]);
    own.args(pattern.ignore_case.then_some("--ignore-case"));
    let ripgrep = |threads: Option<&str>| {
        let mut command = Command::new("rg");
        command.args(["-uu", "--no-config", "-c", "--no-filename", "-e", pattern.text]).arg(&opened.contents).args(threads);
        command.args(pattern.ignore_case.then_some("-i"));
        command
    };
    let mut gnu = Command::new("grep");
    gnu.args(["-r", "-c", "-h", "-a", "-E", "-e", pattern.text]).args(pattern.ignore_case.then_some("-i"));
    gnu.arg(&opened.contents).env_remove("LANG").env("LC_ALL", "C");
    let candidates: [(Role, &str, Command, Count); 4] = [
        (Role::Zipfs, "zipfs grep", own, told),
        (Role::RipgrepOneThread, "rg -j1", ripgrep(Some("-j1")), sum),
        (Role::Searcher, "rg", ripgrep(None), sum),
        (Role::Searcher, "GNU grep", gnu, sum),
    ];
    let (mut runners, mut absent, mut expected) = (Vec::new(), Vec::new(), None);
    for (role, name, mut command, count) in candidates {
        // Once before the clock runs: what was not found is not compared, and neither is a program that is not here.
        let found = timed::search(&mut command).and_then(|(_, output)| count(&output));
        match found {
            Ok(found) => {
                let expected = *expected.get_or_insert(found);
                // Letters beyond ASCII count as such for some and not for others.
                ensure!(found.abs_diff(expected) * 200 <= expected, "{name} finds {found} lines, zipfs {expected}");
                runners.push(Runner { name: name.to_owned(), role, state: command });
            }
            Err(error) => absent.push(Absent { peer: name.to_owned(), reason: format!("{error:#}") }),
        }
    }
    let (series, failed) = take_turns(runners, effort.walk_rounds, |command| {
        (0..effort.walks).map(|_| Ok(timed::search(command)?.0.as_secs_f64() * 1e3)).collect()
    });
    absent.extend(failed);
    Ok(Finding { series, absent, promises: Vec::new() })
}

fn told(output: &Output) -> Result<u64> {
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    answer["total_matches"].as_u64().context("zipfs counts no lines")
}

fn sum(output: &Output) -> Result<u64> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| line.trim().parse::<u64>().with_context(|| format!("{line:?} is no count"))).sum()
}
