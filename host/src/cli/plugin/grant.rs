//! `zipfs plugin grant`.

use std::io::{IsTerminal, Read, Write};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::cli::console::Console;
use crate::failure::{Class, Failure};
use crate::gate::Gate;
use crate::plugins::Plugin;
use crate::plugins::grants::file::now;
use crate::plugins::grants::{Given, words};
use crate::plugins::places;
use crate::plugins::secrets::{MOST_BYTES, Secret, Secrets};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the plugin.
    pub name: String,
    /// What it is granted: http=HOST[:PORT][,METHOD…][,private], directory=NAME:/PATH[,read], env=NAME=VALUE, secret=NAME[@[http://]HOST],
    /// endpoint=NAME:ADDRESS[,ca=/PATH], root[=/PATH], limits, files, sessions. A secret is read from standard input.
    #[arg(required = true, value_name = "WHAT")]
    pub what: Vec<String>,
    /// When the grants end: 90m, 24h, 30d, or a time such as 2030-01-31T12:00:00Z.
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    pub expires: Option<Timestamp>,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let gate = console.gate().await?;
    let plugin = installed(gate, &args.name)?;
    let mut given = Vec::new();
    for word in &args.what {
        given.extend(words::parse(word, &plugin.manifest)?);
    }
    check_places(gate, &given)?;
    let labels: Vec<String> = given.iter().map(Given::label).collect();
    // Before the grant, so that there is no moment in which a call finds a grant without its secret.
    keep_secret(&gate.secrets, &args.name, read_secret(&given)?)?;
    gate.grants.file().add(&args.name, plugin.grant_digest(), given, args.expires)?;
    let until = args.expires.map(|time| time.to_string());
    let result = json!({"plugin": args.name, "granted": labels, "expires": until});
    console.confirm(&result, |_| {
        let until = until.as_deref().map(|time| format!(" until {time}")).unwrap_or_default();
        format!("Granted {} to {}{until}.\n", labels.join(", "), args.name)
    })
}

/// A directory that no call could be given is refused before anybody relies on it.
pub fn check_places(gate: &Gate, given: &[Given]) -> Result<(), Failure> {
    for given in given {
        if let Given::Directory { path, .. } | Given::Root { path: Some(path), .. } = given {
            places::open_ambient(path, gate.config.data.root())?;
        }
    }
    Ok(())
}

/// The plugin of that name.
pub fn installed(gate: &Gate, name: &str) -> Result<Arc<Plugin>, Failure> {
    let found = gate.registry().plugins.iter().find(|plugin| plugin.description.name == name).cloned();
    found.ok_or_else(|| {
        Failure::new(Class::NotFound, "PLUGIN_NOT_FOUND", format!("There is no plugin {name}."))
            .suggest("See what there is: zipfs plugin list")
    })
}

/// The value of the one secret among the grants, from standard input: on the command line others could see it.
pub fn read_secret(given: &[Given]) -> Result<Option<(String, Secret)>, Failure> {
    let mut names = given.iter().filter_map(|given| match given {
        Given::Secret { name, .. } => Some(name.clone()),
        _ => None,
    });
    let Some(name) = names.next() else { return Ok(None) };
    if names.next().is_some() {
        return Err(
            Failure::invalid("Standard input has room for one secret.").suggest("Grant the others one by one: zipfs plugin grant")
        );
    }
    let mut bytes = Vec::new();
    let read = match std::io::stdin().is_terminal() {
        true => read_hidden(&name, &mut bytes),
        false => std::io::stdin().take(MOST_BYTES + 1).read_to_end(&mut bytes).map(drop),
    };
    read.map_err(|error| Failure::internal(format!("Standard input cannot be read: {error}.")))?;
    Ok(Some((name, Secret::from_raw(bytes)?)))
}

pub fn keep_secret(secrets: &Secrets, plugin: &str, secret: Option<(String, Secret)>) -> Result<(), Failure> {
    match secret {
        Some((name, secret)) => secrets.put(plugin, &name, &secret),
        None => Ok(()),
    }
}

/// A line that the terminal does not show.
fn read_hidden(name: &str, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "The secret {name} (not shown): ");
    let _ = err.flush();
    tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    let mut line = String::new();
    let read = stdin.read_line(&mut line);
    tcsetattr(&stdin, OptionalActions::Flush, &before)?;
    let _ = writeln!(err);
    *bytes = line.into_bytes();
    read.map(drop)
}

/// `90m`, `24h`, `30d`, or a time.
pub fn expiry(text: &str) -> Result<Timestamp, String> {
    let wrong = || "not a length of time such as 90m, 24h or 30d, nor a time such as 2030-01-31T12:00:00Z".to_owned();
    let hours = |number: &str, hours: i64| {
        Some(SignedDuration::from_hours(number.parse::<u16>().ok()?.into()) * i32::try_from(hours).ok()?)
    };
    let length = match text.char_indices().last() {
        Some((at, 'm')) => text[..at].parse::<u16>().ok().map(|minutes| SignedDuration::from_mins(minutes.into())),
        Some((at, 'h')) => hours(&text[..at], 1),
        Some((at, 'd')) => hours(&text[..at], 24),
        _ => None,
    };
    let time = match length {
        Some(length) => now().checked_add(length).map_err(|_| wrong())?,
        None => text.parse::<Timestamp>().map_err(|_| wrong())?,
    };
    match time > now() {
        true => Ok(time),
        false => Err("a time that has passed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let in_seconds = |text: &str| (expiry(text).unwrap() - now()).get_seconds();
        for (text, seconds) in [("90m", 5400), ("24h", 86_400), ("30d", 2_592_000)] {
            assert!((in_seconds(text) - seconds).abs() <= 1, "{text}");
        }
        assert_eq!(expiry("2099-01-31T12:00:00Z").unwrap().to_string(), "2099-01-31T12:00:00Z");
        for odd in ["", "d", "-1d", "0m", "1y", "soon", "2001-01-01T00:00:00Z", "2099-01-31", "99999999d"] {
            assert!(expiry(odd).is_err(), "{odd}");
        }
    }
}
