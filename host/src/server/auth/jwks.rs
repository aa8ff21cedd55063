//! The public keys of an issuer as a document (JWKS, RFC 7517), and whether a signature is by one of them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;

/// A set of keys. Real ones have a few kilobytes. Test: `security::serve::issuers::answers_that_are_no_keys_are_bounded`.
pub const MOST_BYTES: usize = 256 << 10;

/// The keys of a set that are of a kind we know.
#[derive(Debug)]
pub struct Jwks(Vec<Jwk>);

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

/// A public key. What else the set may hold is passed over.
#[derive(Debug, Deserialize)]
pub struct Jwk {
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

impl Jwks {
    pub fn parse(bytes: &[u8]) -> Result<Jwks, String> {
        if bytes.len() > MOST_BYTES {
            return Err(format!("it has more than {MOST_BYTES} bytes"));
        }
        let document: Document = serde_json::from_slice(bytes).map_err(|error| format!("it is no set of keys: {error}"))?;
        Ok(Jwks(document.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok()).collect()))
    }

    /// The key that a token names, if there is one of the algorithm's kind. A token that names none is only accepted where there is
    /// but one.
    pub fn find(&self, algorithm: &str, kid: Option<&str>) -> Result<Option<&Jwk>, &'static str> {
        let mut fitting = self.0.iter().filter(|key| key.fits(algorithm, kid));
        match (fitting.next(), kid, fitting.next()) {
            (Some(_), None, Some(_)) => Err("the token does not name its key"),
            (found, _, _) => Ok(found),
        }
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

    pub fn verify(&self, algorithm: &str, signed: &[u8], signature: &[u8]) -> Result<(), &'static str> {
        const INVALID: &str = "the signature is not valid";
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
