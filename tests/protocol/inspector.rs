//! The MCP Inspector, in both eras. It needs Node 22, which npm brings; without npm the test says that it did not run.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Archive, Zipfs};

const PACKAGES: [&str; 2] = ["node@22", "@modelcontextprotocol/inspector@2.12.0"];

/// Installs the Inspector once, into the target directory.
fn install() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("target/inspector");
    let bin = folder.join("node_modules/.bin");
    if bin.join("mcp-inspector").exists() && bin.join("node").exists() {
        return Ok(bin);
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let installed = Command::new("npm")
        .current_dir(&folder)
        .args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix", "."])
        .args(PACKAGES)
        .output()
        .map_err(|error| format!("npm cannot be run: {error}"))?;
    match installed.status.success() {
        true => Ok(bin),
        false => Err(format!("npm install failed: {}", String::from_utf8_lossy(&installed.stderr))),
    }
}

fn inspect(bin: &Path, data: &Path, era: &str, more: &[&str]) -> Value {
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new(bin.join("mcp-inspector"))
        .env("PATH", path)
        .env("MCP_CATALOG_PATH", data.join("catalog.json"))
        .env("ZIPFS_DATA_DIR", data)
        .args(["--cli", env!("CARGO_BIN_EXE_zipfs"), "mcp", "-e", &format!("ZIPFS_DATA_DIR={}", data.display())])
        .args(["--protocol-era", era, "--format", "json", "-q"])
        .args(more)
        .output()
        .expect("the Inspector can be run");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{era} {more:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{era} {more:?}: {text}"))
}

#[test]
fn the_inspector_lists_and_calls_in_both_eras() {
    let bin = match install() {
        Ok(bin) => bin,
        Err(why) => {
            crate::support::skipped(&format!("the Inspector could not be installed: {why}"));
            return;
        }
    };
    for era in ["legacy", "modern"] {
        let data = tempfile::tempdir().unwrap();
        let listed = inspect(&bin, data.path(), era, &["--method", "tools/list"]);
        assert!(listed.to_string().contains("zipfs_open"), "{era}: {listed}");
        let archive = Archive::of(&[("a.txt", "hello from the archive")]);
        let path = format!("path={}", archive.path().display());
        Zipfs(data.path()).ok(&["call", "zipfs_open", "--arg", &path]);
        let read =
            inspect(&bin, data.path(), era, &["--method", "tools/call", "--tool-name", "zipfs_read", "--tool-arg", "path=a.txt"]);
        assert!(read.to_string().contains("hello from the archive"), "{era}: {read}");
    }
}
