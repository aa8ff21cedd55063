//! Secrets and environment: who sees what, and who never does.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{Audited, Plugin, Server, Web, reply};

const SECRET: &str = "s3cr3t-T0ken-of-ada";

/// Everything in a data directory but the secrets themselves, as one text.
fn everything_but_secrets(data: &std::path::Path) -> String {
    fn walk(dir: &std::path::Path, text: &mut String) {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.ends_with("secrets") {
                continue;
            }
            match path.is_dir() {
                true => walk(&path, text),
                false => *text += &String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()),
            }
        }
    }
    let mut text = String::new();
    walk(data, &mut text);
    text
}

fn manifest(web: &Web) -> String {
    format!(
        "[[http]]\nhost = \"*\"\nmethods = [\"GET\"]\n\
         [[secret]]\nname = \"api-key\"\nheader = \"Authorization\"\nformat = \"Bearer {{}}\"\nhost = \"127.0.0.1\"\nwhy = \"{}\"\n",
        web.port()
    )
}

#[test]
fn the_host_sends_a_secret_that_the_guest_never_holds() {
    // It answers with the names of the headers, so that the guest's memory has no other way to get at the value.
    let friend = Web::start(|seen, out| {
        let names: Vec<&str> = seen.head.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
        std::io::Write::write_all(out, &reply(200, &[], &names.join(" ")))
    });
    let server =
        Server::having(&Plugin::of("web-secret", &manifest(&friend)), &[&format!("http=http://{}", friend.address)], json!({}));
    let call = |headers: Value| server.call("web_secret", json!({"url": friend.url("/"), "headers": headers}));
    // Not granted: the guest may send what it likes there.
    call(json!([["authorization", "its own"]])).value();
    assert_eq!(friend.seen()[0].header("authorization"), ["its own"]);
    let said = server.grant_secret("web-secret", "secret=api-key", &format!("{SECRET}\n"));
    assert!(!said.contains(SECRET), "{said}");
    let answer = call(json!([])).value();
    assert!(answer["body"].as_str().unwrap().contains("authorization"), "{answer}");
    assert_eq!(friend.seen()[1].header("authorization"), [format!("Bearer {SECRET}")]);
    server.call("web_secret_undeclared", json!({"url": friend.url("/")})).value();
    assert!(friend.seen()[2].header("authorization").is_empty());
    // Its own header under the same name does not go out, however it is written.
    call(json!([["AUTHORIZATION", "its own"], ["authorization", "again"]])).value();
    assert_eq!(friend.seen()[3].header("authorization"), [format!("Bearer {SECRET}")]);
    let path = server.data().join("secrets/web-secret/api-key");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!everything_but_secrets(server.data()).contains(SECRET));
    assert!(!server.cli().ok(&["plugin", "list", "--json"]).contains(SECRET));
    server.revoke("web-secret", &["secret=api-key"]);
    assert!(!path.exists());
    call(json!([])).value();
    assert!(friend.seen()[4].header("authorization").is_empty());
}

#[test]
fn a_secret_goes_to_its_host_only() {
    let (friend, other) = (Web::saying("friend"), Web::saying("other"));
    let to = other.url("/caught");
    let redirecting = Web::start(move |_, out| std::io::Write::write_all(out, &reply(302, &[("location", &to)], "")));
    let tables = "[[http]]\nhost = \"*\"\nmethods = [\"GET\"]\n[[secret]]\nname = \"key\"\nheader = \"x-key\"\nhost = \"*\"\n";
    let server = Server::having(&Plugin::of("web-secret", tables), &[], json!({}));
    for web in [&friend, &other, &redirecting] {
        server.grant("web-secret", &format!("http=http://{}", web.address));
    }
    // The manifest leaves the host open, so the grant has to name it.
    server.cli().fails(&["plugin", "grant", "web-secret", "secret=key"], 1);
    server.grant_secret("web-secret", &format!("secret=key@{}", redirecting.address), SECRET);
    server.call("web_secret", json!({"url": friend.url("/")})).value();
    assert!(friend.seen()[0].header("x-key").is_empty());
    let followed = server.call("web_secret", json!({"url": redirecting.url("/"), "follow": 1})).value();
    assert_eq!(followed["body"], "other");
    assert_eq!(redirecting.seen()[0].header("x-key"), [SECRET]);
    assert!(other.seen()[0].header("x-key").is_empty(), "{:?}", other.seen());
}

/// Whoever is on the way of a request that is not encrypted reads it.
#[test]
fn a_secret_is_not_sent_in_the_open_unless_its_grant_says_http() {
    let friend = Web::saying("hello");
    let tables = "[[http]]\nhost = \"*\"\nmethods = [\"GET\"]\n[[secret]]\nname = \"key\"\nheader = \"x-key\"\nhost = \"*\"\n";
    // Not this machine as far as its name says, though it is.
    let host = format!("127.1:{}", friend.port());
    let server = Server::having(&Plugin::of("web-secret", tables), &[&format!("http=http://{host},GET,private")], json!({}));
    let call = || server.call("web_secret", json!({"url": format!("http://{host}/")}));
    call().value();
    assert_eq!(friend.seen().len(), 1);
    for word in [format!("secret=key@{host}"), format!("secret=key@https://{host}")] {
        server.grant_secret("web-secret", &word, SECRET);
        let message = call().fails("SECRET_NOT_ENCRYPTED");
        assert!(message.contains("Use https") && message.contains(&format!("secret=key@http://{host}")), "{message}");
        assert!(!message.contains(SECRET), "{message}");
    }
    // Nothing of it came there, not even without the secret. A tool that does not use it is not held up.
    assert_eq!(friend.seen().len(), 1);
    server.call("web_secret_undeclared", json!({"url": format!("http://{host}/")})).value();
    server.grant_secret("web-secret", &format!("secret=key@http://{host}"), SECRET);
    call().value();
    assert_eq!(friend.seen()[2].header("x-key"), [SECRET]);
    // Whoever looks at the grants sees it.
    assert!(server.cli().ok(&["plugin", "info", "web-secret"]).contains(&format!("secret=key@http://{host}")));
    server.revoke("web-secret", &["secret=key"]);
    call().value();
    assert!(friend.seen()[3].header("x-key").is_empty());
    let refused = Audited::of(server.data()).lines();
    let refused = refused.iter().flat_map(|line| line["effects"].as_array().cloned().unwrap_or_default());
    assert_eq!(refused.filter(|effect| effect["refused"] == "SECRET_NOT_ENCRYPTED").count(), 2);
}

#[test]
fn a_secret_with_a_header_is_not_revealed_and_one_without_is() {
    let tables = "[[secret]]\nname = \"signing\"\nwhy = \"To sign.\"\n[[secret]]\nname = \"sent\"\nheader = \"x-key\"\nhost = \"api.example.com\"\n";
    let server = Server::having(&Plugin::of("keys", tables), &[], json!({}));
    let reveal = |name: &str| server.call("keys_reveal", json!({"name": name}));
    reveal("signing").fails("CAPABILITY_REFUSED");
    server.grant_secret("keys", "secret=signing", SECRET);
    assert_eq!(reveal("signing").value(), json!({"value": SECRET, "names": ["signing"]}));
    server.call("keys_reveal_undeclared", json!({"name": "signing"})).fails("CAPABILITY_REFUSED");
    reveal("sent").fails("SECRET_REFUSED");
    server.grant_secret("keys", "secret=sent", SECRET);
    reveal("sent").fails("SECRET_HIDDEN");
    reveal("../signing").fails("SECRET_REFUSED");
    server.revoke("keys", &["secret=signing"]);
    reveal("signing").fails("SECRET_REFUSED");
}

#[test]
fn a_secret_that_others_can_read_is_not_used() {
    let server = Server::having(&Plugin::of("keys", "[[secret]]\nname = \"signing\"\n"), &[], json!({}));
    server.grant_secret("keys", "secret=signing", SECRET);
    let path = server.data().join("secrets/keys/signing");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let message = server.call("keys_reveal", json!({"name": "signing"})).fails("UNSAFE_DATA_DIR");
    assert!(!message.contains(SECRET));
    std::fs::remove_file(&path).unwrap();
    server.call("keys_reveal", json!({"name": "signing"})).fails("SECRET_MISSING");
    server.cli().ok(&["plugin", "remove", "keys"]);
    assert!(!server.data().join("secrets/keys").exists());
}

#[test]
fn a_variable_is_there_while_it_is_granted_and_no_other() {
    let server = Server::having(&Plugin::of("variables", "[[environment]]\nname = \"CITY\"\n"), &[], json!({}));
    let ask = |tool: &str| server.call(tool, json!({"name": "CITY"})).value();
    assert_eq!(ask("variables"), json!({"value": null, "names": []}));
    server.grant("variables", "env=CITY=Prague=Praha");
    assert_eq!(ask("variables"), json!({"value": "Prague=Praha", "names": ["CITY"]}));
    assert_eq!(ask("variables_undeclared"), json!({"value": null, "names": []}));
    server.revoke("variables", &["env=CITY"]);
    assert_eq!(ask("variables"), json!({"value": null, "names": []}));
    server.cli().fails(&["plugin", "grant", "variables", "env=PATH=/bin"], 1);
}
