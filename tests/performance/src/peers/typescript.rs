//! The reference server for files, `@modelcontextprotocol/server-filesystem`, from npm, under one or two versions of Node.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{Peer, Role};
use crate::fixture::{FILE, Fixture, LAST_WORD};
use crate::pipe::Launch;
use crate::places::Places;
use crate::wire::{Dialect, Request};

const PACKAGE: &str = "@modelcontextprotocol/server-filesystem";

/// Pinned, so that two runs on different days compare with the same peer.
const VERSION: &str = "2026.8.31";

/// Which Node runs it.
#[derive(Clone, Copy)]
pub enum Runtime {
    /// The one on the path.
    Installed,
    /// The long-term release that npm itself can install.
    Node22,
}

impl Runtime {
    pub fn label(self) -> &'static str {
        match self {
            Self::Installed => "TypeScript server-filesystem, installed Node",
            Self::Node22 => "TypeScript server-filesystem, Node 22",
        }
    }
}

/// The server as npm installed it.
pub struct Server {
    entry: PathBuf,
    version: String,
}

/// Installs the server below the bench directory, if it is not there.
pub fn install(places: &Places) -> Result<Server> {
    let package = places.bench.join("node_modules").join(PACKAGE);
    if installed_version(&package).as_deref() != Some(VERSION) {
        npm_install(&places.bench, &format!("{PACKAGE}@{VERSION}")).or_else(|_| npm_install(&places.bench, PACKAGE))?;
    }
    let version = installed_version(&package).with_context(|| format!("npm installed no {PACKAGE}"))?;
    Ok(Server { entry: package.join("dist/index.js"), version })
}

pub fn find(fixture: &Fixture, places: &Places, server: &Server, runtime: Runtime) -> Result<Peer> {
    let node = find_node(places, runtime)?;
    let node_version = ask_version(&node)?;
    Ok(Peer {
        role: Role::TypeScript,
        name: format!("TS filesystem {}, node {}", server.version, node_version.trim_start_matches('v')),
        launch: Launch {
            program: node,
            arguments: vec![server.entry.clone().into(), fixture.directory.clone().into()],
            environment: Vec::new(),
            dialect: Dialect::Mcp,
            complaints: fixture.home.path().join(format!("typescript-{node_version}.stderr")),
        },
        noop: Err("has no tool that does nothing".to_owned()),
        read: Ok(Request::call("read_text_file", &json!({"path": fixture.directory.join(FILE)})).proven_by(LAST_WORD)),
    })
}

fn find_node(places: &Places, runtime: Runtime) -> Result<PathBuf> {
    match runtime {
        Runtime::Installed => Ok(PathBuf::from("node")),
        Runtime::Node22 => {
            let node = places.bench.join("node_modules/node/bin/node");
            if !node.is_file() {
                npm_install(&places.bench, "node@22")?;
            }
            Ok(node)
        }
    }
}

fn ask_version(node: &Path) -> Result<String> {
    let output = Command::new(node).arg("--version").output().with_context(|| format!("run {}", node.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn installed_version(package: &Path) -> Option<String> {
    let manifest = std::fs::read(package.join("package.json")).ok()?;
    let manifest: Value = serde_json::from_slice(&manifest).ok()?;
    Some(manifest.get("version")?.as_str()?.to_owned())
}

fn npm_install(prefix: &Path, package: &str) -> Result<()> {
    std::fs::create_dir_all(prefix)?;
    // Without a manifest of its own npm would look for one in the directories above.
    let manifest = prefix.join("package.json");
    if !manifest.exists() {
        std::fs::write(&manifest, "{\"private\": true}\n")?;
    }
    let output = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error", package])
        .current_dir(prefix)
        .output()
        .context("run npm")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("npm cannot install {package}: {}", said.lines().find(|line| !line.is_empty()).unwrap_or("it does not say why"));
    }
    Ok(())
}
