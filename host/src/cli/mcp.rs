//! `zipfs mcp`.

use crate::config::Config;
use crate::failure::Failure;
use crate::gate::Gate;
use crate::sandbox::Shape;
use crate::server::endpoint::{Callers, Endpoint};
use crate::server::serve_stdio;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Serve one plugin, under its own name and with its own names of tools.
    #[arg(long, value_name = "PLUGIN")]
    pub only: Option<String>,
}

pub async fn run(config: Config, args: &Args) -> Result<(), Failure> {
    let gate = Gate::open(config, Shape::Server).await?;
    serve_stdio(gate, Endpoint::new(args.only.as_deref(), Callers::Local)).await
}
