//! HTTPS: to servers that prove who they are, and to no others.

use serde_json::json;

use crate::support::{Plugin, Server, Web, reply, self_signed};

const ANY: &str = "[[http]]\nhost = \"*\"\nmethods = [\"GET\"]\nwhy = \"Tests.\"\n";

#[test]
fn a_server_has_to_prove_its_name() {
    let place = tempfile::tempdir().unwrap();
    let certificate = self_signed("localhost");
    let roots = place.path().join("roots.pem");
    std::fs::write(&roots, &certificate.pem).unwrap();
    let secure = Web::over(|_, out| out.write_all(&reply(200, &[], "secure")), {
        let config = certificate.server(&[b"http/1.1"]);
        move |stream| {
            let session = rustls::ServerConnection::new(config.clone()).map_err(std::io::Error::other)?;
            Ok(rustls::StreamOwned::new(session, stream))
        }
    });
    let grants = [
        format!("http=https://localhost:{},private", secure.port()),
        format!("http=https://127.0.0.1:{}", secure.port()),
        format!("http=http://localhost:{},private", secure.port()),
    ];
    let url = format!("https://localhost:{}/", secure.port());
    let grants: Vec<&str> = grants.iter().map(String::as_str).collect();

    // Nobody vouches for it.
    let strict = Server::having(&Plugin::of("web", ANY), &grants, json!({}));
    strict.call("web_send", json!({"url": url})).fails("HTTP_NOT_SECURE");
    assert!(secure.seen().is_empty());

    // The person who runs the host does.
    let trusting = Server::having(&Plugin::of("web", ANY), &grants, json!({"egress": {"extra_roots": roots}}));
    assert_eq!(trusting.call("web_send", json!({"url": url})).value()["body"], "secure");
    // Under another name it is somebody else, and in plain text it is nobody.
    let other_name = format!("https://127.0.0.1:{}/", secure.port());
    trusting.call("web_send", json!({"url": other_name})).fails("HTTP_NOT_SECURE");
    let plain = trusting.call("web_send", json!({"url": url.replace("https:", "http:")}));
    assert_eq!(plain.0["result"]["isError"], true);
    assert_eq!(secure.seen().len(), 1);

    // A setting that names no certificates is an error, not an empty list.
    std::fs::write(&roots, "").unwrap();
    let broken = Server::having(&Plugin::of("web", ANY), &grants, json!({"egress": {"extra_roots": roots}}));
    let message = broken.call("web_send", json!({"url": url})).fails("HTTP_NOT_SECURE");
    assert!(message.contains("roots.pem"), "{message}");
}
