//! Plugins from the web: what is downloaded is whole, what was asked for, encrypted, and not too large; else nothing is kept.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{components, error, names, networked, result};
use crate::support::{Answer, Face, Manner, Site};

/// Adds from this address. Whatever comes of it, nothing is left of what failed.
#[track_caller]
fn add(address: &str, config: Value, more: &[&str]) -> (tempfile::TempDir, std::process::Output, Duration) {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("config.json"), config.to_string()).unwrap();
    let began = Instant::now();
    let output = networked(data.path(), &[&["--json", "plugin", "add", "--yes", address], more].concat());
    if !output.status.success() {
        assert_eq!(components(data.path()), [""; 0], "something was kept");
        assert_eq!(names(data.path()), [""; 0]);
    }
    (data, output, began.elapsed())
}

fn refused(address: &str, config: Value, code: &str) -> String {
    let (_data, output, taken) = add(address, config, &[]);
    let refusal = error(&output);
    assert_eq!(refusal["code"], code, "{address}: {refusal}");
    assert!(taken < Duration::from_secs(20), "{address} took {taken:?}");
    refusal["message"].as_str().unwrap().to_owned()
}

fn face() -> Vec<u8> {
    Face::new(1).wasm().to_vec()
}

#[test]
fn an_encrypted_download_is_added_and_its_source_remembered() {
    let web = Site::encrypted(|_| Answer::ok(face()));
    let address = web.encrypted_address("/faces.wasm");
    let (data, output, _) = add(&address, json!({}), &[]);
    assert_eq!(result(&output)["source"], json!(address));
    assert_eq!(names(data.path()), ["faces-00001"]);
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    let web = Site::encrypted(|_| Answer::ok(face()));
    let data = tempfile::tempdir().unwrap();
    // Another authority, which did not make the server's certificate.
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let file = data.path().join("others.pem");
    std::fs::write(&file, other.cert.pem()).unwrap();
    let mut command = crate::support::Zipfs(data.path()).command();
    let command = command.env("SSL_CERT_FILE", file).args(["--json", "plugin", "add", "--yes", &web.encrypted_address("/a.wasm")]);
    let refusal = error(&command.output().unwrap());
    assert_eq!(refusal["code"], "DOWNLOAD_FAILED");
    assert!(refusal["message"].as_str().unwrap().contains("certificate"), "{refusal}");
    // The name is checked, too: the certificate is for localhost.
    let by_address = format!("https://127.0.0.1:{}/a.wasm", web.port);
    assert!(refused(&by_address, json!({}), "DOWNLOAD_FAILED").contains("certificate"));
}

#[test]
fn what_is_not_encrypted_does_not_leave_this_machine() {
    refused("http://192.0.2.1/a.wasm", json!({}), "NOT_ENCRYPTED");
    refused("http://localhost.example.com/a.wasm", json!({}), "NOT_ENCRYPTED");
    let web = Site::serve(|_| Answer::ok(face()));
    result(&add(&web.address("/a.wasm"), json!({}), &[]).1);
}

#[test]
fn redirects_are_followed_to_where_one_may_go_and_no_further() {
    let plain = Site::serve(|_| Answer::ok(face()));
    let (to_plain, to_remote) = (plain.address("/a.wasm"), "http://192.0.2.1/a.wasm");
    let web = Site::encrypted(move |request| match request.path.as_str() {
        "/here" => Answer::redirect("/a.wasm"),
        "/file" => Answer::redirect("file:///etc/passwd"),
        "/plain" => Answer::redirect(&to_plain),
        "/remote" => Answer::redirect(to_remote),
        "/loop" => Answer::redirect("/loop"),
        _ => Answer::ok(face()),
    });
    result(&add(&web.encrypted_address("/here"), json!({}), &[]).1);
    for path in ["/file", "/plain", "/loop"] {
        let (_data, output, _) = add(&web.encrypted_address(path), json!({}), &[]);
        let code = error(&output)["code"].clone();
        assert!(code == "REDIRECT_REFUSED" || (path == "/file" && code == "DOWNLOAD_FAILED"), "{path}: {code}");
    }
    refused(&web.encrypted_address("/remote"), json!({}), "NOT_ENCRYPTED");
    assert_eq!(plain.asked().len(), 0, "what is encrypted was sent on to what is not");
}

#[test]
fn half_a_download_is_none() {
    let web = Site::serve(|_| Answer::ok(face()).manner(Manner::Truncated));
    refused(&web.address("/a.wasm"), json!({}), "DOWNLOAD_FAILED");
    // Nothing says that this one is not whole, but it is no component.
    let web = Site::serve(|_| Answer::ok(&face()[..1000]));
    refused(&web.address("/a.wasm"), json!({}), "PLUGIN_INVALID");
}

#[test]
fn too_much_is_not_taken_whatever_was_announced() {
    let config = || json!({"plugins": {"max_component_bytes": 4096}});
    let web = Site::serve(|_| Answer::ok(vec![0; 5000]));
    refused(&web.address("/a.wasm"), config(), "LIMIT_EXCEEDED");
    let web = Site::serve(|_| Answer::ok("").manner(Manner::Endless));
    refused(&web.address("/a.wasm"), config(), "LIMIT_EXCEEDED");
}

#[test]
fn a_server_that_is_slow_is_left() {
    let web = Site::serve(|_| Answer::ok(face()).manner(Manner::Slow(Duration::from_millis(50))));
    let (_data, output, taken) = add(&web.address("/a.wasm"), json!({"plugins": {"download_timeout_ms": 1000}}), &[]);
    assert_eq!(error(&output)["code"], "DOWNLOAD_TIMEOUT");
    assert!(taken < Duration::from_secs(5), "{taken:?}");
}

#[test]
fn a_digest_binds_whoever_answers() {
    let web = Site::serve(|_| Answer::ok(face()));
    let wrong = "0".repeat(64);
    assert_eq!(error(&add(&web.address("/a.wasm"), json!({}), &["--digest", &wrong]).1)["code"], "DIGEST_MISMATCH");
}

#[test]
fn statuses_are_told_apart() {
    let web = Site::serve(|request| Answer::status(request.path[1..4].parse().unwrap()));
    for (status, code) in [(404, "PLUGIN_NOT_FOUND"), (401, "NOT_AUTHORIZED"), (403, "NOT_AUTHORIZED"), (500, "DOWNLOAD_FAILED")] {
        let message = refused(&web.address(&format!("/{status}.wasm")), json!({}), code);
        assert!(message.contains(&status.to_string()), "{message}");
    }
    // Nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    refused(&format!("http://127.0.0.1:{port}/a.wasm"), json!({}), "DOWNLOAD_FAILED");
}
