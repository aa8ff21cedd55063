//! `fs.readFile`: a file as one string.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs::{self, Kind};
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Outcome, Tool};

use crate::limit::max_file_bytes;
use crate::place::Place;

const DESCRIPTION: &str = "\
Reads a file. Returns its text, or base64 of its bytes if they are not UTF-8, as one bare string. With meta the result is {content, \
encoding}, which says which of the two it is. Files over a limit (10 MiB unless the server says otherwise) are refused.";

pub fn tool() -> Tool {
    Tool::new("fs.readFile", DESCRIPTION, read)
        .title("Read file")
        .reads()
        .uses("environment")
        .meta(|| serde_json::json!({ "anthropic/maxResultSizeChars": 500_000 }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, relative to the root; a leading '/' is the root.
    path: PathArgument,
    /// Also say how the contents are encoded.
    #[serde(default)]
    meta: bool,
}

#[derive(Serialize)]
struct Contents {
    content: String,
    /// 'utf-8' or 'base64'.
    encoding: &'static str,
}

fn read(arguments: Arguments) -> Result<Outcome, Error> {
    let place = Place::of(&arguments.path)?;
    let most = max_file_bytes()?;
    let workspace = fs::workspace()?;
    let failed = |error| place.failed(error);
    // Looked at before it is opened: a pipe would wait for whoever writes to it, and a large file needs no reading.
    let stat = workspace.stat_target(place.path.as_str()).map_err(failed)?;
    if stat.kind != Kind::File {
        return Err(place.not_found("is not a file"));
    }
    let too_large = |size: u64| place.value_error(format!("The file has {size} bytes, more than the limit of {most}."));
    if stat.size > most {
        return Err(too_large(stat.size));
    }
    let file = workspace.open_file(place.path.as_str()).map_err(failed)?;
    // One more than allowed, so that a file that grew meanwhile is noticed.
    let bytes = file.read_at(0, usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1)).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(too_large(bytes.len() as u64));
    }
    let (content, encoding) = match String::from_utf8(bytes) {
        Ok(text) => (text, "utf-8"),
        Err(binary) => (STANDARD.encode(binary.as_bytes()), "base64"),
    };
    // The bare string is the whole answer: carrying it a second time, as a structure, would double what ten megabytes weigh.
    match arguments.meta {
        true => Outcome::new().structured(&Contents { content, encoding }),
        false => Ok(Outcome::new().text(content)),
    }
}
