//! `zipfs demo`: what a newcomer sees first. A real server, a real client, a real archive, and a guest that tries to get out.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::args::Args;
use super::connect;
use super::output::print;
use crate::config::{Config, DataDir, Settings};
use crate::failure::Failure;
use crate::gate::Gate;
use crate::plugins::admission::examine_ambient;
use crate::plugins::bundled::INTRUDER;
use crate::sandbox::Shape;
use crate::sandbox::driver::Stage;
use crate::workspace::listing::{Change, Kind};

/// What the sample archive holds.
const SAMPLE: [(&str, &str); 3] = [
    ("README.md", "# Quarterly report\n\nThe figures are in data/figures.csv.\n"),
    ("data/figures.csv", "quarter,revenue\nQ1,120\nQ2,135\nQ3,128\n"),
    ("data/notes.txt", "Q4 is missing.\n"),
];

/// Limits that make the crimes end soon enough to watch.
fn demo_settings() -> Settings {
    let mut settings = Settings::default();
    settings.calls.deadline_ms = 500;
    settings.security.max_extracted_size_bytes = 8 << 20;
    settings
}

pub async fn run(args: &Args) -> Result<(), Failure> {
    let place = tempfile::Builder::new().prefix("zipfs-demo-").tempdir().map_err(|error| failed(&error))?;
    let data = place.path().join("data");
    std::fs::create_dir(&data).map_err(|error| failed(&error))?;
    let settings = demo_settings();
    let text = serde_json::to_vec_pretty(&settings).map_err(|error| failed(&error))?;
    std::fs::write(data.join("config.json"), text).map_err(|error| failed(&error))?;
    let gate = Gate::open(Config::with(DataDir::at(&data), settings), Shape::Command).await?;

    let archive = place.path().join("report.zip");
    make_sample(&gate, place.path(), &archive).await?;
    print(&format!(
        "A sample archive: {} ({} files), written by the archive driver in the sandbox.\n\n",
        archive.display(),
        SAMPLE.len()
    ))?;

    let started = Instant::now();
    let client = connect_client(&data).await?;
    print(&format!("An MCP client started `zipfs mcp` and was answered after {}.\n", shown(started.elapsed())))?;
    work(&client, &archive).await?;
    intrude(&client, &gate, place.path()).await?;
    finish(&client, &archive).await?;
    client.cancel().await.map_err(|error| failed(&error))?;
    drop(gate);
    drop(place);
    print("\nEverything was in a temporary directory, which is gone.\n")?;
    if !args.quiet {
        print(&format!("\nTo connect your agent:\n\n{}", connect::snippets()))?;
    }
    Ok(())
}

/// The user's side: open, look, edit.
async fn work(client: &Client, archive: &Path) -> Result<(), Failure> {
    step(client, "zipfs_open", json!({"path": archive, "name": "report"})).await?;
    step(client, "zipfs_ls", json!({"recursive": true})).await?;
    step(client, "zipfs_read", json!({"path": "data/notes.txt"})).await?;
    step(
        client,
        "zipfs_write",
        json!({"path": "data/figures.csv", "content": "quarter,revenue\nQ1,120\nQ2,135\nQ3,128\nQ4,151\n"}),
    )
    .await?;
    step(client, "zipfs_status", json!({})).await?;
    Ok(())
}

async fn finish(client: &Client, archive: &Path) -> Result<(), Failure> {
    print("\nThe session is unharmed but for what the intruder left in it. Back into the archive:\n")?;
    step(client, "zipfs_delete", json!({"path": "intruder.bin"})).await?;
    step(client, "zipfs_sync", json!({})).await?;
    step(client, "zipfs_close", json!({})).await?;
    let backup = archive.with_file_name("report.bak.zip");
    print(&format!("  {} is the new archive, {} the old one.\n", archive.display(), backup.display()))
}

/// The attacker's side: a plugin is added while the server runs, and does its worst.
async fn intrude(client: &Client, gate: &Gate, place: &Path) -> Result<(), Failure> {
    let (component, manifest) = INTRUDER;
    let folder = place.join("intruder");
    std::fs::create_dir(&folder).map_err(|error| failed(&error))?;
    std::fs::write(folder.join("intruder.wasm"), component).map_err(|error| failed(&error))?;
    std::fs::write(folder.join("plugin.toml"), manifest).map_err(|error| failed(&error))?;
    let candidate = examine_ambient(&folder, &gate.sandbox, &gate.cache).await?;
    candidate.admit(&gate.desk(), Vec::new(), None)?;
    print("\nA hostile plugin was added while the server runs. It may write the session's workspace. What it tries:\n")?;
    let tried = call(client, "escape", json!({})).await?;
    for attempt in tried["attempts"].as_array().into_iter().flatten() {
        let (what, outcome) = (attempt["attempt"].as_str().unwrap_or_default(), attempt["outcome"].as_str().unwrap_or_default());
        print(&format!("  {what:<52} {outcome}\n"))?;
    }
    for crime in ["loop_forever", "eat_memory", "fill_disk"] {
        let began = Instant::now();
        let ended = call(client, crime, json!({})).await?;
        // A guest hears of a full quota and can stop by itself; the others are stopped.
        let how = ended["error"]["code"].as_str().or(ended["outcome"].as_str()).unwrap_or("not stopped!");
        print(&format!("  {crime:<52} stopped after {}: {how}\n", shown(began.elapsed())))?;
    }
    Ok(())
}

type Client = RunningService<RoleClient, ()>;

async fn connect_client(data: &Path) -> Result<Client, Failure> {
    let binary = std::env::current_exe().map_err(|error| failed(&error))?;
    let mut command = tokio::process::Command::new(binary);
    command.arg("mcp").env("ZIPFS_DATA_DIR", data);
    let (process, _) = TokioChildProcess::builder(command).stderr(Stdio::inherit()).spawn().map_err(|error| failed(&error))?;
    ().serve(process).await.map_err(|error| failed(&error))
}

/// Calls a tool and shows question, answer and time.
async fn step(client: &Client, tool: &str, arguments: Value) -> Result<(), Failure> {
    let began = Instant::now();
    let answer = call(client, tool, arguments.clone()).await?;
    let took = shown(began.elapsed());
    print(&format!("  {tool} {arguments}\n    → {} ({took})\n", brief(&answer)))?;
    match answer.get("error") {
        Some(error) => Err(Failure::internal(format!("The demonstration went wrong: {error}."))),
        None => Ok(()),
    }
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Result<Value, Failure> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let result = client.call_tool(request).await.map_err(|error| failed(&error))?;
    Ok(result.structured_content.unwrap_or_default())
}

fn brief(answer: &Value) -> String {
    let text = answer.to_string();
    match text.char_indices().nth(160) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn shown(time: Duration) -> String {
    match time.as_micros() {
        micros @ 0..10_000 => format!("{:.2} ms", micros as f64 / 1000.0),
        micros => format!("{} ms", micros / 1000),
    }
}

/// The host cannot write archives; its driver can, from a directory and nothing.
async fn make_sample(gate: &Gate, place: &Path, archive: &Path) -> Result<(), Failure> {
    let contents = place.join("sample");
    for (path, text) in SAMPLE {
        let file = contents.join(path);
        std::fs::create_dir_all(file.parent().unwrap_or(&contents)).map_err(|error| failed(&error))?;
        std::fs::write(file, text).map_err(|error| failed(&error))?;
    }
    let dir = cap_std::fs::Dir::open_ambient_dir(&contents, cap_std::ambient_authority()).map_err(|error| failed(&error))?;
    let stage = std::fs::File::create_new(archive).map_err(|error| failed(&error))?;
    let add = |(path, text): &(&str, &str)| {
        let (path, size) = ((*path).to_owned(), text.len() as u64);
        Change::Add { path, kind: Kind::File, size, modified: 1_767_225_600, mode: 0o644 }
    };
    let changes: Vec<Change> = SAMPLE.iter().map(add).collect();
    let scratch = std::fs::File::options().read(true).write(true).create_new(true).open(place.join("scratch"));
    let scratch = Arc::new(scratch.map_err(|error| failed(&error))?);
    let (driver, cancel) = (gate.driver()?, CancellationToken::new());
    let ready = driver.prepare(&changes, &[], &dir, scratch, &cancel, |_| ()).await?;
    let stage = Stage { file: stage.into(), block_size: 0, underway: None };
    driver.pack(None, ready, stage, &gate.config.settings.security, &cancel).await?;
    Ok(())
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::internal(format!("The demonstration cannot go on: {error}."))
}
