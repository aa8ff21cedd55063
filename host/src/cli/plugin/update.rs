//! `zipfs plugin update`: new code takes the place of the old; anything that an agent would read or a person would have to grant
//! is shown first, and waits.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::get::{Getting, get};
use super::grant;
use crate::cli::console::{Console, misused};
use crate::cli::output::{print, shown as printable};
use crate::failure::{Class, Failure};
use crate::plugins::difference::between;
use crate::plugins::grants::words;
use crate::plugins::manifest::Ask;
use crate::plugins::source::parse_digest;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the plugin.
    #[arg(required_unless_present = "all")]
    pub name: Option<String>,
    /// Look for newer versions of all plugins, each where it came from.
    #[arg(long, conflicts_with_all = ["name", "from", "approve", "grants", "digest"])]
    pub all: bool,
    /// Take it from there, now and from now on.
    #[arg(long, value_name = "SOURCE")]
    pub from: Option<String>,
    /// Take a version that changes what was agreed to: the one that was shown, by its digest, or whatever comes.
    #[arg(long, value_name = "sha256:…", num_args = 0..=1, require_equals = true)]
    pub approve: Option<Option<String>>,
    /// Grant what the new version asks for in addition.
    #[arg(long = "grant", value_name = "WHAT")]
    pub grants: Vec<String>,
    /// When these grants end: 90m, 24h, 30d, or a time such as 2030-01-31T12:00:00Z.
    #[arg(long, value_name = "WHEN", value_parser = grant::expiry)]
    pub expires: Option<Timestamp>,
    /// Update it although it was not granted what it asks for.
    #[arg(long)]
    pub without_grants: bool,
    #[command(flatten)]
    pub getting: Getting,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    if !args.all {
        let name = args.name.as_deref().ok_or_else(|| misused("Which plugin?"))?;
        let result = update(console, args, name).await?;
        return console.confirm(&result, words);
    }
    let names = console.gate().await?.store.names()?;
    let (mut results, mut failed) = (Vec::new(), Vec::new());
    for name in names {
        match update(console, args, &name).await {
            Ok(result) => results.push(result),
            Err(failure) => {
                results.push(json!({"name": name, "failed": failure.code, "why": failure.message}));
                failed.push(failure);
            }
        }
    }
    let all = json!({"plugins": results});
    console.confirm(&all, |_| results.iter().map(words).collect())?;
    match failed.len() {
        0 => Ok(()),
        1 => Err(failed.remove(0)),
        several => Err(Failure::new(Class::Forbidden, "UPDATE_INCOMPLETE", format!("{several} plugins were not updated."))
            .suggest("Update each by its name to see what it needs.")),
    }
}

async fn update(console: &Console, args: &Args, name: &str) -> Result<Value, Failure> {
    let gate = console.gate().await?;
    let before = gate.store.find(name)?;
    let candidate = get(console, args.from.as_deref().unwrap_or(&before.source), &args.getting).await?;
    if candidate.description.name != name {
        return Err(Failure::new(
            Class::Conflict,
            "OTHER_PLUGIN",
            format!("What is there is the plugin {}, not {name}.", candidate.description.name),
        )
        .suggest("Add it under its own name: zipfs plugin add"));
    }
    let (version, digest) = (candidate.manifest.version.clone(), candidate.digest.clone());
    let told =
        |state: &str| json!({"name": name, "from": before.manifest.version, "to": version, "digest": digest, "state": state});
    if digest == before.digest {
        return Ok(told("up-to-date"));
    }
    let difference = between(&before, &candidate.record(Some(&before)));
    if !difference.reasons.is_empty() {
        let approved = match &args.approve {
            None => false,
            Some(None) => true,
            Some(Some(shown)) => parse_digest(shown)? == digest,
        };
        if !approved {
            if !console.quiet && !console.json {
                print(&printable(&difference.text))?;
            }
            return Err(held(name, &version, &digest, &difference.reasons, &difference.text));
        }
    }
    let desk = gate.desk();
    let mut given = Vec::new();
    for word in &args.grants {
        given.extend(words::parse(word, &candidate.manifest)?);
    }
    let had = desk.grants.read()?;
    let had: Vec<_> = had.iter().filter(|grant| grant.is_of(name, &before.digest)).map(|grant| &grant.given).collect();
    let inherited = candidate.inherited(&desk, &before)?;
    let missing = candidate.manifest.ungranted(given.iter().chain(inherited.iter().map(|grant| &grant.given)));
    // Who did without something before does without it again.
    let missed = before.manifest.ungranted(had.iter().copied());
    let missing: Vec<Ask> =
        missing.into_iter().filter(|ask| !missed.iter().any(|old| old.flag == ask.flag && old.what == ask.what)).collect();
    if !missing.is_empty() && !args.without_grants {
        return Err(not_granted(name, &missing));
    }
    grant::check_places(gate, &given)?;
    let secret = grant::read_secret(&given)?;
    grant::keep_secret(&gate.secrets, name, secret)?;
    candidate.replace(&desk, &before, given, args.expires)?;
    Ok(told("updated"))
}

fn not_granted(name: &str, missing: &[Ask]) -> Failure {
    let what: Vec<&str> = missing.iter().map(|ask| ask.what.as_str()).collect();
    let flags: Vec<String> = missing.iter().map(|ask| format!("--grant {}", ask.flag)).collect();
    Failure::new(Class::Forbidden, "GRANT_NEEDED", format!("The new version of {name} asks for more: {}.", what.join("; ")))
        .suggest(format!("If you agree, add: {}. To update it without: --without-grants", flags.join(" ")))
}

fn held(name: &str, version: &str, digest: &str, reasons: &[String], text: &str) -> Failure {
    Failure::new(
        Class::Forbidden,
        "UPDATE_HELD",
        format!("{name} {version} is not taken without being approved. {}", reasons.join(" ")),
    )
    .suggest(format!("If you agree with the difference: zipfs plugin update {name} --approve=sha256:{digest}"))
    .details(json!({"digest": digest, "reasons": reasons, "difference": text}))
}

fn words(result: &Value) -> String {
    let text = |key: &str| result[key].as_str().unwrap_or_default();
    match text("state") {
        "updated" => format!("Updated {} from {} to {}.\n", text("name"), text("from"), text("to")),
        "up-to-date" => format!("{} {} is up to date.\n", text("name"), text("from")),
        _ => format!("{} was not updated: {}: {}\n", text("name"), text("failed"), text("why")),
    }
}
