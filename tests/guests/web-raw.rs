//! Speaks `wasi:http` without manners: whole addresses for paths, two hosts, two lengths, headers that are not its to set.

use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme};
use zipfs_guests::{Attempts, Stopped, harmless, until_refused};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Role, Tool};

struct WebRaw;

impl Plugin for WebRaw {
    fn about() -> About {
        About::new("web-raw", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("web_raw", "Sends what should not be sent. Returns {attempts}.", attempt).uses("http").role(Role::Operator),
            Tool::new("web_raw_fields", "Makes headers without end. Returns {taken, error}.", fields)
                .uses("http")
                .role(Role::Operator),
            Tool::new("web_raw_many", "Sends without reading. Returns {taken, error}.", many).uses("http").role(Role::Operator),
            harmless("web_raw_ok"),
        ]
    }
}

zipfs_sdk::export!(WebRaw);

#[derive(Deserialize, JsonSchema)]
struct Target {
    /// The host that was granted, with its port.
    authority: String,
    /// One that was not.
    other: String,
}

fn attempt(target: Target) -> Result<Attempts, Error> {
    let (granted, other) = (target.authority.as_str(), target.other.as_str());
    let mut attempts = Attempts::default();
    let whole = format!("http://{other}/stolen");
    let ask = |authority: &str, path: &str, headers: &[(&str, &str)], method: Method| one(authority, path, headers, &method, b"");
    let get = || Method::Get;

    attempts.note("a whole address as path", ask(granted, &whole, &[], get()));
    attempts.note(
        "an authority as path",
        ask(granted, &format!("//{other}/stolen"), &[], get()).and(Err::<(), _>("an ordinary path".to_owned())),
    );
    attempts.note("a path without slash", ask(granted, other, &[], get()));
    attempts.note("a star as path", ask(granted, "*", &[], Method::Options));
    attempts.note("a path with a line feed", ask(granted, "/a HTTP/1.1\r\nhost: evil\r\n\r\n", &[], get()));
    attempts.note("a user name", ask(&format!("user@{granted}"), "/", &[], get()));
    attempts.note("the granted host as user name", ask(&format!("{granted}@{other}"), "/", &[], get()));
    attempts.note("another host", ask(other, "/", &[], get()));
    attempts.note("another host with a dot", ask(&format!("{}.", granted.split(':').next().unwrap_or_default()), "/", &[], get()));
    attempts.note("a host header", ask(granted, "/", &[("host", other)], get()));
    attempts.note("a transfer encoding", ask(granted, "/", &[("transfer-encoding", "chunked")], get()));
    attempts.note("a connection header", ask(granted, "/", &[("connection", "upgrade")], get()));
    attempts.note("an upgrade", ask(granted, "/", &[("upgrade", "h2c")], get()));
    attempts.note("a proxy header", ask(granted, "/", &[("proxy-authorization", "x")], get()));
    attempts.note("a line feed in a header", ask(granted, "/", &[("x-a", "b\r\nhost: evil")], get()));
    attempts.note("a header name with a colon", ask(granted, "/", &[("x:a", "b")], get()));
    attempts.note("two lengths", ask(granted, "/", &[("content-length", "3"), ("content-length", "5")], Method::Post));
    attempts.note("a length with a sign", ask(granted, "/", &[("content-length", "+3")], Method::Post));
    attempts.note("a length without a body", ask(granted, "/", &[("content-length", "3")], Method::Post));
    attempts.note("a body longer than its length", one(granted, "/", &[("content-length", "3")], &Method::Post, b"hello"));
    attempts.note("a body shorter than its length", one(granted, "/", &[("content-length", "9")], &Method::Post, b"hello"));
    attempts.note("TRACE", ask(granted, "/", &[], Method::Trace));
    attempts.note("CONNECT", ask(granted, "/", &[], Method::Connect));
    attempts.note("a method with a line feed", ask(granted, "/", &[], Method::Other("GET / HTTP/1.1\r\nx: y\r\n\r\nGET".into())));
    attempts.note("another scheme", scheme(granted, Scheme::Other("ftp".into())));
    attempts.note("TLS where only plain was granted", scheme(granted, Scheme::Https));
    Ok(attempts)
}

fn scheme(authority: &str, scheme: Scheme) -> Result<(), String> {
    let request = OutgoingRequest::new(Fields::new());
    request.set_scheme(Some(&scheme)).map_err(|()| "scheme")?;
    request.set_authority(Some(authority)).map_err(|()| "authority")?;
    request.set_path_with_query(Some("/")).map_err(|()| "path")?;
    send(request, None).map(drop)
}

fn one(authority: &str, path: &str, headers: &[(&str, &str)], method: &Method, body: &[u8]) -> Result<(), String> {
    let fields = Fields::new();
    for (name, value) in headers {
        fields.append(name, value.as_bytes()).map_err(|error| error.to_string())?;
    }
    let request = OutgoingRequest::new(fields);
    request.set_method(method).map_err(|()| "method")?;
    request.set_scheme(Some(&Scheme::Http)).map_err(|()| "scheme")?;
    request.set_authority(Some(authority)).map_err(|()| "authority")?;
    request.set_path_with_query(Some(path)).map_err(|()| "path")?;
    send(request, (!body.is_empty()).then_some(body)).map(drop)
}

fn send(request: OutgoingRequest, body: Option<&[u8]>) -> Result<IncomingResponse, String> {
    let outgoing = match body {
        Some(_) => Some(request.body().map_err(|()| "body")?),
        None => None,
    };
    let future = handle(request, None).map_err(|code| code.to_string())?;
    if let (Some(outgoing), Some(body)) = (outgoing, body) {
        let stream = outgoing.write().map_err(|()| "stream")?;
        let written = stream.blocking_write_and_flush(body).map_err(|error| error.to_string());
        drop(stream);
        written?;
        OutgoingBody::finish(outgoing, None).map_err(|code| code.to_string())?;
    }
    future.subscribe().block();
    let answer = future.get().ok_or("no answer")?.map_err(|()| "taken")?;
    answer.map_err(|code| code.to_string())
}

fn fields(_: NoArguments) -> Result<Stopped, Error> {
    let mut kept = Vec::new();
    until_refused(|_| {
        kept.push(Fields::new());
        Ok::<u64, Error>(1)
    })
}

fn many(target: Target) -> Result<Stopped, Error> {
    let mut kept = Vec::new();
    until_refused(|_| {
        let request = OutgoingRequest::new(Fields::new());
        let made = request
            .set_scheme(Some(&Scheme::Http))
            .and_then(|()| request.set_authority(Some(&target.authority)))
            .and_then(|()| request.set_path_with_query(Some("/")));
        made.map_err(|()| "request".to_owned())?;
        kept.push(send(request, None)?);
        Ok::<u64, String>(1)
    })
}
