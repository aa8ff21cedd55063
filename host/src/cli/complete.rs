//! `zipfs complete`: what could stand at the end of a command line, for the scripts of [`completion`](super::completion).
//!
//! Commands and options come from the definition of the command line, sessions from their directory without running anything,
//! and paths from `zipfs_ls`, through the gate like everything that looks into a session.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Command, CommandFactory};
use serde_json::json;

use super::console::Console;
use super::fields::{list, text};
use super::output::print;
use super::target::at;
use super::words::{Line, unquote};
use crate::config::Config;
use crate::failure::Failure;
use crate::plugins::plugin::Origin;
use crate::workspace::Workspaces;
use crate::workspace::owner::LOCAL;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The words are as they were typed, with quotes and backslashes.
    #[arg(long)]
    pub quoted: bool,
    /// The words after `zipfs`, up to the one to be completed.
    #[arg(last = true)]
    pub words: Vec<String>,
}

/// Tells the script that names of files are wanted, which the shell knows best.
const FILES: u8 = 10;

/// How many entries of a directory are looked at. More could not be chosen from anyway.
const MOST: u64 = 10_000;

/// A word that could stand there, and what it means.
type Proposal = (String, String);

pub async fn run(args: &Args) -> Result<ExitCode, Failure> {
    let words: Vec<String> = args.words.iter().map(|word| if args.quoted { unquote(word) } else { word.clone() }).collect();
    let mut command = super::args::Args::command();
    command.build();
    let Some(proposals) = propose(&Line::read(&command, &words)).await else { return Ok(ExitCode::from(FILES)) };
    let mut out = String::new();
    for (value, about) in proposals {
        // What would break the line or the terminal is left out; such a name has to be typed.
        if value.chars().any(char::is_control) {
            continue;
        }
        let about = about.lines().next().unwrap_or_default();
        out += &value;
        if !about.is_empty() {
            out += &format!("\t{}", about.replace(char::is_control, " "));
        }
        out.push('\n');
    }
    print(&out).map(|()| ExitCode::SUCCESS)
}

/// `None` for names of files. What cannot be found out is not proposed: a shell that completes is no place for errors.
async fn propose(line: &Line<'_>) -> Option<Vec<Proposal>> {
    let begun = |(value, _): &Proposal| value.starts_with(line.current);
    if let Some(option) = line.option {
        return match option.get_value_hint() {
            clap::ValueHint::AnyPath | clap::ValueHint::FilePath | clap::ValueHint::DirPath => None,
            _ => Some(choices(option).into_iter().filter(begun).collect()),
        };
    }
    if line.current.starts_with('-') {
        return Some(options(line.command).into_iter().filter(begun).collect());
    }
    let before: Vec<&str> = line.positionals.iter().map(String::as_str).collect();
    let proposals = match (line.path.as_str(), &before[..]) {
        ("open" | "plugin add" | "plugin pack" | "plugin sign" | "plugin keygen" | "man", []) => return None,
        ("close" | "sync" | "status" | "path", []) => sessions(""),
        ("ls" | "tree" | "diff", []) | ("grep", [_]) => places(line.current, "").await,
        ("read" | "write" | "delete", []) => places(line.current, ":").await,
        ("ls" | "tree" | "diff" | "read" | "write" | "delete", [session]) | ("grep", [_, session]) => {
            paths(Some(session), line.current).await
        }
        ("call" | "tools", []) => tools().await,
        ("plugin remove" | "plugin info" | "plugin update" | "plugin verify" | "plugin grant" | "plugin revoke", []) => {
            plugins().await
        }
        ("" | "help", []) => subcommands(line.root),
        ("plugin" | "audit", []) => subcommands(line.command),
        ("completion", []) => line.command.get_positionals().next().map(choices).unwrap_or_default(),
        _ => Vec::new(),
    };
    Some(proposals.into_iter().filter(begun).collect())
}

fn subcommands(command: &Command) -> Vec<Proposal> {
    let told =
        |command: &Command| (command.get_name().to_owned(), command.get_about().map(ToString::to_string).unwrap_or_default());
    command.get_subcommands().filter(|command| !command.is_hide_set()).map(told).collect()
}

fn options(command: &Command) -> Vec<Proposal> {
    let told = |option: &clap::Arg| {
        let about = option.get_help().map(ToString::to_string).unwrap_or_default();
        option.get_long().map(|long| (format!("--{long}"), about))
    };
    command
        .get_opts()
        .chain(command.get_arguments().filter(|arg| !arg.is_positional() && !arg.get_action().takes_values()))
        .filter_map(told)
        .collect()
}

fn choices(argument: &clap::Arg) -> Vec<Proposal> {
    let told = |value: &clap::builder::PossibleValue| {
        (value.get_name().to_owned(), value.get_help().map(ToString::to_string).unwrap_or_default())
    };
    match argument.get_action().takes_values() {
        true => argument.get_possible_values().iter().map(told).collect(),
        false => Vec::new(),
    }
}

/// Names of sessions, and ids of those that have none.
fn sessions(end: &str) -> Vec<Proposal> {
    let listed = || -> Option<Vec<Proposal>> {
        let config = Config::load().ok()?;
        let directory = config.data.workspaces();
        // Looking must not make anything.
        if !directory.is_dir() {
            return None;
        }
        let known = Workspaces::open_ambient(&directory, Arc::new(config.settings)).ok()?.known().ok()?;
        let handle = |name: &str, id: &str| if name.is_empty() { id.to_owned() } else { name.to_owned() };
        let own = known.iter().filter(|session| session.owner == LOCAL);
        let told = own.map(|session| (handle(&session.name, &session.id) + end, "session".to_owned()));
        Some(told.collect())
    };
    listed().unwrap_or_default()
}

/// Sessions, and paths: in the session before the colon, or in the only one.
async fn places(current: &str, end: &str) -> Vec<Proposal> {
    if let Some((session, path)) = current.split_once(':') {
        let given = Some(session).filter(|session| !session.is_empty());
        let told = paths(given, path).await.into_iter();
        return told.map(|(path, about)| (format!("{session}:{path}"), about)).collect();
    }
    let mut proposals = sessions(end);
    if proposals.len() == 1 {
        proposals.extend(paths(None, current).await);
    }
    proposals
}

/// What is in the directory that the path names so far.
async fn paths(session: Option<&str>, current: &str) -> Vec<Proposal> {
    let directory = current.rfind('/').map_or("", |slash| &current[..=slash]);
    let listed = async {
        let console = Console::silent(Config::load()?);
        let path = if directory.is_empty() { "/" } else { directory.trim_end_matches('/') };
        console.ask("zipfs_ls", at(session, Some(path), json!({"limit": MOST}))).await
    };
    let listed = listed.await.unwrap_or_default();
    list(&listed, "entries").iter().map(|entry| (format!("{directory}{}", text(entry, "name")), String::new())).collect()
}

async fn tools() -> Vec<Proposal> {
    let listed = async {
        let console = Console::silent(Config::load()?);
        let registry = console.gate().await?.registry();
        let told = registry.tools().map(|(name, found)| (name.to_owned(), found.tool().title.clone().unwrap_or_default()));
        Ok::<_, Failure>(told.collect())
    };
    listed.await.unwrap_or_default()
}

/// Those that can be removed.
async fn plugins() -> Vec<Proposal> {
    let listed = async {
        let console = Console::silent(Config::load()?);
        let registry = console.gate().await?.registry();
        let added = registry.plugins.iter().filter(|plugin| !matches!(plugin.origin, Origin::Bundled(_)));
        Ok::<_, Failure>(added.map(|plugin| (plugin.description.name.clone(), plugin.description.version.clone())).collect())
    };
    listed.await.unwrap_or_default()
}
