//! `wasi:http`: to whom guests can speak, in which words, how much and how long.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Nginx, Plugin, Server, Web, reply};

/// Asks for any method at any host; what a test is about is in the grants.
const ANY: &str = "[[http]]\nhost = \"*\"\nmethods = [\"GET\", \"POST\", \"PUT\"]\nreads = [\"POST /find/*\"]\nwhy = \"Tests.\"\n";

fn web(grants: &[&str]) -> Server {
    Server::having(&Plugin::of("web", ANY), grants, json!({}))
}

fn granted(web: &Web) -> String {
    format!("http=http://{},GET,POST", web.address)
}

fn get(url: &str) -> Value {
    json!({"url": url})
}

#[test]
fn a_request_is_allowed_where_granted_and_refused_everywhere_else() {
    let (friend, stranger) = (Web::saying("hello"), Web::saying("stolen"));
    let server = web(&[&granted(&friend)]);
    let answer = server.call("web_send", get(&friend.url("/a?b=c"))).value();
    assert_eq!((answer["status"].clone(), answer["body"].clone()), (json!(200), json!("hello")));
    let seen = friend.seen();
    assert_eq!(seen[0].first_line(), "GET /a?b=c HTTP/1.1");
    assert_eq!(seen[0].header("host"), [friend.address.to_string()]);
    // Another port, method, scheme or host.
    let message = server.call("web_send", get(&stranger.url("/"))).fails("HTTP_REFUSED");
    assert!(message.contains("zipfs plugin grant web http=http://127.0.0.1"), "{message}");
    server.call("web_send", json!({"url": friend.url("/"), "method": "PUT"})).fails("HTTP_REFUSED");
    server.call("web_send", json!({"url": friend.url("/"), "method": "DELETE"})).fails("HTTP_REFUSED");
    server.call("web_send", get(&friend.url("/").replace("http:", "https:"))).fails("HTTP_REFUSED");
    server.call("web_send", get(&format!("http://localhost:{}/", friend.port()))).fails("HTTP_REFUSED");
    assert_eq!(friend.seen().len(), 1);
    assert!(stranger.seen().is_empty());
}

#[test]
fn a_tool_that_does_not_declare_it_is_refused_though_the_plugin_has_it() {
    let friend = Web::saying("hello");
    let server = web(&[&granted(&friend)]);
    server.call("web_undeclared", get(&friend.url("/"))).fails("CAPABILITY_REFUSED");
    assert!(friend.seen().is_empty());
    server.call("web_send", get(&friend.url("/"))).value();
}

#[test]
fn nothing_is_granted_by_asking() {
    let friend = Web::saying("hello");
    let server = web(&[]);
    server.call("web_send", get(&friend.url("/"))).fails("CAPABILITY_REFUSED");
    server.grant("web", &granted(&friend));
    server.call("web_send", get(&friend.url("/"))).value();
    server.revoke("web", &["http"]);
    server.call("web_send", get(&friend.url("/"))).fails("CAPABILITY_REFUSED");
    assert_eq!(friend.seen().len(), 1);
}

#[test]
fn a_grant_beyond_the_manifest_is_none() {
    let friend = Web::saying("hello");
    let narrow = format!("[[http]]\nhost = \"127.0.0.1\"\nport = {}\nscheme = \"http\"\nmethods = [\"GET\"]\n", friend.port());
    let server = Server::having(&Plugin::of("web", &narrow), &["http"], json!({}));
    server.cli().fails(&["plugin", "grant", "web", &format!("{},POST", granted(&friend))], 1);
    // Not even if somebody writes it into the file.
    let file = server.data().join("grants.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"GET\"", "\"GET\", \"POST\"")).unwrap();
    server.call("web_send", json!({"url": friend.url("/"), "method": "POST"})).fails("CAPABILITY_REFUSED");
    std::fs::write(&file, text).unwrap();
    server.call("web_send", get(&friend.url("/"))).value();
}

#[test]
fn redirects_are_shown_and_each_hop_is_judged() {
    let stranger = Web::saying("stolen");
    let to = stranger.url("/private");
    let friend = Web::start(move |seen, out| match seen.first_line() {
        "GET /away HTTP/1.1" => out.write_all(&reply(302, &[("location", &to)], "")),
        "GET /again HTTP/1.1" => out.write_all(&reply(307, &[("location", "/here")], "")),
        _ => out.write_all(&reply(200, &[], "here")),
    });
    let server = web(&[&granted(&friend)]);
    // The host follows none.
    let shown = server.call("web_send", get(&friend.url("/away"))).value();
    assert_eq!(shown["status"], 302);
    // A guest that follows sends a new request.
    server.call("web_send", json!({"url": friend.url("/away"), "follow": 5})).fails("HTTP_REFUSED");
    assert!(stranger.seen().is_empty());
    server.grant("web", &granted(&stranger));
    let followed = server.call("web_send", json!({"url": friend.url("/away"), "follow": 5})).value();
    assert_eq!(followed["body"], "stolen");
}

#[test]
fn names_that_lead_into_the_own_network_are_refused_unless_that_was_granted() {
    let inside = Web::saying("inside");
    let url = format!("http://localhost:{}/", inside.port());
    let server = web(&[&format!("http=http://localhost:{},GET", inside.port())]);
    let message = server.call("web_send", get(&url)).fails("HTTP_ADDRESS_REFUSED");
    assert!(message.contains("not a public address") && message.contains(",private"), "{message}");
    assert!(inside.seen().is_empty());
    server.grant("web", &format!("http=http://localhost:{},GET,private", inside.port()));
    assert_eq!(server.call("web_send", get(&url)).value()["body"], "inside");
    // An address that was named is named; another form of it is another name, and so another grant.
    server.grant("web", &granted(&inside));
    server.call("web_send", get(&inside.url("/"))).value();
    for form in ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "[::ffff:127.0.0.1]", "[::1]"] {
        server.call("web_send", get(&format!("http://{form}:{}/", inside.port()))).fails("HTTP_REFUSED");
    }
    // Granted by such a name, it is still where it is.
    server.grant("web", &format!("http=http://127.1:{},GET", inside.port()));
    server.call("web_send", get(&format!("http://127.1:{}/", inside.port()))).fails("HTTP_ADDRESS_REFUSED");
    assert_eq!(inside.seen().len(), 2);
}

#[test]
fn what_should_not_be_sent_is_not_sent() {
    let (friend, stranger) = (Web::saying("hello"), Web::saying("stolen"));
    let server = Server::having(&Plugin::of("web-raw", ANY), &[&granted(&friend)], json!({}));
    let target = json!({"authority": friend.address.to_string(), "other": stranger.address.to_string()});
    let attempts = server.call("web_raw", target.clone()).value()["attempts"].clone();
    let attempts = attempts.as_array().unwrap();
    assert!(attempts.len() >= 25);
    for attempt in attempts {
        // Two slashes are an ordinary path, and are sent as one to the host that was granted.
        let ordinary = attempt["what"] == "an authority as path" || attempt["what"] == "a path without slash";
        assert!(attempt["refused"] == true || ordinary, "{attempt}");
    }
    assert!(stranger.seen().is_empty(), "{:?}", stranger.seen());
    for seen in friend.seen() {
        let line = seen.first_line();
        assert!(line.starts_with("GET /") || line.starts_with("POST /"), "{line}");
        assert!(!line.contains("http:"), "{line}");
        assert_eq!(seen.header("host"), [friend.address.to_string()], "{seen:?}");
        assert!(seen.header("content-length").len() <= 1, "{seen:?}");
        assert!(seen.header("transfer-encoding").is_empty() || seen.header("content-length").is_empty(), "{seen:?}");
        assert!(!seen.head.contains("evil"), "{seen:?}");
    }
    server.call("web_raw_ok", json!({})).value();
}

#[test]
fn handles_of_http_count_as_handles() {
    let friend = Web::saying("hello");
    let server = Server::having(&Plugin::of("web-raw", ANY), &[&granted(&friend)], json!({}));
    server.call("web_raw_fields", json!({})).fails("LIMIT_EXCEEDED");
    server.call("web_raw_ok", json!({})).value();
}

#[test]
fn requests_of_one_call_are_bounded() {
    let friend = Web::saying("hello");
    let server = Server::having(&Plugin::of("web-raw", ANY), &[&granted(&friend)], json!({"egress": {"requests_per_call": 3}}));
    let target = json!({"authority": friend.address.to_string(), "other": "x"});
    let stopped = server.call("web_raw_many", target).value();
    assert_eq!(stopped["taken"], 3, "{stopped}");
    assert!(stopped["error"].as_str().unwrap().to_lowercase().contains("limit"), "{stopped}");
    assert_eq!(friend.seen().len(), 3);
}

#[test]
fn read_only_tools_send_only_what_reads() {
    let friend = Web::saying("hello");
    let server = web(&[&granted(&friend)]);
    let listed = server.request("tools/list", json!({}))["result"]["tools"].clone();
    let hint = |tool: &str| {
        listed.as_array().unwrap().iter().find(|shown| shown["name"] == tool).unwrap()["annotations"]["readOnlyHint"].clone()
    };
    assert_eq!((hint("web_read"), hint("web_send")), (json!(true), json!(false)));
    server.call("web_read", get(&friend.url("/"))).value();
    server.call("web_read", json!({"url": friend.url("/find/all"), "method": "POST"})).value();
    server.call("web_read", json!({"url": friend.url("/change"), "method": "POST"})).fails("HTTP_REFUSED");
    server.call("web_send", json!({"url": friend.url("/change"), "method": "POST"})).value();
    assert_eq!(friend.seen().len(), 3);
}

#[test]
fn bodies_have_an_end() {
    let endless = Web::start(|seen, out| {
        out.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n")?;
        match seen.first_line() {
            "GET /announced HTTP/1.1" => out.write_all(b"content-length: 99999999\r\n\r\n"),
            _ => {
                out.write_all(b"\r\n")?;
                while out.write_all(&[b'x'; 4096]).is_ok() {}
                Ok(())
            }
        }
    });
    let limits = json!({"egress": {"response_bytes": 100_000, "request_bytes": 50_000}});
    let server = Server::having(&Plugin::of("web", ANY), &[&granted(&endless)], limits);
    let memory = server.process().memory();
    server.call("web_send", get(&endless.url("/endless"))).fails("HTTP_TOO_LARGE");
    server.call("web_send", get(&endless.url("/announced"))).fails("HTTP_TOO_LARGE");
    let reply = server.call("web_send", json!({"url": endless.url("/"), "method": "POST", "padding": 200_000}));
    assert_eq!(reply.0["result"]["isError"], true, "{reply:?}");
    assert!(server.process().memory() < memory + (40 << 20));
}

#[test]
fn headers_have_an_end() {
    let flood = Web::start(|_, out| {
        out.write_all(b"HTTP/1.1 200 OK\r\n")?;
        for number in 0..100_000 {
            out.write_all(format!("x-{number}: {}\r\n", "y".repeat(100)).as_bytes())?;
        }
        out.write_all(b"\r\n")
    });
    let server = web(&[&granted(&flood)]);
    let reply = server.call("web_send", get(&flood.url("/")));
    assert_eq!(reply.0["result"]["isError"], true, "{reply:?}");
    server.call("web_ok", json!({})).value();
}

#[test]
fn answers_come_in_time() {
    let slow = Web::start(|seen, out| {
        if seen.first_line() == "GET /drip HTTP/1.1" {
            out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")?;
            for _ in 0..1000 {
                out.write_all(b"x")?;
                out.flush()?;
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        std::thread::sleep(Duration::from_secs(10));
        Ok(())
    });
    let server = Server::having(&Plugin::of("web", ANY), &[&granted(&slow)], json!({"egress": {"timeout_ms": 500}}));
    for path in ["/silent", "/drip"] {
        let began = Instant::now();
        server.call("web_send", get(&slow.url(path))).fails("HTTP_TIMEOUT");
        assert!(began.elapsed() < Duration::from_millis(1500), "{path}: {:?}", began.elapsed());
    }
    // The deadline of the call goes over that of the request.
    let server = Server::having(&Plugin::of("web", ANY), &[&granted(&slow)], json!({"calls": {"deadline_ms": 500}}));
    let began = Instant::now();
    server.call("web_send", get(&slow.url("/silent"))).fails("TIMEOUT");
    assert!(began.elapsed() < Duration::from_millis(1500));
}

#[test]
fn odd_answers_break_nothing() {
    let odd = Web::start(|seen, out| match seen.first_line().split(' ').nth(1) {
        Some("/lengths") => out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 5\r\n\r\nhello"),
        Some("/both") => {
            out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        }
        Some("/upgrade") => out.write_all(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
        Some("/nothing") => Ok(()),
        Some("/cut") => out.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello"),
        _ => out.write_all(b"nonsense\r\n\r\n"),
    });
    let server = web(&[&granted(&odd)]);
    for path in ["/lengths", "/upgrade", "/nothing", "/cut", "/nonsense"] {
        let reply = server.call("web_send", get(&odd.url(path)));
        assert_eq!(reply.0["result"]["isError"], true, "{path}: {reply:?}");
    }
    // Chunks go over a length, as the protocol says; what comes is one body or an error, never two readings.
    let both = server.call("web_send", get(&odd.url("/both"))).0;
    assert!(both["result"]["isError"] == true || both["result"]["structuredContent"]["body"] == "hello", "{both}");
    server.call("web_ok", json!({})).value();
}

#[test]
fn a_component_without_http_stays_without_network() {
    let data = tempfile::tempdir().unwrap();
    let folder = Plugin::of("noop", ANY);
    // Asked for and granted, but not in the component: there is nothing to call.
    folder.add(data.path(), &["http=https://api.example.com"]);
    assert!(crate::support::Zipfs(data.path()).ok(&["call", "noop"]).contains("{}"));
}

#[test]
fn guests_learn_what_they_were_granted() {
    let friend = Web::saying("hello");
    let server = web(&[&granted(&friend)]);
    let expected = json!({"grants": [format!("http=http://{}", friend.address)]});
    assert_eq!(server.call("web_grants", json!({})).value(), expected);
}

/// The same with a server of others, which takes a whole address in the first line for the host that is meant, and serves two hosts.
#[test]
fn nginx_is_asked_as_what_was_granted_and_as_nothing_else() {
    let stranger = Web::saying("stolen");
    let locations = format!(
        "location = /here {{ return 200 \"here\"; }} location = /away {{ return 302 http://{}/private; }}
         location = /again {{ return 307 /here; }} location = /other {{ return 301 http://other.example:$server_port/; }}
         location / {{ return 200 \"granted $host\"; }}",
        stranger.address
    );
    let Some(nginx) = Nginx::start(&locations, "a real server understands requests as we mean them") else { return };
    let grant = format!("http=http://{},GET,POST", nginx.address);
    let server = web(&[&grant]);
    // Redirects: shown as they are; followed, each is judged like a request of its own.
    let here = server.call("web_send", get(&nginx.url("/here"))).value();
    assert_eq!((&here["status"], &here["body"]), (&json!(200), &json!("here")));
    assert_eq!(server.call("web_send", get(&nginx.url("/away"))).value()["status"], 302);
    assert_eq!(
        server.call("web_send", json!({"url": nginx.url("/away").replace("/away", "/again"), "follow": 0})).value()["status"],
        307
    );
    server.call("web_send", json!({"url": nginx.url("/away"), "follow": 5})).fails("HTTP_REFUSED");
    server.call("web_send", json!({"url": nginx.url("/other"), "follow": 5})).fails("HTTP_REFUSED");
    assert!(stranger.seen().is_empty(), "{:?}", stranger.seen());
    let seen = nginx.seen();
    assert_eq!(seen.len(), 5, "{seen:?}");

    // Whole addresses, second hosts, lengths: what comes of them is a request to the host that was granted, or none.
    let raw = Server::having(&Plugin::of("web-raw", ANY), &[&grant], json!({}));
    let target = json!({"authority": nginx.address.to_string(), "other": format!("other.example:{}", nginx.address.port())});
    raw.call("web_raw", target).value();
    for [line, named, host, status] in &nginx.seen()[5..] {
        assert!(line.starts_with("GET /") || line.starts_with("POST /") || line.is_empty(), "{line}");
        assert!(*named == nginx.address.to_string() && host == "127.0.0.1", "{line} was for {named}, taken for {host}");
        assert_ne!(status, "301");
    }

    // Names that lead here are not this host, and not public.
    let before = nginx.seen().len();
    for name in ["localhost", "127.1", "2130706433"] {
        let place = format!("http://{name}:{}", nginx.address.port());
        server.call("web_send", get(&format!("{place}/here"))).fails("HTTP_REFUSED");
        server.grant("web", &format!("http={place},GET"));
        server.call("web_send", get(&format!("{place}/here"))).fails("HTTP_ADDRESS_REFUSED");
    }
    assert_eq!(nginx.seen().len(), before);
    server.grant("web", &format!("http=http://localhost:{},GET,private", nginx.address.port()));
    let named = server.call("web_send", get(&format!("http://localhost:{}/", nginx.address.port()))).value();
    assert_eq!(named["body"], "granted localhost");
}
