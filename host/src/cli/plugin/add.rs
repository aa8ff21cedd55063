//! `zipfs plugin add`: what a component can do is shown before it is let in.

use std::io::{IsTerminal, Write};

use jiff::Timestamp;
use serde_json::json;

use super::get::{Getting, get};
use super::grant;
use super::label::Label;
use crate::cli::console::Console;
use crate::cli::output::print;
use crate::failure::{Class, Failure};
use crate::plugins::admission::Candidate;
use crate::plugins::grants::{Given, words};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A .wasm file, a directory with plugin.toml and one .wasm file, an https:// address, or an oci:// reference.
    pub source: String,
    /// Do not ask, if the plugin needs nothing beyond the session's workspace.
    #[arg(long)]
    pub yes: bool,
    /// Grant something that the plugin asks for: http=HOST[:PORT], directory=NAME:/PATH, env=NAME=VALUE, secret=NAME …
    #[arg(long = "grant", value_name = "WHAT")]
    pub grants: Vec<String>,
    /// When the grants end: 90m, 24h, 30d, or a time such as 2030-01-31T12:00:00Z.
    #[arg(long, value_name = "WHEN", value_parser = grant::expiry)]
    pub expires: Option<Timestamp>,
    /// Add it although it was not granted what it asks for.
    #[arg(long)]
    pub without_grants: bool,
    #[command(flatten)]
    pub getting: Getting,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let candidate = get(console, &args.source, &args.getting).await?;
    let gate = console.gate().await?;
    // Before anybody is asked to decide about something that cannot be.
    gate.registry().check_clash(&candidate.description.name, &candidate.description.tools)?;
    let label = label(&candidate);
    if !console.quiet && !console.json {
        print(&label.text())?;
    }
    let cannot = label.cannot();
    let given = decide(&candidate, args)?;
    grant::check_places(gate, &given)?;
    let secret = grant::read_secret(&given)?;
    let (digest, signed, source) = (candidate.digest.clone(), candidate.signed.clone(), candidate.source.clone());
    let added = candidate.admit(&gate.desk(), given, args.expires)?;
    grant::keep_secret(&gate.secrets, &added.name, secret)?;
    let result = json!({"added": added.name, "version": added.version, "digest": digest, "signed": signed, "source": source,
                        "cannot": cannot});
    console.confirm(&result, |_| format!("Added {} {}.\n", added.name, added.version))
}

pub fn label(candidate: &Candidate) -> Label<'_> {
    Label {
        manifest: &candidate.manifest,
        description: &candidate.description,
        imports: &candidate.anatomy.imports,
        digest: &candidate.digest,
        signed: &candidate.signed,
        source: &candidate.source,
    }
}

/// The grants, if somebody decided. What goes beyond the workspace has to be named; nobody says yes to it in passing.
fn decide(candidate: &Candidate, args: &Args) -> Result<Vec<Given>, Failure> {
    let mut given = Vec::new();
    for word in &args.grants {
        given.extend(words::parse(word, &candidate.manifest)?);
    }
    let missing = candidate.manifest.ungranted(given.iter());
    if !missing.is_empty() && !args.without_grants {
        let what: Vec<&str> = missing.iter().map(|ask| ask.what.as_str()).collect();
        let flags: Vec<String> = missing.iter().map(|ask| format!("--grant {}", ask.flag)).collect();
        return Err(Failure::new(
            Class::Forbidden,
            "GRANT_NEEDED",
            format!("The plugin asks for more than the workspace: {}.", what.join("; ")),
        )
        .suggest(format!("If you agree, add: {}. To add it without: --without-grants", flags.join(" "))));
    }
    if args.yes || !args.grants.is_empty() || confirmed()? {
        return Ok(given);
    }
    Err(Failure::new(Class::Forbidden, "NOT_CONFIRMED", "The plugin was not added.").suggest("Confirm, or use --yes."))
}

fn confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "Add it? [y/N] ");
    let _ = err.flush();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| Failure::internal(format!("No answer: {error}.")))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
