//! The public keys of an issuer (JWKS, RFC 7517): where they are, and whether a signature is by one of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::fetch;
use super::jwt::Refused;
use crate::config::Issuer;

/// How long keys are used before they are asked for again. An issuer that withdraws a key expects clients to notice.
const FRESH: Duration = Duration::from_secs(600);

/// How long must pass before an unknown key makes us ask again: tokens with made-up keys must not become requests to the issuer.
const PAUSE: Duration = Duration::from_secs(10);

/// A set of keys. Real ones have a few kilobytes.
pub const MOST_BYTES: usize = 256 << 10;

/// The keys of one issuer.
#[derive(Debug)]
pub struct Keys {
    place: Place,
    known: Mutex<Known>,
}

#[derive(Debug)]
enum Place {
    Url { url: String, ca_file: Option<PathBuf> },
    File(PathBuf),
}

#[derive(Debug, Default)]
struct Known {
    keys: Arc<Vec<Jwk>>,
    asked: Option<Instant>,
}

#[derive(Debug, Deserialize)]
struct Jwks {
    keys: Vec<serde_json::Value>,
}

/// A public key. What else the set may hold is passed over.
#[derive(Debug, Clone, Deserialize)]
struct Jwk {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    alg: Option<String>,
    #[serde(default, rename = "use")]
    usage: Option<String>,
    #[serde(default)]
    crv: Option<String>,
    #[serde(default)]
    n: Option<String>,
    #[serde(default)]
    e: Option<String>,
    #[serde(default)]
    x: Option<String>,
    #[serde(default)]
    y: Option<String>,
}

impl Keys {
    pub fn of(issuer: &Issuer) -> Keys {
        let place = match (&issuer.jwks_url, &issuer.jwks_file) {
            (Some(url), _) => Place::Url { url: url.clone(), ca_file: issuer.ca_file.clone() },
            (None, file) => Place::File(file.clone().unwrap_or_default()),
        };
        Keys { place, known: Mutex::default() }
    }

    /// Checks a signature with the key that the token names. The key must be of the algorithm's kind.
    pub async fn verify(&self, algorithm: &str, kid: Option<&str>, signed: &[u8], signature: &[u8]) -> Result<(), Refused> {
        const UNKNOWN: Refused = "the token is signed by an unknown key";
        for again in [false, true] {
            let keys = self.current(again).await;
            let mut fitting = keys.iter().filter(|key| key.fits(algorithm, kid));
            match (fitting.next(), kid, fitting.next()) {
                // A token that does not say which key signed it is only accepted if there is but one.
                (Some(_), None, Some(_)) => return Err("the token does not name its key"),
                (Some(key), _, _) => return key.verify(algorithm, signed, signature),
                // The issuer may have a new one.
                (None, _, _) if !again => {}
                (None, _, _) => return Err(UNKNOWN),
            }
        }
        Err(UNKNOWN)
    }

    /// The keys, asked for again if they are old, or if one is missing. If that fails those we have are used on.
    async fn current(&self, one_is_missing: bool) -> Arc<Vec<Jwk>> {
        let mut known = self.known.lock().await;
        let age = known.asked.map(|asked| asked.elapsed());
        let is_due = match (age, &self.place) {
            (None, _) => true,
            (Some(age), Place::Url { .. }) => age > FRESH || (one_is_missing && age > PAUSE),
            (Some(_), Place::File(_)) => !one_is_missing,
        };
        if is_due {
            known.asked = Some(Instant::now());
            match self.read().await {
                Ok(keys) => known.keys = Arc::new(keys),
                Err(why) => tracing::error!(place = ?self.place, why, "the keys of an issuer cannot be read"),
            }
        }
        known.keys.clone()
    }

    async fn read(&self) -> Result<Vec<Jwk>, String> {
        let bytes = match &self.place {
            Place::Url { url, ca_file } => fetch::get(url, ca_file.as_deref(), MOST_BYTES).await?,
            Place::File(path) => tokio::task::block_in_place(|| std::fs::read(path)).map_err(|error| error.to_string())?,
        };
        if bytes.len() > MOST_BYTES {
            return Err("there is too much of them".to_owned());
        }
        let set: Jwks = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        Ok(set.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok()).collect())
    }
}

impl Jwk {
    fn fits(&self, algorithm: &str, kid: Option<&str>) -> bool {
        let kind = match algorithm {
            "RS256" => self.kty == "RSA",
            "ES256" => self.kty == "EC" && self.crv.as_deref() == Some("P-256"),
            _ => false,
        };
        kind && self.alg.as_deref().is_none_or(|alg| alg == algorithm)
            && self.usage.as_deref().is_none_or(|usage| usage == "sig")
            && kid.is_none_or(|kid| self.kid.as_deref() == Some(kid))
    }

    fn verify(&self, algorithm: &str, signed: &[u8], signature: &[u8]) -> Result<(), Refused> {
        const INVALID: Refused = "the signature is not valid";
        let part = |part: &Option<String>| part.as_ref().and_then(|part| URL_SAFE_NO_PAD.decode(part).ok()).ok_or(INVALID);
        let verified = match algorithm {
            "RS256" => {
                let (n, e) = (part(&self.n)?, part(&self.e)?);
                // Fewer than 2048 bits are refused by the algorithm's parameters.
                RsaPublicKeyComponents { n, e }.verify(&signature::RSA_PKCS1_2048_8192_SHA256, signed, signature)
            }
            "ES256" => {
                let (x, y) = (part(&self.x)?, part(&self.y)?);
                if x.len() != 32 || y.len() != 32 {
                    return Err(INVALID);
                }
                let point: Vec<u8> = std::iter::once(4).chain(x).chain(y).collect();
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            _ => return Err(INVALID),
        };
        verified.map_err(|_| INVALID)
    }
}
