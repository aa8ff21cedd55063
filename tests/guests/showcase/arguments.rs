//! What a tool is given: arguments, a client, a workspace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::{Error, NoArguments, fs};

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Some text.
    #[schemars(length(min = 1, max = 10))]
    text: String,
    /// How often.
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 5))]
    count: u32,
    /// In which voice.
    #[serde(default)]
    mode: Mode,
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Normal,
    Loud,
    Quiet,
}

fn once() -> u32 {
    1
}

pub fn show(arguments: Arguments) -> Result<Arguments, Error> {
    Ok(arguments)
}

#[derive(Serialize, JsonSchema)]
pub struct Client {
    elicitation: bool,
    sampling: bool,
    roots: bool,
    revision: String,
}

pub fn client(_: NoArguments) -> Result<Client, Error> {
    let able = zipfs_sdk::client::abilities();
    Ok(Client {
        elicitation: able.elicitation,
        sampling: able.sampling,
        roots: able.roots,
        revision: zipfs_sdk::client::revision(),
    })
}

#[derive(Serialize, JsonSchema)]
pub struct Counted {
    files: usize,
}

pub fn count_files(_: NoArguments) -> Result<Counted, Error> {
    let entries = fs::workspace()?.read_dir()?;
    Ok(Counted { files: entries.iter().filter(|entry| entry.kind == fs::Kind::File).count() })
}
