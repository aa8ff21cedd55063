//! Plugins on this machine: a component, or a directory with one and its plugin.toml.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Fetched, Wanted, too_large};
use crate::author::project::component_in;
use crate::failure::{Class, Failure};

/// A plugin.toml and a signature are read by people; both are a few hundred bytes.
const MOST_TEXT: u64 = 64 << 10;

pub(super) fn read_ambient(path: &Path, wanted: &Wanted<'_>) -> Result<Fetched, Failure> {
    let (component, manifest) = locate(path)?;
    let most = wanted.settings.max_component_bytes;
    let wasm = read_bounded(&component, most)?;
    let signature_path = PathBuf::from(format!("{}.minisig", component.display()));
    let signature = match signature_path.exists() {
        true => Some(read_text(&signature_path)?),
        false => None,
    };
    let label = component.file_stem().and_then(|stem| stem.to_str()).unwrap_or("plugin").to_owned();
    Ok(Fetched { wasm, manifest, signature, label, source: path.display().to_string() })
}

/// The component, and the text of the plugin.toml in its directory if a directory was named.
fn locate(path: &Path) -> Result<(PathBuf, Option<String>), Failure> {
    if !path.is_dir() {
        return Ok((path.to_owned(), None));
    }
    let manifest = read_text(&path.join("plugin.toml"))?;
    Ok((component_in(path)?, Some(manifest)))
}

/// Reads at most so much, whatever the file says of its size: it may be a pipe, or grow.
fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let file = std::fs::File::open(path).map_err(|error| not_readable(path, &error))?;
    let found = file.metadata().map_err(|error| not_readable(path, &error))?;
    if !found.is_file() {
        return Err(Failure::new(Class::Invalid, "PLUGIN_INVALID", format!("{} is not a regular file.", path.display())));
    }
    let mut bytes = Vec::with_capacity(found.len().min(most) as usize);
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| not_readable(path, &error))?;
    match bytes.len() as u64 > most {
        true => Err(too_large(&path.display().to_string(), most)),
        false => Ok(bytes),
    }
}

fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read_bounded(path, MOST_TEXT)?)
        .map_err(|_| Failure::invalid(format!("{} is not UTF-8.", path.display())).suggest("Correct the file."))
}

pub(super) fn not_readable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Class::NotFound, "PLUGIN_NOT_FOUND", format!("{} cannot be read: {error}.", path.display()))
        .suggest("Name a .wasm file, or a directory with plugin.toml and one .wasm file.")
}
