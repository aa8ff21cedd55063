//! Grants as they are typed: `http=api.example.com:443`, `directory=docs:/srv/docs`.
//!
//! A grant never goes beyond what the plugin asks for, so what was not typed (a port, the methods) is taken from the manifest.

use std::path::{Path, PathBuf};

use super::Given;
use crate::failure::Failure;
use crate::plugins::manifest::{DirectoryAccess, EndpointKind, Manifest};
use crate::sandbox::Capability;
use crate::sandbox::egress::{HostPattern, Scheme, is_method, normal_host, split_port};

/// What is typed, for messages.
const FORMS: &str = "Forms: http=HOST[:PORT][,METHOD…][,private], directory=NAME:/PATH[,read], env=NAME=VALUE, secret=NAME[@[http://]HOST[:PORT]], \
                     endpoint=NAME:ADDRESS[,ca=/PATH], root[=/PATH[,read]], limits, files, sessions.";

/// Reads one word. A kind alone (`http`) grants all of that kind that need no more words.
pub fn parse(word: &str, manifest: &Manifest) -> Result<Vec<Given>, Failure> {
    let (kind, rest) = match word.split_once('=') {
        Some((kind, rest)) => (kind, Some(rest)),
        None => (word, None),
    };
    let wrong = |why: String| Failure::invalid(format!("--grant {word}: {why}.")).suggest(FORMS);
    let given = match (kind, rest) {
        ("files", None) => vec![Given::Files {}],
        ("sessions", None) => vec![Given::Sessions {}],
        ("limits", None) => vec![limits(manifest).ok_or_else(|| not_asked(word, manifest))?],
        ("http", None) => every_host(manifest).map_err(wrong)?,
        ("http", Some(rest)) => vec![http(rest, manifest).map_err(wrong)?],
        ("directory", Some(rest)) => vec![directory(rest, manifest).map_err(wrong)?],
        ("env" | "environment", Some(rest)) => vec![environment(rest).map_err(wrong)?],
        ("secret", None) => manifest
            .secret
            .iter()
            .map(|ask| Given::Secret { name: ask.name.clone(), host: None, port: None, scheme: None })
            .collect(),
        ("secret", Some(rest)) => vec![secret(rest).map_err(wrong)?],
        ("endpoint", Some(rest)) => vec![endpoint(rest, manifest).map_err(wrong)?],
        ("root", Some(rest)) => vec![root(rest, manifest).map_err(wrong)?],
        ("root", None) => vec![open_root(manifest).map_err(wrong)?],
        ("directory" | "env" | "environment" | "endpoint", None) => return Err(wrong("it has to say which".into())),
        _ if Capability::by_name(kind).is_some() => return Err(wrong(format!("`{kind}` takes no value"))),
        _ => return Err(wrong("there is no such capability".into())),
    };
    for given in &given {
        check_open_secret(given, manifest).map_err(wrong)?;
    }
    match !given.is_empty() && given.iter().all(|given| manifest.asks_for_given(given)) {
        true => Ok(given),
        false => Err(not_asked(word, manifest)),
    }
}

fn not_asked(word: &str, manifest: &Manifest) -> Failure {
    let asks: Vec<String> = manifest.asks().into_iter().map(|ask| ask.flag).collect();
    let failure = Failure::invalid(format!("The plugin {} does not ask for `{word}`, so it cannot be granted.", manifest.name));
    match asks.is_empty() {
        true => failure.suggest("It asks for nothing beyond the workspace."),
        false => failure.suggest(format!("It asks for: {}.", asks.join(", "))),
    }
}

/// `[scheme://]host[:port][,METHOD…][,private]`
fn http(rest: &str, manifest: &Manifest) -> Result<Given, String> {
    let mut parts = rest.split(',');
    let (scheme, authority) = scheme_of(parts.next().unwrap_or_default());
    let (host, port) = split_port(authority)?;
    let host = HostPattern::try_from(host.to_owned())?;
    if host == HostPattern::Any {
        return Err("every host cannot be granted; name one".into());
    }
    let (mut methods, mut private) = (Vec::new(), false);
    for part in parts {
        match part {
            "private" => private = true,
            method if is_method(method) => methods.push(method.to_owned()),
            other => return Err(format!("{other:?} is neither a method nor `private`")),
        }
    }
    // The first line of the manifest that means this host says what was not typed.
    let asked = manifest.http.iter().map(|ask| ask.rule()).find(|rule| {
        rule.host.covers(&host)
            && (port.is_none() || rule.port.is_none() || rule.port == port)
            && (scheme.is_none() || rule.scheme.is_none() || rule.scheme == scheme)
    });
    let asked = asked.ok_or_else(|| format!("the plugin does not ask for requests to {host}"))?;
    let scheme = scheme.or(asked.scheme).unwrap_or(Scheme::Https);
    let port = port.or(asked.port).unwrap_or(scheme.default_port());
    Ok(Given::Http { host, port, scheme, methods: if methods.is_empty() { asked.methods } else { methods }, private })
}

/// What the manifest names exactly.
fn every_host(manifest: &Manifest) -> Result<Vec<Given>, String> {
    let named = manifest.http.iter().filter(|ask| ask.host != HostPattern::Any).map(|ask| {
        let rule = ask.rule();
        let scheme = rule.scheme.unwrap_or(Scheme::Https);
        let port = rule.port.unwrap_or(scheme.default_port());
        Given::Http { host: rule.host, port, scheme, methods: rule.methods, private: false }
    });
    let named: Vec<Given> = named.collect();
    match named.len() == manifest.http.len() {
        true => Ok(named),
        false => Err("the plugin leaves the host to you; name it".into()),
    }
}

/// `name:/path[,read|,write]`
fn directory(rest: &str, manifest: &Manifest) -> Result<Given, String> {
    let (name, place) = rest.split_once(':').ok_or("it has to be NAME:/PATH")?;
    let most = manifest.directory.iter().find(|ask| ask.name == name).map(|ask| ask.access);
    let (path, access) = place_of(place, most.unwrap_or_default())?;
    Ok(Given::Directory { name: name.to_owned(), path, access })
}

fn root(rest: &str, manifest: &Manifest) -> Result<Given, String> {
    let (path, access) = place_of(rest, manifest.root.as_ref().map(|ask| ask.access).unwrap_or_default())?;
    Ok(Given::Root { path: Some(path), access })
}

/// The directory is left to the variable that the manifest names, or to its default.
fn open_root(manifest: &Manifest) -> Result<Given, String> {
    let ask = manifest.root.as_ref().filter(|ask| ask.setting.is_some() || ask.default.is_some());
    let ask = ask.ok_or("it has to say which")?;
    Ok(Given::Root { path: None, access: ask.access })
}

/// A directory that is there, by its real path: a link that changes later must not change what was granted.
fn place_of(text: &str, most: DirectoryAccess) -> Result<(PathBuf, DirectoryAccess), String> {
    let (path, access) = match text.rsplit_once(',') {
        Some((path, "read")) => (path, DirectoryAccess::Read),
        Some((path, "write")) => (path, DirectoryAccess::Write),
        _ => (text, most),
    };
    let real = std::fs::canonicalize(Path::new(path)).map_err(|error| format!("{path} cannot be opened ({error})"))?;
    match real.is_dir() {
        true => Ok((real, access.min(most))),
        false => Err(format!("{path} is not a directory")),
    }
}

fn environment(rest: &str) -> Result<Given, String> {
    let (name, value) = rest.split_once('=').ok_or("it has to be NAME=VALUE")?;
    match value.contains('\0') {
        true => Err("the value has a character that no variable can have".into()),
        false => Ok(Given::Environment { name: name.to_owned(), value: value.to_owned() }),
    }
}

/// `name[@[scheme://]host[:port]]`
fn secret(rest: &str) -> Result<Given, String> {
    let Some((name, place)) = rest.split_once('@') else {
        return Ok(Given::Secret { name: rest.to_owned(), host: None, port: None, scheme: None });
    };
    let (scheme, authority) = scheme_of(place);
    let (host, port) = split_port(authority)?;
    let host = Some(HostPattern::Exact(normal_host(host)?));
    Ok(Given::Secret { name: name.to_owned(), host, port, scheme })
}

/// The scheme, if one is said, and what follows.
fn scheme_of(place: &str) -> (Option<Scheme>, &str) {
    let (scheme, authority) = match (place.strip_prefix("http://"), place.strip_prefix("https://")) {
        (Some(rest), _) => (Some(Scheme::Http), rest),
        (_, Some(rest)) => (Some(Scheme::Https), rest),
        _ => (None, place),
    };
    (scheme, authority.strip_suffix('/').unwrap_or(authority))
}

/// A secret whose host the manifest leaves open must not go to whatever host is granted next.
fn check_open_secret(given: &Given, manifest: &Manifest) -> Result<(), String> {
    let Given::Secret { name, host, .. } = given else { return Ok(()) };
    let Some(ask) = manifest.secret.iter().find(|ask| ask.name == *name) else { return Ok(()) };
    match (&ask.host, host) {
        (Some(HostPattern::Any), None) => Err(format!("say where it may be sent: secret={name}@HOST")),
        (Some(asked), Some(host)) if !asked.covers(host) => Err(format!("the plugin asks to send it to {asked}, not to {host}")),
        (None, Some(_)) => Err("the plugin holds this secret itself; it is not sent to a host".into()),
        _ => Ok(()),
    }
}

/// `name:address[,ca=/path]`
fn endpoint(rest: &str, manifest: &Manifest) -> Result<Given, String> {
    let (name, place) = rest.split_once(':').ok_or("it has to be NAME:ADDRESS")?;
    let kind = manifest.endpoint.iter().find(|ask| ask.name == name).map(|ask| ask.kind);
    let (address, ca) = match place.rsplit_once(",ca=") {
        Some((address, ca)) => {
            let real = std::fs::canonicalize(ca).map_err(|error| format!("{ca} cannot be opened ({error})"))?;
            (address, Some(real))
        }
        None => (place, None),
    };
    let is_url = address.starts_with("http://") || address.starts_with("https://");
    match (kind, address.starts_with('/'), is_url) {
        (Some(EndpointKind::Unix), true, _) | (Some(EndpointKind::Grpc), true, _) => {}
        (Some(EndpointKind::Grpc), _, true) => {
            let (_, authority) = address.split_once("://").unwrap_or_default();
            let (host, port) = split_port(authority)?;
            normal_host(host)?;
            port.ok_or("the address needs a port")?;
        }
        (Some(EndpointKind::Unix), ..) => return Err("a unix socket is at an absolute path".into()),
        (Some(EndpointKind::Grpc), ..) => return Err("a gRPC service is at http://HOST:PORT, https://HOST:PORT or /PATH".into()),
        (None, ..) => {}
    }
    Ok(Given::Endpoint { name: name.to_owned(), address: address.to_owned(), ca })
}

fn limits(manifest: &Manifest) -> Option<Given> {
    let ask = manifest.limits.as_ref()?;
    Some(Given::Limits { memory_bytes: ask.memory_bytes, cpu_ms: ask.cpu_ms, deadline_ms: ask.deadline_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let text = "name = \"a\"\nversion = \"1\"\n[capabilities]\nfiles = \"\"\n\
                    [[http]]\nhost = \"api.example.com\"\nmethods = [\"GET\", \"POST\"]\n\
                    [[http]]\nhost = \"*\"\nmethods = [\"GET\"]\n\
                    [[directory]]\nname = \"docs\"\nguest = \"/docs\"\n[[environment]]\nname = \"TZ\"\n\
                    [[secret]]\nname = \"key\"\nheader = \"x-key\"\nhost = \"api.example.com\"\n\
                    [[secret]]\nname = \"open\"\nheader = \"x-open\"\nhost = \"*\"\n\
                    [[endpoint]]\nname = \"db\"\nkind = \"unix\"\n[[endpoint]]\nname = \"raid\"\nkind = \"grpc\"\n\
                    [limits]\ncpu_ms = 60000\n";
        Manifest::parse(text).unwrap()
    }

    #[test]
    fn words_become_grants_within_what_is_asked() {
        let manifest = manifest();
        let label = |word: &str| parse(word, &manifest).unwrap().iter().map(Given::label).collect::<Vec<_>>().join(" ");
        assert_eq!(label("files"), "files");
        assert_eq!(label("http=api.example.com"), "http=api.example.com:443");
        assert_eq!(label("http=http://127.0.0.1:8080,GET"), "http=127.0.0.1:8080");
        assert_eq!(label("http=[::1]:8443,private"), "http=[::1]:8443");
        assert_eq!(label("directory=docs:/tmp"), "directory=docs:/tmp");
        assert_eq!(label("env=TZ=a=b"), "env=TZ=a=b");
        assert_eq!(label("secret=key"), "secret=key");
        assert_eq!(label("secret=open@127.0.0.1:9"), "secret=open");
        assert_eq!(label("secret=open@http://printer.example:9"), "secret=open@http://printer.example:9");
        let [Given::Secret { scheme, port, .. }] = &parse("secret=key@http://api.example.com:80", &manifest).unwrap()[..] else {
            panic!()
        };
        assert_eq!((*scheme, *port), (Some(Scheme::Http), Some(80)));
        assert_eq!(label("endpoint=db:/run/x.sock"), "endpoint=db:/run/x.sock");
        assert_eq!(label("endpoint=raid:https://localhost:6066"), "endpoint=raid:https://localhost:6066");
        assert_eq!(label("limits"), "limits");
        let [Given::Http { methods, scheme, .. }] = &parse("http=api.example.com", &manifest).unwrap()[..] else { panic!() };
        assert_eq!((methods.len(), *scheme), (2, Scheme::Https));
    }

    #[test]
    fn nothing_is_granted_that_was_not_asked_for() {
        let manifest = manifest();
        for word in [
            "sessions",
            "http",
            "http=*",
            "http=*.com",
            "http=other.example,DELETE",
            "http=api.example.com,DELETE",
            "http=api.example.com:0",
            "http=api.example.com:port",
            "http=user@api.example.com",
            "directory=other:/tmp",
            "directory=docs",
            "directory=docs:/no/such/place",
            "env=PATH=/",
            "env=TZ",
            "secret=other",
            "secret=open",
            "secret=key@evil.example",
            "secret=key@http://evil.example",
            "secret=key@ftp://api.example.com",
            "endpoint=db:relative",
            "endpoint=db:http://a:1",
            "endpoint=raid:https://localhost",
            "endpoint=other:/x",
            "root=/tmp",
            "files=yes",
            "everything",
            "",
        ] {
            assert!(parse(word, &manifest).is_err(), "{word}");
        }
    }

    #[test]
    fn a_directory_is_granted_with_no_more_than_is_asked() {
        let [Given::Directory { access, .. }] = &parse("directory=docs:/tmp,write", &manifest()).unwrap()[..] else { panic!() };
        assert_eq!(*access, DirectoryAccess::Read);
    }
}
