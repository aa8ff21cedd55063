//! Issuers whose keys come over the network: asked seldom, believed only over TLS that fits, done without while they are away.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::signer::{EsKey, RsKey, claims_of_issuer, encode, list_as, now, signed};
use crate::support::{Answer, Manner, Service, Site, certificates};

/// An issuer whose answer can be changed, and who can be made to take its time.
struct Issuer {
    site: Site,
    keys: Arc<Mutex<Value>>,
    away: Arc<AtomicBool>,
    pause_ms: Arc<AtomicU64>,
}

impl Issuer {
    fn with(keys: Value) -> Issuer {
        let (keys, away, pause_ms) = (Arc::new(Mutex::new(keys)), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (shown, gone, pause) = (keys.clone(), away.clone(), pause_ms.clone());
        let site = Site::encrypted(move |_| {
            std::thread::sleep(Duration::from_millis(pause.load(Ordering::SeqCst)));
            match gone.load(Ordering::SeqCst) {
                true => Answer::status(500),
                false => Answer::ok(json!({"keys": *shown.lock().unwrap()}).to_string()),
            }
        });
        Issuer { site, keys, away, pause_ms }
    }

    fn asked(&self) -> usize {
        self.site.asked().len()
    }
}

/// A service that trusts the issuer at an address.
fn trusting(address: &str, auth: Value) -> Service {
    let issuer = json!({"issuer": "https://idp.example.com", "jwks_url": address, "ca_file": certificates()});
    let mut settings = json!({"audience": "https://zip.example.com/mcp", "issuers": [issuer]});
    for (name, value) in auth.as_object().unwrap() {
        settings[name] = value.clone();
    }
    Service::on(Service::prepare(json!({"auth": settings})), &[])
}

fn trusting_issuer(issuer: &Issuer, auth: Value) -> Service {
    trusting(&issuer.site.encrypted_address("/keys"), auth)
}

#[test]
fn keys_come_over_the_network_and_are_kept() {
    let es = EsKey::make();
    let rs = RsKey::make();
    let mut keys = vec![es.jwk("e")];
    keys.extend(rs.as_ref().map(|rs| rs.jwk("r")));
    let issuer = Issuer::with(json!(keys));
    let service = trusting_issuer(&issuer, json!({}));
    for _ in 0..5 {
        assert_eq!(list_as(&service, &es.token("e")).status, 200);
        if let Some(rs) = &rs {
            assert_eq!(list_as(&service, &rs.sign(&json!({"alg": "RS256", "kid": "r"}), &claims_of_issuer())).status, 200);
        }
    }
    let asked = issuer.site.asked();
    assert_eq!((asked.len(), asked[0].path.as_str()), (1, "/keys"), "once for all");
    assert_eq!(asked[0].header("authorization"), None, "the token stays here");
}

#[test]
fn what_the_token_says_is_checked_all_the_same() {
    let (es, other) = (EsKey::make(), EsKey::make());
    let rs = RsKey::make();
    let mut keys = vec![es.jwk("e")];
    keys.extend(rs.as_ref().map(|rs| rs.jwk("r")));
    let service = trusting_issuer(&Issuer::with(json!(keys)), json!({}));
    let header = || json!({"alg": "ES256", "kid": "e"});
    for (claim, value) in [
        ("aud", json!("https://other.example.com/mcp")),
        ("aud", json!(["https://other.example.com/mcp"])),
        ("aud", json!(null)),
        ("iss", json!("https://idp.example.com.evil.com")),
        ("iss", json!(null)),
        ("exp", json!(now() - 90)),
        ("exp", json!(null)),
        ("nbf", json!(now() + 90)),
        ("sub", json!("")),
    ] {
        let mut claims = claims_of_issuer();
        claims[claim] = value.clone();
        assert_eq!(list_as(&service, &es.sign(&header(), &claims)).status, 401, "{claim} {value}");
    }
    assert_eq!(list_as(&service, &other.token("e")).status, 401, "another key of that name");
    let unsigned = signed(&json!({"alg": "none", "kid": "e"}), &claims_of_issuer(), |_| Vec::new());
    assert_eq!(list_as(&service, &unsigned).status, 401, "unsigned");
    let mut secrets = vec![es.point(), encode(&es.point()[1..33]).into_bytes()];
    secrets.extend(rs.iter().flat_map(RsKey::public_as_secrets));
    for secret in secrets {
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret);
        for kid in ["e", "r"] {
            let confused = signed(&json!({"alg": "HS256", "kid": kid}), &claims_of_issuer(), |text| {
                ring::hmac::sign(&secret, text).as_ref().to_vec()
            });
            assert_eq!(list_as(&service, &confused).status, 401, "a public key as a secret");
        }
    }
    assert_eq!(list_as(&service, &es.token("e")).status, 200);
}

#[test]
fn a_new_key_is_found_and_one_that_was_withdrawn_forgotten() {
    let (old, new) = (EsKey::make(), EsKey::make());
    let issuer = Issuer::with(json!([old.jwk("old")]));
    let service = trusting_issuer(&issuer, json!({"keys_pause_s": 1}));
    assert_eq!(list_as(&service, &old.token("old")).status, 200);
    *issuer.keys.lock().unwrap() = json!([new.jwk("new")]);
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(list_as(&service, &new.token("new")).status, 200, "a name that is not known is asked for");
    assert_eq!(list_as(&service, &old.token("old")).status, 401, "and what is no longer there is no longer good");
    // Without any new name: by age.
    let service = trusting_issuer(&issuer, json!({"keys_pause_s": 1, "keys_fresh_s": 1}));
    assert_eq!(list_as(&service, &new.token("new")).status, 200);
    *issuer.keys.lock().unwrap() = json!([old.jwk("old")]);
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(list_as(&service, &new.token("new")).status, 401, "withdrawn");
}

#[test]
fn made_up_keys_do_not_become_requests() {
    let key = EsKey::make();
    let issuer = Issuer::with(json!([key.jwk("good")]));
    let service = trusting_issuer(&issuer, json!({"keys_pause_s": 2}));
    assert_eq!(list_as(&service, &key.token("good")).status, 200);
    let began = Instant::now();
    for number in 0..60 {
        assert_eq!(list_as(&service, &key.token(&format!("made-up-{number}"))).status, 401);
    }
    let most = 2 + began.elapsed().as_secs() as usize / 2;
    assert!(issuer.asked() <= most, "{} requests for 60 tokens in {:?}", issuer.asked(), began.elapsed());
    // Nor does anybody wait for what they cause.
    issuer.pause_ms.store(3000, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(2100));
    std::thread::scope(|scope| {
        let made_up = scope.spawn(|| list_as(&service, &key.token("made-up")).status);
        std::thread::sleep(Duration::from_millis(300));
        let began = Instant::now();
        assert_eq!(list_as(&service, &key.token("good")).status, 200);
        assert!(began.elapsed() < Duration::from_secs(1), "a good token waited {:?} for a bad one", began.elapsed());
        assert_eq!(made_up.join().unwrap(), 401);
    });
}

#[test]
fn many_at_once_ask_once() {
    let key = EsKey::make();
    let issuer = Issuer::with(json!([key.jwk("one")]));
    issuer.pause_ms.store(700, Ordering::SeqCst);
    let service = trusting_issuer(&issuer, json!({}));
    let token = key.token("one");
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..16).map(|_| scope.spawn(|| list_as(&service, &token).status)).collect();
        all.into_iter().for_each(|one| assert_eq!(one.join().unwrap(), 200));
    });
    assert_eq!(issuer.asked(), 1);
}

#[test]
fn who_hangs_up_does_not_keep_the_keys_from_others() {
    let key = EsKey::make();
    let issuer = Issuer::with(json!([key.jwk("one")]));
    issuer.pause_ms.store(800, Ordering::SeqCst);
    let service = trusting_issuer(&issuer, json!({"keys_pause_s": 60}));
    let mut stream = service.connect();
    let bearer = format!("Bearer {}", key.token("made-up"));
    stream.write_all(&service.request("POST /mcp", &[("authorization", &bearer)], b"{}")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    drop(stream);
    assert_eq!(list_as(&service, &key.token("one")).status, 200, "the asking went on without whoever began it");
    assert_eq!(issuer.asked(), 1);
}

#[test]
fn while_the_issuer_is_away_known_keys_are_good() {
    let key = EsKey::make();
    let issuer = Issuer::with(json!([key.jwk("one")]));
    let service = trusting_issuer(&issuer, json!({"keys_pause_s": 1, "keys_fresh_s": 1}));
    let token = key.token("one");
    assert_eq!(list_as(&service, &token).status, 200);
    issuer.away.store(true, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(1200));
    for _ in 0..3 {
        assert_eq!(list_as(&service, &token).status, 200);
        std::thread::sleep(Duration::from_millis(600));
    }
    // It is asked again all the time, and nobody waits for that once it is known to be away.
    issuer.pause_ms.store(3000, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(1100));
    let began = Instant::now();
    assert_eq!(list_as(&service, &token).status, 200);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let unknown = list_as(&service, &key.token("two"));
    assert_eq!(unknown.status, 503, "nobody can say whether that one is good: {unknown:?}");
}

#[test]
fn before_any_key_is_known_nobody_can_say_who_it_is() {
    let key = EsKey::make();
    let issuer = Issuer::with(json!([key.jwk("one")]));
    issuer.away.store(true, Ordering::SeqCst);
    let service = trusting_issuer(&issuer, json!({"keys_pause_s": 1}));
    let refused = list_as(&service, &key.token("one"));
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.text().contains("keys of the token's issuer"), "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    issuer.away.store(false, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(list_as(&service, &key.token("one")).status, 200, "as soon as it is back");
}

#[test]
fn answers_that_are_no_keys_are_bounded() {
    let key = EsKey::make();
    let good = json!({"keys": [key.jwk("one")]}).to_string();
    let padded = format!("{}{good}", " ".repeat(300 << 10));
    type Made = Box<dyn Fn() -> Answer + Send + Sync>;
    let body = good.clone();
    let slow = good.clone();
    let half = good.clone();
    let answers: Vec<(&str, Made)> = vec![
        ("a redirect", Box::new(|| Answer::redirect("/elsewhere"))),
        ("too much", Box::new(move || Answer::ok(padded.clone()))),
        ("no end", Box::new(|| Answer::ok("").manner(Manner::Endless))),
        ("a byte a second", Box::new(move || Answer::ok(slow.clone()).manner(Manner::Slow(Duration::from_secs(1))))),
        ("half of it", Box::new(move || Answer::ok(half.clone()).manner(Manner::Truncated))),
        ("no JSON", Box::new(|| Answer::ok("<html>keys</html>"))),
        ("no set", Box::new(|| Answer::ok("[]"))),
        ("depth", Box::new(|| Answer::ok("[".repeat(100_000)))),
        ("nothing", Box::new(|| Answer::ok(""))),
        ("an error", Box::new(|| Answer::status(404))),
    ];
    std::thread::scope(|scope| {
        for (what, answer) in answers {
            let (key, body) = (&key, body.clone());
            scope.spawn(move || {
                let site = Site::encrypted(move |request| match request.path.as_str() {
                    "/keys" => answer(),
                    _ => Answer::ok(body.clone()),
                });
                let service = trusting(&site.encrypted_address("/keys"), json!({}));
                let began = Instant::now();
                let refused = list_as(&service, &key.token("one"));
                assert_eq!(refused.status, 503, "{what}: {refused:?}");
                assert!(began.elapsed() < Duration::from_secs(12), "{what}: {:?}", began.elapsed());
                assert_eq!(site.asked().len(), 1, "{what}: followed nowhere, and asked once");
                let grown = service.process().memory() >> 20;
                assert!(grown < 300, "{what}: {grown} MiB");
            });
        }
    });
}

#[test]
fn keys_are_not_believed_from_anybody() {
    let key = EsKey::make();
    let issuer = Issuer::with(json!([key.jwk("one")]));
    let url = issuer.site.encrypted_address("/keys");
    let serve = |issuer: Value| {
        let auth = json!({"audience": "https://zip.example.com/mcp", "issuers": [issuer]});
        Service::on(Service::prepare(json!({"auth": auth})), &[])
    };
    let service = serve(json!({"issuer": "https://idp.example.com", "jwks_url": url}));
    assert_eq!(list_as(&service, &key.token("one")).status, 503, "a certificate that nobody vouches for");
    // The certificate is for `localhost`.
    let other = url.replace("localhost", "127.0.0.1");
    let service = serve(json!({"issuer": "https://idp.example.com", "jwks_url": other, "ca_file": certificates()}));
    assert_eq!(list_as(&service, &key.token("one")).status, 503, "a certificate for another name");
    assert_eq!(issuer.asked(), 0, "nothing was asked of them");
    for wrong in ["http://idp.example.com/keys", "http://127.0.0.1:80@idp.example.com/keys", "ftp://idp.example.com/keys", "keys"] {
        let issuers = json!([{"issuer": "https://idp.example.com", "jwks_url": wrong}]);
        let data = Service::prepare(json!({"auth": {"audience": "https://zip.example.com/mcp", "issuers": issuers}}));
        let said = crate::support::Zipfs(data.path()).fails(&["serve", "--listen", "127.0.0.1:0"], 1);
        assert!(said.contains("https"), "{wrong}: {said}");
    }
}
