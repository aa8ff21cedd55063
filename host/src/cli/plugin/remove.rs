//! `zipfs plugin remove`.

use serde_json::json;

use crate::cli::console::Console;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the plugin.
    pub name: String,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let gate = console.gate().await?;
    gate.store.remove(&args.name, &gate.cache)?;
    gate.grants.file().keep_only(&args.name, &[])?;
    gate.secrets.forget(&args.name)?;
    console.confirm(&json!({"removed": args.name}), |_| format!("Removed {}.\n", args.name))
}
