//! `zipfs plugin verify`: whether what is on disk is what was admitted.

use serde_json::{Value, json};

use super::label::signed;
use crate::cli::console::Console;
use crate::failure::{Class, Failure};
use crate::gate::Gate;
use crate::plugins::anatomy::dissect;
use crate::plugins::cache::{Stored, read_component};
use crate::plugins::signature::required;
use crate::plugins::store::Record;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the plugin. By default all of them.
    pub name: Option<String>,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let gate = console.gate().await?;
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => gate.store.names()?,
    };
    let mut checked = Vec::new();
    let mut wrong = 0;
    for name in names {
        let (state, problems) = match gate.store.find(&name) {
            Ok(record) => check(gate, &record),
            // A name that somebody typed is no damage.
            Err(failure) if args.name.is_some() && failure.class == Class::NotFound => return Err(failure),
            Err(failure) => (json!({}), vec![failure.message]),
        };
        wrong += usize::from(!problems.is_empty());
        checked.push(json!({"name": name, "good": problems.is_empty(), "problems": problems, "state": state}));
    }
    let result = json!({"plugins": checked, "wrong": wrong});
    console.show(&result, words)?;
    match wrong {
        0 => Ok(()),
        _ => Err(Failure::new(
            Class::Forbidden,
            "PLUGIN_CHANGED",
            format!("{wrong} of {} plugins are not as they were admitted.", checked.len()),
        )
        .suggest("Remove those and add them again from a source that you trust.")),
    }
}

fn check(gate: &Gate, record: &Record) -> (Value, Vec<String>) {
    let mut problems = Vec::new();
    let path = gate.store.component(record.name(), &record.digest);
    let stored = Stored { name: record.name(), path: &path, digest: &record.digest, signature: record.signature.as_deref() };
    let mut standing = None;
    match read_component(&stored) {
        Err(failure) => problems.push(failure.message),
        Ok(wasm) => match dissect(&wasm).and_then(|anatomy| gate.cache.trust().keys.check(&wasm, &anatomy, stored.signature)) {
            Err(failure) => problems.push(failure.message),
            Ok(found) => {
                if gate.cache.trust().required && !found.is_trusted() {
                    problems.push(required(record.name(), &found).message);
                }
                standing = Some(found);
            }
        },
    }
    let grants = gate.grants.file().read().unwrap_or_else(|failure| {
        problems.push(failure.message);
        Vec::new()
    });
    let own = grants.iter().filter(|grant| grant.is_of(record.name(), &record.digest));
    let (fitting, beyond): (Vec<_>, Vec<_>) = own.partition(|grant| record.manifest.asks_for_given(&grant.given));
    for grant in beyond {
        problems.push(format!("It was granted {}, which it does not ask for.", grant.given.label()));
    }
    for grant in grants.iter().filter(|grant| grant.plugin == record.name() && grant.digest != record.digest) {
        problems.push(format!("There is a grant of {} for another version of it.", grant.given.label()));
    }
    let missing = record.manifest.ungranted(fitting.iter().map(|grant| &grant.given));
    let code = gate.cache.state(&gate.sandbox, &record.digest);
    if code == Some(false) {
        problems.push("The compiled code in the cache was not made by this installation.".to_owned());
    }
    let state = json!({
        "digest": record.digest,
        "granted": fitting.iter().map(|grant| grant.given.label()).collect::<Vec<_>>(),
        "not_granted": missing.iter().map(|ask| ask.what.clone()).collect::<Vec<_>>(),
        "signature": standing.as_ref().map(signed),
        "code": match code { None => "made at the next call", Some(true) => "in the cache", Some(false) => "not ours" },
    });
    (state, problems)
}

fn words(result: &Value) -> String {
    let mut text = String::new();
    for plugin in result["plugins"].as_array().into_iter().flatten() {
        let word = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
        let mark = if plugin["good"] == true { "good " } else { "WRONG" };
        let state = &plugin["state"];
        text += &format!("{mark}  {}  {}, code {}\n", word(&plugin["name"]), word(&state["signature"]), word(&state["code"]));
        for problem in plugin["problems"].as_array().into_iter().flatten() {
            text += &format!("       {}\n", word(problem));
        }
    }
    match text.is_empty() {
        true => "No plugins were added.\n".to_owned(),
        false => text,
    }
}
