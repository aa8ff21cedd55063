//! `zipfs mcp`.

use crate::config::Config;
use crate::failure::Failure;
use crate::gate::Gate;
use crate::sandbox::Shape;
use crate::server::serve_stdio;

pub async fn run(config: Config) -> Result<(), Failure> {
    serve_stdio(Gate::open(config, Shape::Server).await?).await
}
