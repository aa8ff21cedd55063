//! Plugins from OCI registries: a real one where Debian's `docker-registry` is installed, and one that misbehaves.

use std::process::{Child, Command};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use oci_client::client::{ClientConfig, ClientProtocol, Config, ImageLayer};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{components, error, names, networked, result};
use crate::support::{Answer, Face, Request, Site, Zipfs, await_port, certificates, skipped};

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// A registry with one repository, whose blobs and manifests are what the test says.
struct Fake {
    manifests: Vec<(String, Vec<u8>)>,
    blobs: Vec<(String, Vec<u8>)>,
}

impl Fake {
    /// As `wkg` publishes: a configuration and one layer.
    fn of(wasm: &[u8]) -> Fake {
        Fake::with_layers(&[("application/wasm", wasm, digest(wasm))])
    }

    fn with_layers(layers: &[(&str, &[u8], String)]) -> Fake {
        let config = br#"{"created":"2026-01-01T00:00:00Z","architecture":"wasm","os":"wasip2","layerDigests":[]}"#;
        let described: Vec<Value> =
            layers.iter().map(|(kind, bytes, digest)| json!({"mediaType": kind, "digest": digest, "size": bytes.len()})).collect();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.wasm.config.v0+json", "digest": digest(config), "size": config.len()},
            "layers": described,
        });
        let manifest = manifest.to_string().into_bytes();
        let manifests = vec![("1.0.0".to_owned(), manifest.clone()), (digest(&manifest), manifest)];
        Fake { manifests, blobs: layers.iter().map(|(_, bytes, digest)| (digest.clone(), bytes.to_vec())).collect() }
    }

    fn answer(&self, request: &Request) -> Answer {
        let found = |known: &[(String, Vec<u8>)], prefix: &str| {
            let name = request.path.strip_prefix(prefix)?;
            known.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes.clone())
        };
        let kind = "application/vnd.oci.image.manifest.v1+json";
        match found(&self.manifests, "/v2/faces/manifests/") {
            Some(bytes) => Answer::ok(bytes).header("content-type", kind),
            None => match found(&self.blobs, "/v2/faces/blobs/") {
                Some(bytes) => Answer::ok(bytes),
                None if request.path == "/v2/" => Answer::ok("{}"),
                None => Answer::status(404),
            },
        }
    }

    fn serve(self) -> Site {
        Site::serve(move |request| self.answer(request))
    }

    fn pinned(&self) -> &str {
        &self.manifests[1].0
    }
}

fn add(reference: &str) -> (tempfile::TempDir, std::process::Output) {
    let data = tempfile::tempdir().unwrap();
    let output = networked(data.path(), &["--json", "plugin", "add", "--yes", reference]);
    if !output.status.success() {
        assert_eq!(components(data.path()), [""; 0], "something was kept");
    }
    (data, output)
}

#[test]
fn what_is_published_as_others_publish_is_added_and_pinned_by_its_digest() {
    let fake = Fake::of(Face::new(1).wasm());
    let pinned = fake.pinned().to_owned();
    let web = fake.serve();
    let by_tag = format!("oci://127.0.0.1:{}/faces:1.0.0", web.port);
    let (data, output) = add(&by_tag);
    assert_eq!(result(&output)["source"], json!(by_tag));
    assert_eq!(names(data.path()), ["faces-00001"]);
    result(&add(&format!("oci://127.0.0.1:{}/faces:1.0.0@{pinned}", web.port)).1);
    assert_eq!(error(&add(&format!("oci://127.0.0.1:{}/faces:2.0.0", web.port)).1)["code"], "PLUGIN_NOT_FOUND");
    assert_eq!(error(&add(&format!("oci://127.0.0.1:{}/others:1.0.0", web.port)).1)["code"], "PLUGIN_NOT_FOUND");
}

#[test]
fn a_registry_that_says_something_else_than_was_asked_for_is_refused() {
    let (one, other) = (Face::new(1), Face::new(1).version(2));
    // Another manifest than the digest in the reference.
    let pinned = Fake::of(one.wasm()).pinned().to_owned();
    let mut fake = Fake::of(other.wasm());
    fake.manifests[1].0 = pinned.clone();
    let web = fake.serve();
    assert_eq!(error(&add(&format!("oci://127.0.0.1:{}/faces@{pinned}", web.port)).1)["code"], "DIGEST_MISMATCH");
    // Another component than the digest in the manifest.
    let web = Fake::with_layers(&[("application/wasm", other.wasm(), digest(one.wasm()))]).serve();
    assert_eq!(error(&add(&format!("oci://127.0.0.1:{}/faces:1.0.0", web.port)).1)["code"], "DIGEST_MISMATCH");
    // No component, or two.
    let tar = "application/vnd.oci.image.layer.v1.tar+gzip";
    let web = Fake::with_layers(&[(tar, b"tar", digest(b"tar"))]).serve();
    assert_eq!(error(&add(&format!("oci://127.0.0.1:{}/faces:1.0.0", web.port)).1)["code"], "PLUGIN_INVALID");
    let both = [("application/wasm", one.wasm(), digest(one.wasm())), ("application/wasm", other.wasm(), digest(other.wasm()))];
    let web = Fake::with_layers(&both).serve();
    assert_eq!(error(&add(&format!("oci://127.0.0.1:{}/faces:1.0.0", web.port)).1)["code"], "PLUGIN_INVALID");
    // A manifest without end.
    let web = Site::serve(|_| Answer::ok("").manner(crate::support::Manner::Endless));
    assert_eq!(error(&add(&format!("oci://127.0.0.1:{}/faces:1.0.0", web.port)).1)["code"], "LIMIT_EXCEEDED");
}

#[test]
fn a_tag_that_moved_is_an_update_and_a_digest_stays() {
    let fakes = [
        Fake::of(Face::new(1).wasm()),
        Fake::of(Face::new(1).version(2).wasm()),
        Fake::of(Face::new(1).version(3).saying('B').wasm()),
    ];
    let pinned = fakes[0].pinned().to_owned();
    let now = Arc::new(AtomicU16::new(0));
    let at = now.clone();
    let web = Site::serve(move |request| {
        let known = |fake: &Fake| fake.answer(request).status == 200;
        // By tag the one that counts now; by digest whichever it is.
        match request.path.contains("sha256:") {
            true => fakes.iter().find(|fake| known(fake)).map_or_else(|| Answer::status(404), |fake| fake.answer(request)),
            false => fakes[usize::from(at.load(Ordering::Relaxed))].answer(request),
        }
    });
    let (data, output) = add(&format!("oci://127.0.0.1:{}/faces:1.0.0", web.port));
    result(&output);
    let update = || networked(data.path(), &["--json", "plugin", "update", "faces-00001"]);
    assert_eq!(result(&update())["state"], "up-to-date");
    now.store(1, Ordering::Relaxed);
    assert_eq!(result(&update())["state"], "updated");
    now.store(2, Ordering::Relaxed);
    assert_eq!(error(&update())["code"], "UPDATE_HELD");
    // Bound to a digest, nothing moves; and it can be gone back to, by somebody who says so.
    let reference = format!("oci://127.0.0.1:{}/faces:1.0.0@{pinned}", web.port);
    let back = networked(data.path(), &["--json", "plugin", "update", "faces-00001", "--from", &reference, "--approve"]);
    result(&back);
    assert_eq!(result(&update())["state"], "up-to-date");
}

#[test]
fn credentials_go_only_where_they_are_asked_for() {
    let fake = Fake::of(Face::new(1).wasm());
    let basic = "Basic dXNlcjpzZWNyZXQ=";
    // A registry that sends to its own place for a token, as most do.
    let port = Arc::new(Mutex::new(0));
    let own = port.clone();
    let web = Site::serve(move |request| match request.path.as_str() {
        path if path.starts_with("/token") => match request.header("authorization") {
            Some(found) if found == basic => Answer::ok(r#"{"token": "good"}"#),
            None => Answer::ok(r#"{"token": "anonymous"}"#),
            _ => Answer::status(401),
        },
        _ if request.header("authorization") == Some("Bearer good") => fake.answer(request),
        _ => {
            let realm = format!(r#"Bearer realm="http://127.0.0.1:{}/token",service="test""#, own.lock().unwrap());
            Answer::status(401).header("www-authenticate", &realm)
        }
    });
    *port.lock().unwrap() = web.port;
    let reference = format!("oci://127.0.0.1:{}/faces:1.0.0", web.port);
    let refused = error(&add(&reference).1);
    assert_eq!(refused["code"], "NOT_AUTHORIZED");
    assert!(refused["message"].as_str().unwrap().contains("docker login"), "{refused}");

    let add_with = |variables: &[(&str, &str)], docker: Option<Value>| {
        let data = tempfile::tempdir().unwrap();
        if let Some(config) = docker {
            std::fs::create_dir(data.path().join(".docker")).unwrap();
            std::fs::write(data.path().join(".docker/config.json"), config.to_string()).unwrap();
        }
        let mut command = Zipfs(data.path()).command();
        command.env("SSL_CERT_FILE", certificates()).env("HOME", data.path()).envs(variables.iter().copied());
        let output = command.args(["--json", "plugin", "add", "--yes", &reference]).output().unwrap();
        assert!(!String::from_utf8_lossy(&output.stderr).contains("secret"), "{output:?}");
        output
    };
    let (name, password) = ("ZIPFS_REGISTRY_USERNAME", "ZIPFS_REGISTRY_PASSWORD");
    result(&add_with(&[(name, "user"), (password, "secret")], None));
    assert_eq!(error(&add_with(&[(name, "user"), (password, "secret2")], None))["code"], "NOT_AUTHORIZED");
    result(&add_with(&[("ZIPFS_REGISTRY_TOKEN", "good")], None));
    let host = format!("127.0.0.1:{}", web.port);
    result(&add_with(&[], Some(json!({"auths": {&host: {"auth": "dXNlcjpzZWNyZXQ="}}}))));
    // Those of another registry are not sent here.
    let asked = web.asked().len();
    assert_eq!(
        error(&add_with(&[], Some(json!({"auths": {"other.example": {"auth": "dXNlcjpzZWNyZXQ="}}}))))["code"],
        "NOT_AUTHORIZED"
    );
    assert!(web.asked()[asked..].iter().all(|request| request.header("authorization") != Some(basic)));
}

#[test]
fn a_password_is_not_sent_on_unencrypted() {
    let web =
        Site::serve(|_| Answer::status(401).header("www-authenticate", r#"Bearer realm="http://192.0.2.1/token",service="x""#));
    let data = tempfile::tempdir().unwrap();
    let mut command = Zipfs(data.path()).command();
    command.env("SSL_CERT_FILE", certificates()).env("ZIPFS_REGISTRY_USERNAME", "user").env("ZIPFS_REGISTRY_PASSWORD", "secret");
    let output =
        command.args(["--json", "plugin", "add", "--yes", &format!("oci://127.0.0.1:{}/faces:1", web.port)]).output().unwrap();
    assert_eq!(error(&output)["code"], "NOT_ENCRYPTED");
}

/// Debian's registry, in a directory of its own.
struct Real {
    process: Child,
    port: u16,
    _dir: tempfile::TempDir,
}

impl Real {
    /// With a user and a password, if wanted.
    fn start(locked: bool) -> Option<Real> {
        if Command::new("docker-registry").arg("--version").output().is_err() {
            skipped(
                "there is no `docker-registry` here, so nothing shows that a real registry works (apt-get install docker-registry)",
            );
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut config = format!(
            "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: 127.0.0.1:{port}\n",
            dir.path().join("data").display()
        );
        if locked {
            let users = dir.path().join("users");
            // The word is `secret`.
            std::fs::write(&users, "user:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n").unwrap();
            config += &format!("auth:\n  htpasswd:\n    realm: tests\n    path: {}\n", users.display());
        }
        let file = dir.path().join("config.yml");
        std::fs::write(&file, config).unwrap();
        let quiet = std::process::Stdio::null;
        let process = Command::new("docker-registry").arg("serve").arg(&file).stdout(quiet()).stderr(quiet()).spawn().unwrap();
        await_port(port);
        Some(Real { process, port, _dir: dir })
    }

    /// Publishes with a client that is not ours.
    fn push(&self, tag: &str, wasm: &[u8], auth: &RegistryAuth) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::new(ClientConfig { protocol: ClientProtocol::Http, ..ClientConfig::default() });
        let reference: Reference = format!("127.0.0.1:{}/team/faces:{tag}", self.port).parse().unwrap();
        let layer = ImageLayer::new(wasm.to_vec(), "application/wasm".to_owned(), None);
        let config = Config::new(b"{}".to_vec(), "application/vnd.wasm.config.v0+json".to_owned(), None);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(client.push(&reference, &[layer], config, auth, None)).expect("it can be published");
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_real_registry_serves_adds_and_updates() {
    let Some(registry) = Real::start(false) else { return };
    let publish = |face: Face| registry.push("latest", face.wasm(), &RegistryAuth::Anonymous);
    publish(Face::new(1));
    let (data, output) = add(&format!("oci://127.0.0.1:{}/team/faces:latest", registry.port));
    result(&output);
    let said = Zipfs(data.path()).ok(&["--json", "call", "faces_00001"]);
    assert!(said.contains("10000.0.0"), "{said}");
    publish(Face::new(1).version(2));
    assert_eq!(result(&networked(data.path(), &["--json", "plugin", "update", "--all"]))["plugins"][0]["state"], "updated");
    assert_eq!(error(&add(&format!("oci://127.0.0.1:{}/team/faces:none", registry.port)).1)["code"], "PLUGIN_NOT_FOUND");
}

#[test]
fn a_real_registry_that_wants_a_password_gets_the_right_one() {
    let Some(registry) = Real::start(true) else { return };
    registry.push("latest", Face::new(1).wasm(), &RegistryAuth::Basic("user".into(), "secret".into()));
    let reference = format!("oci://127.0.0.1:{}/team/faces:latest", registry.port);
    assert_eq!(error(&add(&reference).1)["code"], "NOT_AUTHORIZED");
    for (password, is_right) in [("wrong", false), ("secret", true)] {
        let data = tempfile::tempdir().unwrap();
        let mut command = Zipfs(data.path()).command();
        command
            .env("SSL_CERT_FILE", certificates())
            .env("ZIPFS_REGISTRY_USERNAME", "user")
            .env("ZIPFS_REGISTRY_PASSWORD", password);
        let output = command.args(["--json", "plugin", "add", "--yes", &reference]).output().unwrap();
        match is_right {
            true => assert_eq!(result(&output)["added"], "faces-00001"),
            false => assert_eq!(error(&output)["code"], "NOT_AUTHORIZED"),
        }
    }
}
