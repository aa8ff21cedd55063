//! `zipfs plugin info`: all that is known of one plugin.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::label::{Label, signed};
use crate::cli::console::Console;
use crate::cli::output::shown;
use crate::failure::Failure;
use crate::plugins::store::no_such;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the plugin.
    pub name: String,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let gate = console.gate().await?;
    let registry = gate.registry();
    let Ok(record) = gate.store.find(&args.name) else {
        let bundled = registry.plugins.iter().find(|plugin| plugin.description.name == args.name);
        let plugin = bundled.ok_or_else(|| no_such(&args.name))?;
        let result = json!({"name": args.name, "version": plugin.description.version, "bundled": true, "digest": plugin.digest,
                            "manifest": plugin.manifest, "description": plugin.description});
        return console.show(&result, |_| {
            format!("{} {}\n  part of zipfs itself\n  sha256:{}\n", args.name, plugin.description.version, plugin.digest)
        });
    };
    let label = Label {
        manifest: &record.manifest,
        description: &record.description,
        imports: &record.imports,
        digest: &record.digest,
        signed: &record.signed,
        source: &record.source,
    };
    let granted: Vec<Value> = gate
        .grants
        .file()
        .read()?
        .iter()
        .filter(|grant| grant.is_of(record.name(), &record.digest))
        .map(|grant| {
            let expires = grant.expires.map(|time| time.to_string());
            json!({"what": grant.given.label(), "expires": expires, "granted_at": grant.granted_at.to_string(),
                   "expired": grant.is_expired(Timestamp::now())})
        })
        .collect();
    let is_used = registry.plugins.iter().any(|plugin| plugin.digest == record.digest);
    let result = json!({
        "name": record.name(), "version": record.manifest.version, "bundled": false, "digest": record.digest, "source": record.source,
        "signed": record.signed, "added_at": record.added_at, "updated_at": record.updated_at, "usable": is_used,
        "granted": granted, "imports": record.imports, "exports": record.exports, "cannot": label.cannot(),
        "manifest": record.manifest, "description": record.description,
    });
    console.show(&result, |_| {
        let mut text = label.text();
        text += "  was granted\n";
        for grant in &granted {
            let until = grant["expires"].as_str().map(|time| format!(" until {time}")).unwrap_or_default();
            let over = if grant["expired"] == true { ", which has passed" } else { "" };
            text += &format!("    {}{until}{over}\n", shown(grant["what"].as_str().unwrap_or_default()));
        }
        if granted.is_empty() {
            text += "    nothing\n";
        }
        text += &format!("  added {}", record.added_at);
        if let Some(updated) = &record.updated_at {
            text += &format!(", updated {updated}");
        }
        if !is_used {
            text += &format!("\n  CANNOT BE USED now: {}; see zipfs plugin verify {}", signed(&record.signed), record.name());
        }
        text + "\n"
    })
}
