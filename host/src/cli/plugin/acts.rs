//! What the audit log says of a command that changes which plugins there are, or what they may do.

use serde_json::{Value, json};

use super::PluginCommand;
use crate::audit::Act;

/// The act that a command is. `None` for one that only looks, or works on an author's own files.
pub(super) fn of(command: &PluginCommand) -> Option<Act> {
    let act = |what| Act::new("local", "cli", what);
    Some(match command {
        PluginCommand::Add(args) => act("plugin-add").about("source", args.source.as_str()).about("granted", things(&args.grants)),
        PluginCommand::Grant(args) => act("plugin-grant").about("plugin", args.name.as_str()).about("granted", things(&args.what)),
        PluginCommand::Revoke(args) => {
            act("plugin-revoke").about("plugin", args.name.as_str()).about("revoked", things(&args.what))
        }
        PluginCommand::Update(args) => act("plugin-update")
            .about("plugin", args.name.as_deref().unwrap_or("all"))
            .about("source", json!(args.from))
            .about("approved", args.approve.is_some())
            .about("granted", things(&args.grants)),
        PluginCommand::Remove(args) => act("plugin-remove").about("plugin", args.name.as_str()),
        _ => return None,
    })
}

/// What was named, without the value of a variable: it may be a secret.
fn things(what: &[String]) -> Value {
    let named = |thing: &String| match thing.strip_prefix("env=").or_else(|| thing.strip_prefix("environment=")) {
        Some(variable) => format!("env={}", variable.split('=').next().unwrap_or_default()),
        None => thing.clone(),
    };
    json!(what.iter().map(named).collect::<Vec<_>>())
}
