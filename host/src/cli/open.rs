//! `zipfs open`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::console::{Console, misused};
use super::fields::{number, text, texts};
use super::output::shown;
use super::size;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The archive: .zip, .docx, .xlsx, .epub, .jar …
    pub archive: PathBuf,
    /// A name for the session, to be used in place of its id.
    #[arg(long, short)]
    pub name: Option<String>,
    /// How many bytes the session may hold, now and later in this command; also as 512M or 2G.
    #[arg(long, value_name = "BYTES", value_parser = size::parse)]
    pub max_size: Option<u64>,
}

pub async fn run(console: &mut Console, args: &Args) -> Result<(), Failure> {
    if let Some(bytes) = args.max_size {
        console.config.set_max_size(bytes);
    }
    let path = absolute(&args.archive)?;
    let path = path.to_str().ok_or_else(|| misused(format!("The path {} is not text.", path.display())))?;
    let mut arguments = json!({"path": path});
    if let Some(name) = &args.name {
        arguments["name"] = json!(name);
    }
    let opened = console.watch("Opening", "zipfs_open", arguments).await?;
    for warning in texts(&opened, "warnings") {
        console.remark(&format!("warning: {warning}"));
    }
    let links: Vec<&str> = texts(&opened, "skipped_symlinks").collect();
    if !links.is_empty() {
        console.remark(&format!("warning: links stay in the archive and are not extracted: {}", links.join(", ")));
    }
    console.show(&opened, |opened| if console.quiet { handle(opened) } else { words(opened) })
}

/// The file itself is not resolved: whether it may be a link is not decided here.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let unusable = |error: std::io::Error| misused(format!("The path {} cannot be used: {error}.", path.display()));
    let path = std::path::absolute(path).map_err(unusable)?;
    let directory = path.parent().and_then(|parent| parent.canonicalize().ok());
    Ok(match (directory, path.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        _ => path,
    })
}

/// What to call the session from now on, for scripts.
fn handle(opened: &Value) -> String {
    let name = text(opened, "name");
    format!("{}\n", if name.is_empty() { text(opened, "session_id") } else { name })
}

fn words(opened: &Value) -> String {
    let name = text(opened, "name");
    format!(
        "id         {}\nname       {}\nworkspace  {}\nfiles      {}\nsize       {}\n",
        text(opened, "session_id"),
        if name.is_empty() { "(none)" } else { name },
        shown(text(opened, "workspace_path")),
        number(opened, "file_count"),
        size::for_people(number(opened, "extracted_size_bytes")),
    )
}
