//! Getting a plugin from where it is, and looking at it: what `add` and `update` begin with.

use crate::cli::console::Console;
use crate::cli::progress::Progress;
use crate::failure::Failure;
use crate::plugins::admission::{Candidate, examine};
use crate::plugins::source::{Source, Wanted, parse_digest};

/// What is typed about where a plugin comes from.
#[derive(Debug, clap::Args)]
pub struct Getting {
    /// Take the plugin only if it has this SHA-256.
    #[arg(long, value_name = "sha256:…")]
    pub digest: Option<String>,
    /// Allow connections that are not encrypted to leave this machine.
    #[arg(long)]
    pub allow_http: bool,
}

/// Gets a plugin, with its progress on the terminal if there is one, and examines it. Nothing is kept of it yet.
pub async fn get(console: &Console, source: &str, getting: &Getting) -> Result<Candidate, Failure> {
    let source = Source::parse_ambient(source)?;
    let digest = getting.digest.as_deref().map(parse_digest).transpose()?;
    let bar = Progress::new("Getting", console.quiet || matches!(source, Source::Path(_)));
    let wanted = Wanted {
        settings: &console.config.settings.plugins,
        digest: digest.as_deref(),
        allow_http: getting.allow_http,
        watch: &|done, total| bar.bytes(done, total),
    };
    let fetched = source.fetch_ambient(&wanted).await;
    bar.clear();
    let fetched = fetched?;
    let gate = console.gate().await?;
    let bar = Progress::new("Compiling", console.quiet);
    let candidate = examine(fetched, &gate.sandbox, &gate.cache).await;
    bar.clear();
    candidate
}
