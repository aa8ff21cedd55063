//! `plugins`: what two hundred installed plugins cost a server that starts, against the same without any.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure, Series};
use crate::peers::{Absent, Field, Peer, Role};
use crate::pipe::{Launch, Pipe};
use crate::promise::Promise;
use crate::rounds::{Entrant, interleave};
use crate::wire::Request;

pub const MEASURE: Measure = Measure {
    name: "plugins",
    about: "from spawn through the handshake to the answer of tools/list, with 200 plugins installed and with none",
    unit: "ms",
    better: Better::Lower,
    run,
};

const PLUGINS: usize = 200;

/// What a start with all of them may take, caches warm.
const MOST_MILLISECONDS: f64 = 50.0;

fn run(field: &Field, effort: &Effort) -> Finding {
    let prepared = tempfile::tempdir().context("a directory").and_then(|place| Ok((prepare(field, place.path())?, place)));
    let (servers, _place) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            let absent = vec![Absent { peer: "zipfs, 200 plugins".to_owned(), reason: format!("{error:#}") }];
            return Finding { series: Vec::new(), absent, promises: promises(None, None) };
        }
    };
    let entrants = servers.iter().map(|peer| Entrant { peer, state: () }).collect();
    let (series, absent) =
        interleave(entrants, effort.start_rounds, |peer, ()| (0..effort.starts).map(|_| time_start(&peer.launch)).collect());
    let mut finding = Finding { series, absent, promises: Vec::new() };
    let (all, none) = (finding.of(Role::Zipfs).next(), finding.of(Role::Bare).next());
    finding.promises = promises(all, none);
    finding
}

fn promises(all: Option<&Series>, none: Option<&Series>) -> Vec<Promise> {
    vec![
        Promise::at_most("first answer with 200 plugins, p50", MOST_MILLISECONDS, "ms")
            .between(all, all, |own, _| own.spread(Figure::Median)),
        Promise::at_most("200 plugins − none, p50", MOST_MILLISECONDS, "ms")
            .between(all, none, |own, other| own.minus(other, Figure::Median))
            .not_checked(),
    ]
}

fn prepare(field: &Field, place: &Path) -> Result<Vec<Peer>> {
    let zipfs = field.peers.iter().find(|peer| peer.role == Role::Zipfs).context("no zipfs to measure")?;
    let faces = field.faces.as_deref().context("no component `faces` was given with --faces")?;
    let peer = |role, name: &str, data: &Path| Peer {
        role,
        name: name.to_owned(),
        launch: Launch { environment: vec![("ZIPFS_DATA_DIR".into(), data.into())], ..zipfs.launch.clone() },
        noop: Err("only its start is measured".to_owned()),
        read: Err("only its start is measured".to_owned()),
    };
    let (many, none) = (place.join("many"), place.join("none"));
    install(&zipfs.launch.program, faces, place, &many)?;
    let servers = vec![peer(Role::Zipfs, "zipfs, 200 plugins", &many), peer(Role::Bare, "zipfs, no plugins", &none)];
    for server in &servers {
        time_start(&server.launch)?;
    }
    Ok(servers)
}

/// As many plugins, each from the one component under another name of the same length.
fn install(program: &Path, faces: &Path, place: &Path, data: &Path) -> Result<()> {
    let template = std::fs::read(faces).with_context(|| format!("read {}", faces.display()))?;
    let file: PathBuf = place.join("face.wasm");
    for number in 0..PLUGINS {
        let mut wasm = template.clone();
        for (old, new) in [("faces-00000", format!("faces-{number:05}")), ("faces_00000", format!("faces_{number:05}"))] {
            let places: Vec<usize> = (0..wasm.len() - old.len()).filter(|&at| wasm[at..].starts_with(old.as_bytes())).collect();
            ensure!(!places.is_empty(), "{} is not the component `faces`", faces.display());
            for at in places {
                wasm[at..at + new.len()].copy_from_slice(new.as_bytes());
            }
        }
        std::fs::write(&file, wasm)?;
        let mut command = Command::new(program);
        command.args(["plugin", "add", "--yes"]).arg(&file).env("ZIPFS_DATA_DIR", data).stdin(Stdio::null());
        let output = command.output()?;
        if !output.status.success() {
            bail!("zipfs plugin add failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
    }
    Ok(())
}

fn time_start(launch: &Launch) -> Result<f64> {
    let start = Instant::now();
    let mut pipe = Pipe::start(launch)?;
    pipe.shake_hands()?;
    pipe.ask(&Request::list_tools())?;
    let taken = start.elapsed();
    // Going down is not part of it.
    drop(pipe);
    Ok(taken.as_secs_f64() * 1e3)
}
