//! Keys that issuers sign tokens with, and the tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use crate::support::{Response, Service, have, run};

pub fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A token of these parts, signed by whatever is given.
pub fn signed(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let text = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
    let signature = sign(text.as_bytes());
    format!("{text}.{}", encode(signature))
}

/// What an issuer that is trusted says of somebody.
pub fn claims_of_issuer() -> Value {
    json!({"iss": "https://idp.example.com", "aud": "https://zip.example.com/mcp", "sub": "ada", "exp": now() + 600,
           "scope": "read:/ write:/notes/", "role": "operator"})
}

/// Asks for the list of tools with these headers.
pub fn list(service: &Service, headers: &[(&str, &str)]) -> Response {
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers = [&[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")], headers].concat();
    service.send("POST /mcp", &headers, body)
}

/// The same with a token.
pub fn list_as(service: &Service, token: &str) -> Response {
    list(service, &[("authorization", &format!("Bearer {token}"))])
}

/// A key for ES256.
pub struct EsKey(EcdsaKeyPair);

impl EsKey {
    pub fn make() -> EsKey {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        EsKey(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap())
    }

    pub fn point(&self) -> Vec<u8> {
        self.0.public_key().as_ref().to_vec()
    }

    pub fn jwk(&self, kid: &str) -> Value {
        let point = self.point();
        json!({"kty": "EC", "crv": "P-256", "kid": kid, "alg": "ES256", "use": "sig",
               "x": encode(&point[1..33]), "y": encode(&point[33..])})
    }

    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        signed(header, claims, |text| self.0.sign(&SystemRandom::new(), text).unwrap().as_ref().to_vec())
    }

    /// A good token by the key of this name.
    pub fn token(&self, kid: &str) -> String {
        self.sign(&json!({"alg": "ES256", "kid": kid, "typ": "at+jwt"}), &claims_of_issuer())
    }
}

/// A key for RS256.
pub struct RsKey(RsaKeyPair, tempfile::TempDir);

impl RsKey {
    /// Nothing where there is no `openssl` to make one.
    pub fn make() -> Option<RsKey> {
        if !have("openssl", "tokens signed with RSA are checked") {
            return None;
        }
        let place = tempfile::tempdir().unwrap();
        run(
            "openssl",
            &["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-outform", "DER", "-out", "key"],
            place.path(),
        );
        let der = std::fs::read(place.path().join("key")).unwrap();
        Some(RsKey(RsaKeyPair::from_pkcs8(&der).or_else(|_| RsaKeyPair::from_der(&der)).unwrap(), place))
    }

    fn public(&self) -> ring::rsa::PublicKeyComponents<Vec<u8>> {
        self.0.public().into()
    }

    pub fn jwk(&self, kid: &str) -> Value {
        let public = self.public();
        json!({"kty": "RSA", "kid": kid, "n": encode(&public.n), "e": encode(&public.e)})
    }

    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        signed(header, claims, |text| {
            let mut signature = vec![0; self.0.public().modulus_len()];
            self.0.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text, &mut signature).unwrap();
            signature
        })
    }

    /// The forms in which the public key could be taken for a shared secret.
    pub fn public_as_secrets(&self) -> Vec<Vec<u8>> {
        let pem = run("openssl", &["pkey", "-in", "key", "-inform", "DER", "-pubout"], self.1.path());
        vec![pem.clone().into_bytes(), pem.trim().as_bytes().to_vec(), self.0.public().as_ref().to_vec(), self.public().n]
    }
}
