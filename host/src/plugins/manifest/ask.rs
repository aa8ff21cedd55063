//! A manifest as the list that a person decides on.

use super::{DirectoryAccess, EndpointKind, Manifest};
use crate::plugins::grants::Given;
use crate::sandbox::egress::HostPattern;

/// One thing that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// As in the grants: `http`, `directory`, `limits` …
    pub kind: &'static str,
    /// In words: `GET, POST to https://api.example.com`.
    pub what: String,
    /// What is typed after `--grant`, with words in capitals where only a person knows.
    pub flag: String,
    pub why: String,
    /// Whether the plugin is meant to work without.
    pub optional: bool,
    index: usize,
}

impl Manifest {
    /// Everything beyond the workspace.
    pub fn asks(&self) -> Vec<Ask> {
        let mut all = Vec::new();
        let mut add = |kind: &'static str, index: usize, what: String, flag: String, why: &str| {
            all.push(Ask { kind, what, flag, why: why.to_owned(), optional: kind == "root", index });
        };
        for (capability, why) in &self.capabilities {
            add(capability.name(), 0, format!("the interface `{}`", capability.name()), capability.name().to_owned(), why);
        }
        for (index, ask) in self.http.iter().enumerate() {
            let rule = ask.rule();
            let scheme = rule.scheme.map_or("http or https", |scheme| scheme.name());
            let methods = ask.methods.join(", ");
            let port = rule.port.filter(|port| rule.scheme.is_none_or(|scheme| scheme.default_port() != *port));
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            match &ask.host {
                HostPattern::Any => {
                    add("http", index, format!("{methods} to a host that you name ({scheme})"), "http=HOST".into(), &ask.why)
                }
                host => add("http", index, format!("{methods} to {scheme}://{host}{port}"), format!("http={host}{port}"), &ask.why),
            }
        }
        for (index, ask) in self.directory.iter().enumerate() {
            let verb = if ask.access == DirectoryAccess::Write { "changes" } else { "reads" };
            let what = format!("{verb} a directory that you name, as {}", ask.guest);
            add("directory", index, what, format!("directory={}:/PATH", ask.name), &ask.why);
        }
        for (index, ask) in self.environment.iter().enumerate() {
            add("environment", index, format!("the variable {}", ask.name), format!("env={}=VALUE", ask.name), &ask.why);
        }
        for (index, ask) in self.secret.iter().enumerate() {
            let what = match (&ask.header, &ask.host) {
                (Some(header), Some(host)) => {
                    format!("the secret {}, sent to {host} as `{header}` without the plugin seeing it", ask.name)
                }
                _ => format!("the secret {}, which the plugin will hold", ask.name),
            };
            let at = if ask.host == Some(HostPattern::Any) { "@HOST" } else { "" };
            add("secret", index, what, format!("secret={}{at}", ask.name), &ask.why);
        }
        for (index, ask) in self.endpoint.iter().enumerate() {
            let (what, address) = match ask.kind {
                EndpointKind::Unix => ("a unix socket", "/PATH"),
                EndpointKind::Grpc => ("a gRPC service", "http://HOST:PORT"),
            };
            add(
                "endpoint",
                index,
                format!("{what} that you name, as `{}`", ask.name),
                format!("endpoint={}:{address}", ask.name),
                &ask.why,
            );
        }
        if let Some(ask) = &self.limits {
            let parts = [
                ask.memory_bytes.map(|bytes| format!("{} MiB of memory", bytes >> 20)),
                ask.cpu_ms.map(|ms| format!("{ms} ms of processor time")),
                ask.deadline_ms.map(|ms| format!("{ms} ms for a call")),
            ];
            add("limits", 0, parts.into_iter().flatten().collect::<Vec<_>>().join(", "), "limits".into(), &ask.why);
        }
        if let Some(ask) = &self.root {
            let verb = if ask.access == DirectoryAccess::Write { "change" } else { "read" };
            add("root", 0, format!("can {verb} a directory that you name instead of a session"), "root=/PATH".into(), &ask.why);
        }
        // What has a value already need not be given one.
        for ask in all.iter_mut().filter(|ask| ask.kind == "environment") {
            ask.optional = self.environment[ask.index].default.is_some();
        }
        all
    }

    /// What is asked for, not optional, and not among these.
    pub fn ungranted<'a>(&self, given: impl Iterator<Item = &'a Given> + Clone) -> Vec<Ask> {
        let is_missing = |ask: &Ask| !ask.optional && !given.clone().any(|given| self.answers(given, ask));
        self.asks().into_iter().filter(is_missing).collect()
    }

    /// Whether a grant is of what is asked for here.
    fn answers(&self, given: &Given, ask: &Ask) -> bool {
        if given.kind() != ask.kind {
            return false;
        }
        match given {
            Given::Http { .. } => given.rule().is_some_and(|granted| self.http[ask.index].rule().covers(&granted)),
            Given::Directory { name, .. } => self.directory[ask.index].name == *name,
            Given::Environment { name, .. } => self.environment[ask.index].name == *name,
            Given::Secret { name, .. } => self.secret[ask.index].name == *name,
            Given::Endpoint { name, .. } => self.endpoint[ask.index].name == *name,
            Given::Files {} | Given::Sessions {} | Given::Limits { .. } | Given::Root { .. } => true,
        }
    }

    /// Whether a grant stays within what the manifest asks for.
    pub fn asks_for_given(&self, given: &Given) -> bool {
        self.asks().iter().any(|ask| self.answers(given, ask))
    }
}
