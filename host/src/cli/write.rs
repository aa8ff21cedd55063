//! `zipfs write`.

use std::io::{IsTerminal, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::console::{Console, misused};
use super::fields::{count, number};
use super::output::shown;
use super::size;
use super::target::File;
use crate::failure::{Class, Failure};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub file: File,
    /// The new contents, which may be empty.
    #[arg(long, value_name = "TEXT", conflicts_with = "stdin", allow_hyphen_values = true)]
    pub content: Option<String>,
    /// Read the new contents from standard input, also from a terminal.
    #[arg(long)]
    pub stdin: bool,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let bytes = match &args.content {
        Some(text) => text.clone().into_bytes(),
        None if !args.stdin && std::io::stdin().is_terminal() => {
            return Err(misused("There is nothing to write.").suggest("Pipe it in, or use --content TEXT or --stdin."));
        }
        None => read_input(console)?,
    };
    let size = bytes.len() as u64;
    let arguments = match String::from_utf8(bytes) {
        Ok(text) => json!({"content": text}),
        Err(error) => json!({"content": STANDARD.encode(error.as_bytes()), "encoding": "base64"}),
    };
    let written = args.file.ask(console, "zipfs_write", arguments).await.map_err(|failure| match failure.class {
        // A tool gets its arguments whole, so what passes its memory cannot be written this way.
        Class::Limit | Class::Internal if size > ROOMY => too_large(console, size),
        _ => failure,
    })?;
    console.confirm(&written, |written| {
        format!("Wrote {} to {}.\n", count(number(written, "size_bytes"), "byte"), shown(args.file.path()))
    })
}

/// Contents from here on may be more than a guest's memory can hold.
const ROOMY: u64 = 4 << 20;

fn read_input(console: &Console) -> Result<Vec<u8>, Failure> {
    let most = console.config.settings.calls.memory_bytes;
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::internal(format!("Standard input cannot be read: {error}.")))?;
    match bytes.len() as u64 > most {
        true => Err(too_large(console, most)),
        false => Ok(bytes),
    }
}

fn too_large(console: &Console, bytes: u64) -> Failure {
    let memory = size::for_people(console.config.settings.calls.memory_bytes);
    let message = format!("{} or more are too much for one call in {memory} of memory.", size::for_people(bytes));
    Failure::limit(message).suggest("Copy the file into the directory that `zipfs path` prints, or raise calls.memory_bytes.")
}
