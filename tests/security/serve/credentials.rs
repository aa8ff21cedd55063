//! Whoever shows nothing, or something wrong, is nobody.

use serde_json::{Value, json};

use super::signer::{EsKey, RsKey, claims_of_issuer, encode, list, now, signed};
use crate::support::Service;

#[test]
fn a_token_is_shown_whole_and_once() {
    let (service, [token, other]) = Service::with(json!({}), [("a", &[]), ("b", &[])]);
    for scheme in ["Bearer", "bearer", "BEARER"] {
        assert_eq!(list(&service, &[("authorization", &format!("{scheme} {token}"))]).status, 200, "{scheme}");
    }
    let wrong = [
        String::new(),
        token.clone(),
        format!("Basic {token}"),
        format!("Bearer  {token}"),
        format!("Bearer {token}x"),
        format!("Bearer {}", &token[..token.len() - 1]),
        format!("Bearer {token} {other}"),
        format!("Bearer {token},{other}"),
        format!("Bearer {}", token.to_uppercase()),
        "Bearer zipfs_".into(),
        "Bearer ..".into(),
        format!("Bearer {}", "x".repeat(20_000)),
    ];
    for shown in wrong {
        let refused = list(&service, &[("authorization", &shown)]);
        assert_eq!(refused.status, 401, "{shown:.60}");
        let challenge = refused.header("www-authenticate").unwrap();
        let metadata = format!("resource_metadata=\"http://{}/.well-known/oauth-protected-resource/mcp\"", service.address);
        assert!(challenge.starts_with("Bearer ") && challenge.contains(&metadata), "{challenge}");
        assert!(!challenge.contains(&token) && !refused.text().contains(&token), "it is not repeated");
    }
    let bearer = format!("Bearer {token}");
    assert_eq!(list(&service, &[("authorization", &bearer), ("authorization", &bearer)]).status, 401, "two headers");
    let nul = service.request("POST /mcp", &[("authorization", &format!("{bearer}\0"))], b"{}");
    assert!(matches!(service.raw(&nul).status, 400 | 401));
    assert_eq!(service.send(&format!("POST /mcp?access_token={token}"), &[], b"{}").status, 401, "in the address");
    service.cli().ok(&["token", "remove", "a"]);
    assert_eq!(list(&service, &[("authorization", &bearer)]).status, 401, "removed while the server runs");
    assert_eq!(list(&service, &[("authorization", &format!("Bearer {other}"))]).status, 200);
}

#[test]
fn no_token_is_written_down() {
    let data = Service::prepare(json!({}));
    let token = crate::support::token(data.path(), "a", &[]);
    let minted = crate::support::Zipfs(data.path()).ok(&["token", "mint", "--scope", "read:/", "--quiet"]);
    let service = Service::on(data, &[]);
    for shown in [&token, minted.trim()] {
        assert_eq!(list(&service, &[("authorization", &format!("Bearer {shown}"))]).status, 200);
        assert_eq!(list(&service, &[("authorization", &format!("Bearer {shown}x"))]).status, 401);
    }
    let mut kept = Vec::new();
    let mut directories = vec![service.data().to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => directories.push(entry.path()),
                false => kept.extend(std::fs::read(entry.path()).unwrap()),
            }
        }
    }
    let holds = |wanted: &str| kept.windows(wanted.len()).any(|window| window == wanted.as_bytes());
    assert!(!holds(&token["zipfs_".len()..]) && !holds(minted.trim().rsplit('.').next().unwrap()));
}

#[test]
fn tokens_of_this_installation_are_checked_in_every_part() {
    let data = Service::prepare(json!({}));
    let mint = |arguments: &[&str]| {
        let arguments = [&["token", "mint", "--quiet"], arguments].concat();
        crate::support::Zipfs(data.path()).ok(&arguments).trim().to_owned()
    };
    let good = mint(&["--scope", "read:/", "--expires", "1h", "--user", "ada"]);
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &std::fs::read(data.path().join("token.key")).unwrap());
    let service = Service::on(data.clone(), &[]);
    let status = |token: &str| list(&service, &[("authorization", &format!("Bearer {token}"))]).status;
    assert_eq!(status(&good), 200);
    let hs = |header: Value, claims: Value| signed(&header, &claims, |text| ring::hmac::sign(&key, text).as_ref().to_vec());
    let header = || json!({"alg": "HS256", "typ": "JWT"});
    let claims = |change: Value| {
        let mut claims = json!({"sub": "ada", "exp": now() + 600, "scope": "read:/"});
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims
    };
    // What is right, in the forms that others write it in.
    for change in
        [json!({}), json!({"iss": "zipfs", "aud": ["x", "zipfs"]}), json!({"exp": now() - 30}), json!({"nbf": now() + 30})]
    {
        assert_eq!(status(&hs(header(), claims(change.clone()))), 200, "{change}");
    }
    for change in [
        json!({"exp": now() - 90}),
        json!({"exp": null}),
        json!({"exp": "tomorrow"}),
        json!({"nbf": now() + 90}),
        json!({"iat": now() + 90}),
        json!({"aud": "somebody else"}),
        json!({"aud": []}),
        json!({"iss": "https://evil.com"}),
        json!({"sub": ""}),
        json!({"sub": null}),
        json!({"sub": "a\nb"}),
    ] {
        assert_eq!(status(&hs(header(), claims(change.clone()))), 401, "{change}");
    }
    for odd in [
        json!({"alg": "none"}),
        json!({"alg": "HS384"}),
        json!({"alg": "hs256"}),
        json!({"alg": "RS256"}),
        json!({"alg": ["HS256"]}),
        json!({"typ": "JWT"}),
        json!({"alg": "HS256", "crit": ["exp"]}),
        json!({"alg": "HS256", "typ": "JWE"}),
    ] {
        assert_eq!(status(&hs(odd.clone(), claims(json!({})))), 401, "{odd}");
    }
    let unsigned = signed(&json!({"alg": "none"}), &claims(json!({})), |_| Vec::new());
    assert_eq!(status(&unsigned), 401, "unsigned");
    assert_eq!(status(unsigned.trim_end_matches('.')), 401);
    let foreign = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"another secret that is long enough");
    let forged = signed(&header(), &claims(json!({})), |text| ring::hmac::sign(&foreign, text).as_ref().to_vec());
    assert_eq!(status(&forged), 401, "another secret");
    let (text, signature) = good.rsplit_once('.').unwrap();
    let (first, _) = text.split_once('.').unwrap();
    let more = encode(claims(json!({"role": "admin"})).to_string());
    assert_eq!(status(&format!("{first}.{more}.{signature}")), 401, "changed claims");
    assert_eq!(status(&format!("{text}.{}", &signature[..signature.len() - 2])), 401, "half a signature");
    assert_eq!(status(&format!("{good}=")), 401, "padding");
    // A secret that others can read signs nothing.
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(data.path().join("token.key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(status(&good), 401);
}

/// A service that trusts an issuer with these keys.
fn trusting(keys: &Value) -> Service {
    let keys_file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(keys_file.path(), json!({"keys": keys}).to_string()).unwrap();
    let issuer = json!({"issuer": "https://idp.example.com", "jwks_file": keys_file.path()});
    let data = Service::prepare(json!({"auth": {"audience": "https://zip.example.com/mcp", "issuers": [issuer]}}));
    // It lives as long as the data directory.
    keys_file.persist(data.path().join("jwks.json")).unwrap();
    let config = std::fs::read_to_string(data.path().join("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["auth"]["issuers"][0]["jwks_file"] = json!(data.path().join("jwks.json"));
    std::fs::write(data.path().join("config.json"), config.to_string()).unwrap();
    Service::on(data, &[])
}

#[test]
fn issuers_sign_with_their_own_keys_and_for_us() {
    let (key, other) = (EsKey::make(), EsKey::make());
    let jwk = key.jwk("one");
    let service = trusting(&json!([jwk, {"kty": "oct", "k": "c2VjcmV0", "kid": "one"}, {"kty": "OKP"}]));
    let es = |key: &EsKey, header: Value, claims: Value| key.sign(&header, &claims);
    let header = || json!({"alg": "ES256", "kid": "one", "typ": "at+jwt"});
    let status = |token: &str| list(&service, &[("authorization", &format!("Bearer {token}"))]).status;
    assert_eq!(status(&es(&key, header(), claims_of_issuer())), 200);
    assert_eq!(status(&es(&key, json!({"alg": "ES256"}), claims_of_issuer())), 200, "there is but one key");
    assert_eq!(status(&es(&other, header(), claims_of_issuer())), 401, "another key");
    assert_eq!(status(&es(&key, json!({"alg": "ES256", "kid": "two"}), claims_of_issuer())), 401, "an unknown key");
    for (claim, value) in [
        ("aud", json!("https://other.example.com/mcp")),
        ("aud", json!(null)),
        ("iss", json!("https://idp.example.com/")),
        ("iss", json!(null)),
        ("exp", json!(now() - 90)),
    ] {
        let mut claims = claims_of_issuer();
        claims[claim] = value.clone();
        assert_eq!(status(&es(&key, header(), claims)), 401, "{claim} {value}");
    }
    // The public key as a shared secret, and the set's own secret, which is nobody's to use.
    let point = key.point();
    for secret in [&point[..], b"secret", encode(&point[1..33]).as_bytes()] {
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
        let confused = signed(&json!({"alg": "HS256", "kid": "one"}), &claims_of_issuer(), |text| {
            ring::hmac::sign(&secret, text).as_ref().to_vec()
        });
        assert_eq!(status(&confused), 401, "confusion");
    }
    let mut admin = claims_of_issuer();
    admin["role"] = json!("admin");
    let token = es(&key, header(), admin);
    assert!(service.agent(&token).tools().contains(&"zipfs_write".to_owned()));
    let described = service.send("GET /.well-known/oauth-protected-resource/mcp", &[], b"").json();
    assert_eq!(described["resource"], "https://zip.example.com/mcp");
    assert_eq!(described["authorization_servers"], json!(["https://idp.example.com"]));
}

#[test]
fn rsa_signatures_are_checked_and_never_as_secrets() {
    let Some(key) = RsKey::make() else { return };
    let service = trusting(&json!([key.jwk("r")]));
    let rs = |header: Value| key.sign(&header, &claims_of_issuer());
    let status = |token: &str| list(&service, &[("authorization", &format!("Bearer {token}"))]).status;
    assert_eq!(status(&rs(json!({"alg": "RS256", "kid": "r"}))), 200);
    assert_eq!(status(&rs(json!({"alg": "ES256", "kid": "r"}))), 401);
    assert_eq!(status(&rs(json!({"alg": "HS256", "kid": "r"}))), 401);
    for secret in key.public_as_secrets() {
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret);
        let confused = signed(&json!({"alg": "HS256", "kid": "r"}), &claims_of_issuer(), |text| {
            ring::hmac::sign(&secret, text).as_ref().to_vec()
        });
        assert_eq!(status(&confused), 401);
    }
}
