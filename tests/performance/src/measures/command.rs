//! `command`: what a person waits for at a shell, where each command is a process: start, list a small session, end.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure, Series};
use crate::peers::{Absent, Field, Peer, Role};
use crate::pipe::Launch;
use crate::promise::Promise;
use crate::rounds::{Entrant, interleave};

pub const MEASURE: Measure = Measure {
    name: "command",
    about: "`zipfs ls` of a session with ten files, from spawn to exit",
    unit: "ms",
    better: Better::Lower,
    run,
};

/// What the command may take with its caches warm.
const MOST_MILLISECONDS: f64 = 15.0;

/// Commands in a block for each start of a server: they cost less, and vary more.
const COMMANDS_PER_START: usize = 5;

const FILES: usize = 10;

fn run(field: &Field, effort: &Effort) -> Finding {
    let prepared = tempfile::tempdir().context("a directory").and_then(|place| Ok((prepare(field, place.path())?, place)));
    let (commands, _place) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            let absent = vec![Absent { peer: "zipfs ls".to_owned(), reason: format!("{error:#}") }];
            return Finding { series: Vec::new(), absent, promises: promises(None, None) };
        }
    };
    let entrants = commands.iter().map(|peer| Entrant { peer, state: () }).collect();
    let count = effort.starts * COMMANDS_PER_START;
    let (series, absent) =
        interleave(entrants, effort.start_rounds, |peer, ()| (0..count).map(|_| time_command(&peer.launch)).collect());
    let mut finding = Finding { series, absent, promises: Vec::new() };
    let (zipfs, floor) = (finding.of(Role::Zipfs).next(), finding.of(Role::Floor).next());
    finding.promises = promises(zipfs, floor);
    finding
}

fn promises(zipfs: Option<&Series>, floor: Option<&Series>) -> Vec<Promise> {
    vec![
        // What a process costs on this machine now is taken off, so the verdict does not depend on the machine alone.
        Promise::at_most("zipfs ls − process, p50", MOST_MILLISECONDS, "ms")
            .between(zipfs, floor, |own, other| own.minus(other, Figure::Median)),
        Promise::at_most("zipfs ls, p50", MOST_MILLISECONDS, "ms")
            .between(zipfs, zipfs, |own, _| own.spread(Figure::Median))
            .not_checked(),
    ]
}

/// The commands, each of which was run once: zipfs, the lister that every system has, and a process that does nothing.
fn prepare(field: &Field, place: &Path) -> Result<Vec<Peer>> {
    let of = |role| field.peers.iter().find(|peer| peer.role == role).map(|peer| &peer.launch);
    let zipfs = of(Role::Zipfs).context("no zipfs to measure")?;
    let archive = place.join("small.zip");
    write_archive(&archive)?;
    let environment = vec![("ZIPFS_DATA_DIR".into(), place.join("data").into_os_string())];
    let command = |role, name: &str, program: &Path, arguments: Vec<OsString>| Peer {
        role,
        name: name.to_owned(),
        launch: Launch { program: program.into(), arguments, environment: environment.clone(), ..zipfs.clone() },
        noop: Err("a command, not a server".to_owned()),
        read: Err("a command, not a server".to_owned()),
    };
    time_command(&command(Role::Zipfs, "zipfs open", &zipfs.program, vec!["open".into(), archive.clone().into()]).launch)?;
    let mut commands = vec![command(Role::Zipfs, "zipfs ls", &zipfs.program, vec!["ls".into()])];
    if let Some(floor) = of(Role::Floor) {
        commands.push(command(Role::Floor, "process (floor)", &floor.program, Vec::new()));
    }
    let unzip = command(Role::Lister, "unzip -l", &PathBuf::from("unzip"), vec!["-l".into(), archive.into()]);
    if time_command(&unzip.launch).is_ok() {
        commands.push(unzip);
    }
    Ok(commands)
}

fn write_archive(path: &Path) -> Result<()> {
    let mut zip = ZipWriter::new(std::fs::File::create(path)?);
    for number in 0..FILES {
        zip.start_file(format!("{number}.txt"), SimpleFileOptions::default())?;
        writeln!(zip, "This is file {number}.")?;
    }
    zip.finish()?;
    Ok(())
}

fn time_command(launch: &Launch) -> Result<f64> {
    let mut command = Command::new(&launch.program);
    command.args(&launch.arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.envs(launch.environment.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
    let start = Instant::now();
    let output = command.output().with_context(|| format!("run {}", launch.program.display()))?;
    let taken = start.elapsed();
    if !output.status.success() {
        bail!("{} failed: {}", launch.program.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(taken.as_secs_f64() * 1e3)
}
