//! `zipfs read`: a whole file, however long, in calls of a bounded size.

use std::io::IsTerminal;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::console::Console;
use super::fields::{number, text, truth};
use super::output::{print, print_bytes, print_json, shown};
use super::target::File;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub file: File,
    /// Print the bytes as they are, also if they are no text.
    #[arg(long)]
    pub raw: bool,
    /// First byte to print.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub offset: u64,
    /// How many bytes to print; all if left out.
    #[arg(long, value_name = "BYTES")]
    pub limit: Option<u64>,
}

/// What one call reads. A multiple of three, so that pieces in base64 can follow one another.
const PIECE: u64 = 3 << 19;

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let mut file = Pieces { console, args, offset: args.offset, left: args.limit.unwrap_or(u64::MAX), total: 0, ended: false };
    if console.json {
        return as_json(&mut file).await;
    }
    let first = file.next().await?.unwrap_or_default();
    let is_text = args.raw || is_text(&first, file.ended);
    if !is_text {
        console.remark("warning: the file is not text; printing base64 (use --raw for the bytes as they are)");
    }
    let mut piece = Some(first);
    while let Some(bytes) = piece {
        let read = match is_text {
            true => write(&bytes, args.raw)?,
            false => print_bytes(STANDARD.encode(&bytes).as_bytes())?,
        };
        if !read {
            return Ok(());
        }
        piece = file.next().await?;
    }
    if is_text { Ok(()) } else { print("\n") }
}

/// Whoever looks at a terminal is spared its control codes; everybody else gets every byte.
fn write(bytes: &[u8], raw: bool) -> Result<bool, Failure> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !raw && std::io::stdout().is_terminal() => print_bytes(shown(text).as_bytes()),
        _ => print_bytes(bytes),
    }
}

/// Whether this can be the beginning of a text: a character may be cut in two where the piece ends, not where the file does.
fn is_text(bytes: &[u8], is_all: bool) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && !is_all && error.valid_up_to() > 0,
    }
}

/// One object in the shape of the tool's own answer, with all of what was asked for in it.
async fn as_json(file: &mut Pieces<'_>) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    while let Some(piece) = file.next().await? {
        bytes.extend(piece);
    }
    let size = bytes.len() as u64;
    let (content, encoding) = match String::from_utf8(bytes) {
        Ok(text) => (text, "utf-8"),
        Err(error) => (STANDARD.encode(error.as_bytes()), "base64"),
    };
    let eof = file.args.offset.saturating_add(size) >= file.total;
    print_json(&json!({"content": content, "size_bytes": size, "encoding": encoding, "total_size_bytes": file.total, "eof": eof}))
}

/// The file, piece by piece.
struct Pieces<'a> {
    console: &'a Console,
    args: &'a Args,
    offset: u64,
    left: u64,
    /// Size of the whole file.
    total: u64,
    ended: bool,
}

impl Pieces<'_> {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        if self.ended {
            return Ok(None);
        }
        let arguments = json!({"encoding": "base64", "offset": self.offset, "limit": PIECE.min(self.left)});
        let answer: Value = self.args.file.ask(self.console, "zipfs_read", arguments).await?;
        let broken = |error| Failure::internal(format!("The tool's answer is not base64: {error}."));
        let bytes = STANDARD.decode(text(&answer, "content")).map_err(broken)?;
        self.offset += bytes.len() as u64;
        self.left -= (bytes.len() as u64).min(self.left);
        self.total = number(&answer, "total_size_bytes");
        // A file that became shorter meanwhile has no more to give either.
        self.ended = truth(&answer, "eof") || self.left == 0 || bytes.is_empty();
        Ok(Some(bytes))
    }
}
