//! Signatures of plugins: ed25519 in the form of minisign, checked without a network against keys that the configuration names.
//!
//! What is signed are the bytes of the file whose SHA-256 grants and compiled code are bound to, so a signature stands for what is
//! run and not for a name. A packed plugin carries its plugin.toml inside, and then the signature covers that too.

use std::io::Cursor;

use minisign::{PublicKey, SignatureBox};
use serde::{Deserialize, Serialize};

use super::anatomy::Anatomy;
use crate::config::PluginSettings;
use crate::failure::{Class, Failure};

/// The keys that `plugins.trusted_keys` names.
#[derive(Debug, Default, Clone)]
pub struct TrustedKeys(Vec<PublicKey>);

/// What the configuration says of signatures.
#[derive(Debug, Default, Clone)]
pub struct Trust {
    pub keys: TrustedKeys,
    /// Whether plugins without a signature by one of them are refused, when they are added and each time they are loaded.
    pub required: bool,
}

impl Trust {
    pub fn of(settings: &PluginSettings) -> Result<Trust, Failure> {
        Ok(Trust { keys: TrustedKeys::parse(&settings.trusted_keys)?, required: settings.require_signatures })
    }

    /// Whether what was found when a plugin was added would still do. The bytes are looked at when they are loaded.
    pub fn admits(&self, standing: &Standing) -> bool {
        let knows = |key: &str| self.keys.0.iter().any(|trusted| key_id(trusted.keynum()) == key);
        !self.required || standing.key().is_some_and(knows)
    }
}

/// What a signature is worth here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "standing")]
pub enum Standing {
    Unsigned,
    /// By a key that nobody here vouches for, so nothing was checked.
    Unknown {
        key: String,
    },
    /// Good, by a key that is trusted.
    Trusted {
        key: String,
    },
}

impl Standing {
    pub fn is_trusted(&self) -> bool {
        matches!(self, Standing::Trusted { .. })
    }

    /// The key that signed, whether it is trusted or not.
    pub fn key(&self) -> Option<&str> {
        match self {
            Standing::Unsigned => None,
            Standing::Unknown { key } | Standing::Trusted { key } => Some(key),
        }
    }
}

impl TrustedKeys {
    /// Keys as `minisign` writes them: the second line of a `.pub` file.
    pub fn parse(keys: &[String]) -> Result<TrustedKeys, Failure> {
        let parse = |key: &String| {
            PublicKey::from_base64(key.trim()).map_err(|_| {
                Failure::invalid(format!("plugins.trusted_keys: {key:?} is not a public key of minisign."))
                    .suggest("Use the second line of its .pub file, which begins with RW.")
            })
        };
        keys.iter().map(parse).collect::<Result<_, _>>().map(TrustedKeys)
    }

    /// Checks the signature of a component: the one that it carries, else the one that came beside it. A signature that claims a
    /// trusted key and does not hold is refused whatever the configuration says: somebody changed something.
    pub fn check(&self, wasm: &[u8], anatomy: &Anatomy, beside: Option<&str>) -> Result<Standing, Failure> {
        let (text, signed) = match (&anatomy.signature, beside) {
            (Some((text, end)), _) => (text.as_str(), &wasm[..*end]),
            (None, Some(text)) => (text, wasm),
            (None, None) => return Ok(Standing::Unsigned),
        };
        let signature = SignatureBox::from_string(text)
            .map_err(|_| refused("its signature is not one of minisign".to_owned(), "Sign it again."))?;
        let key = key_id(signature.keynum());
        let Some(trusted) = self.0.iter().find(|trusted| trusted.keynum() == signature.keynum()) else {
            return Ok(Standing::Unknown { key });
        };
        // Not without hashing first, as old versions of minisign did: those are not taken.
        minisign::verify(trusted, &signature, Cursor::new(signed), true, false, false).map_err(|_| {
            refused(
                format!("its signature by the key {key} does not fit its bytes"),
                "It was changed after it was signed, or signed by somebody else. Do not use it.",
            )
        })?;
        Ok(Standing::Trusted { key })
    }
}

/// What is said of a plugin whose signature is missing or not trusted, where one is required.
pub fn required(name: &str, standing: &Standing) -> Failure {
    let (why, next) = match standing.key() {
        None => {
            ("it is not signed".to_owned(), "Ask its author for a signed one, or sign it yourself: zipfs plugin sign.".to_owned())
        }
        Some(key) => (
            format!("it is signed by the key {key}, which is not among plugins.trusted_keys"),
            "If you trust that key, add it to plugins.trusted_keys in config.json.".to_owned(),
        ),
    };
    Failure::new(
        Class::Forbidden,
        "SIGNATURE_REQUIRED",
        format!("The plugin {name} is refused: {why}, and plugins.require_signatures is set."),
    )
    .suggest(next)
}

/// As minisign shows it.
pub fn key_id(bytes: &[u8]) -> String {
    bytes.iter().rev().map(|byte| format!("{byte:02X}")).collect()
}

fn refused(why: String, next: &str) -> Failure {
    Failure::new(Class::Forbidden, "SIGNATURE_INVALID", format!("The plugin is refused: {why}.")).suggest(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::anatomy::{dissect, with_manifest, with_signature};
    use minisign::KeyPair;

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn sign(pair: &KeyPair, bytes: &[u8]) -> String {
        minisign::sign(Some(&pair.pk), &pair.sk, bytes, None, None).unwrap().into_string()
    }

    #[test]
    fn only_trusted_keys_count_and_every_byte_is_covered() {
        let (ours, theirs) = (KeyPair::generate_unencrypted_keypair().unwrap(), KeyPair::generate_unencrypted_keypair().unwrap());
        let keys = TrustedKeys::parse(&[ours.pk.to_base64()]).unwrap();
        let packed = with_manifest(EMPTY, "name = \"a\"").unwrap();
        let check = |wasm: &[u8], beside: Option<&str>| keys.check(wasm, &dissect(wasm).unwrap(), beside);

        assert_eq!(check(&packed, None).unwrap(), Standing::Unsigned);
        assert!(check(&packed, Some(&sign(&ours, &packed))).unwrap().is_trusted());
        assert!(check(&with_signature(&packed, &sign(&ours, &packed)), None).unwrap().is_trusted());
        let unknown = check(&packed, Some(&sign(&theirs, &packed))).unwrap();
        assert!(matches!(&unknown, Standing::Unknown { .. }), "{unknown:?}");

        let other = with_manifest(EMPTY, "name = \"b\"").unwrap();
        assert_eq!(check(&other, Some(&sign(&ours, &packed))).unwrap_err().code, "SIGNATURE_INVALID");
        assert_eq!(check(&with_signature(&other, &sign(&ours, &packed)), None).unwrap_err().code, "SIGNATURE_INVALID");
        assert_eq!(check(&packed, Some("nonsense")).unwrap_err().code, "SIGNATURE_INVALID");
    }

    #[test]
    fn a_signature_inside_is_not_replaced_by_one_beside() {
        let (ours, theirs) = (KeyPair::generate_unencrypted_keypair().unwrap(), KeyPair::generate_unencrypted_keypair().unwrap());
        let keys = TrustedKeys::parse(&[ours.pk.to_base64()]).unwrap();
        let inside = with_signature(EMPTY, &sign(&theirs, EMPTY));
        let found = keys.check(&inside, &dissect(&inside).unwrap(), Some(&sign(&ours, &inside))).unwrap();
        assert!(!found.is_trusted());
    }
}
