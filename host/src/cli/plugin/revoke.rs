//! `zipfs plugin revoke`.

use serde_json::json;

use crate::cli::console::Console;
use crate::failure::{Class, Failure};
use crate::plugins::grants::Given;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the plugin.
    pub name: String,
    /// What is taken away: a kind (http), a name (http=HOST, directory=NAME, env=NAME, secret=NAME, endpoint=NAME). Without it,
    /// everything.
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let gate = console.gate().await?;
    let is_meant = |given: &Given| args.what.is_empty() || args.what.iter().any(|word| given.is_meant_by(word));
    let revoked: Vec<Given> = gate.grants.file().change(|grants| {
        // Under whatever digest: a grant to a version that is not there any more is one that nobody wants to keep.
        let (gone, kept) =
            std::mem::take(grants).into_iter().partition(|grant| grant.plugin == args.name && is_meant(&grant.given));
        *grants = kept;
        Ok(gone.into_iter().map(|grant| grant.given).collect::<Vec<Given>>())
    })?;
    if let Some(word) = args.what.iter().find(|word| !revoked.iter().any(|given| given.is_meant_by(word))) {
        return Err(Failure::new(Class::NotFound, "GRANT_NOT_FOUND", format!("The plugin {} was not granted {word}.", args.name))
            .suggest("See what there is: zipfs plugin list --json"));
    }
    for given in &revoked {
        if let Given::Secret { name, .. } = given {
            gate.secrets.remove(&args.name, name)?;
        }
    }
    let labels: Vec<String> = revoked.iter().map(Given::label).collect();
    let result = json!({"plugin": args.name, "revoked": labels});
    console.confirm(&result, |_| match labels.is_empty() {
        true => format!("{} had no grants.\n", args.name),
        false => format!("Revoked {} from {}.\n", labels.join(", "), args.name),
    })
}
