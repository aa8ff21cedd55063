//! Where in an author's directory the component is.

use std::path::{Path, PathBuf};

use crate::failure::{Class, Failure};

/// Where the toolchains leave what they built, as seen from the directory of `plugin.toml`.
const OUTPUTS: [&str; 4] = ["", "dist", "build", "target/wasm32-wasip2/release"];

/// The one component of a directory.
pub fn component_in(directory: &Path) -> Result<PathBuf, Failure> {
    for output in OUTPUTS {
        let mut found = components(&directory.join(output));
        match (found.pop(), found.len()) {
            (Some(only), 0) => return Ok(only),
            (Some(_), _) => {
                return Err(Failure::invalid(format!("{} holds more than one .wasm file.", directory.join(output).display()))
                    .suggest("Leave the one that is meant."));
            }
            (None, _) => {}
        }
    }
    Err(Failure::new(Class::NotFound, "PLUGIN_NOT_FOUND", format!("There is no .wasm file in {}.", directory.display()))
        .suggest("Build the plugin first; its README.md says how."))
}

fn components(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "wasm")).collect()
}
