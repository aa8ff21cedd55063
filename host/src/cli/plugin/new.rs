//! `zipfs plugin new`: a project that builds and passes its own tests.

use std::path::PathBuf;

use serde_json::json;

use crate::author::scaffold::{Language, write};
use crate::cli::console::Console;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the plugin: words of a-z and 0-9 with `-` between them.
    pub name: String,
    /// The language.
    #[arg(long, value_enum, default_value = "rust")]
    pub lang: Language,
    /// Where to make the project; unless said otherwise in a directory with the name of the plugin.
    #[arg(long)]
    pub directory: Option<PathBuf>,
}

pub fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let directory = args.directory.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    let written = write(&directory, &args.name, args.lang)?;
    let build = match args.lang {
        Language::Rust => "cargo build --release --target wasm32-wasip2",
        Language::Js => "npm install && npm run build",
        Language::Python => "see its README.md for how to build it",
    };
    let result = json!({"directory": directory, "files": written.len(), "build": build});
    console.confirm(&result, |_| {
        let shown = directory.display();
        format!(
            "Made {shown} with {} files. Next:\n\n    cd {shown}\n    {build}\n    zipfs plugin test\n    zipfs plugin add .\n",
            written.len()
        )
    })
}
