//! Making keys and signatures, in the form of minisign: what is signed here its tools verify, and the other way round.

use base64::Engine;
use minisign::{KeyPair, SecretKey, SecretKeyBox};

use super::anatomy::{dissect, with_signature};
use super::signature::key_id;
use crate::failure::{Class, Failure};

/// A new key: the text of the secret one, without a password, and of the public one.
pub struct NewKey {
    pub id: String,
    pub secret: String,
    pub public: String,
    /// The line that `plugins.trusted_keys` takes.
    pub line: String,
}

pub fn new_key() -> Result<NewKey, Failure> {
    let failed = |error: minisign::PError| Failure::internal(format!("No key can be made: {error}."));
    let pair = KeyPair::generate_unencrypted_keypair().map_err(failed)?;
    Ok(NewKey {
        id: key_id(pair.pk.keynum()),
        secret: pair.sk.to_box(Some("zipfs plugin signing key")).map_err(failed)?.into_string(),
        public: pair.pk.to_box().map_err(failed)?.into_string(),
        line: pair.pk.to_base64(),
    })
}

/// Whether a secret key has to be opened with a password.
pub fn needs_password(key: &str) -> bool {
    open(key, None).is_err()
}

/// The component with a signature of all its bytes inside. One that it had is replaced.
pub fn sign(wasm: &[u8], key: &str, password: Option<String>) -> Result<(Vec<u8>, String), Failure> {
    let end = dissect(wasm)?.signature.map_or(wasm.len(), |(_, signed)| signed);
    let key = open(key, password)?;
    let signature = minisign::sign(None, &key, &wasm[..end], None, Some("signature of a zipfs plugin"))
        .map_err(|error| Failure::internal(format!("The signature cannot be made: {error}.")))?;
    let id = key_id(signature.keynum());
    Ok((with_signature(&wasm[..end], &signature.into_string()), id))
}

fn open(key: &str, password: Option<String>) -> Result<SecretKey, Failure> {
    let unusable = |error: minisign::PError| {
        Failure::new(Class::Invalid, "KEY_UNUSABLE", format!("The secret key cannot be used: {error}."))
            .suggest("Make one with zipfs plugin keygen or minisign -G; set ZIPFS_KEY_PASSWORD if it has a password.")
    };
    let parsed = || SecretKeyBox::from_string(key).map_err(unusable);
    match password {
        None => parsed()?.into_unencrypted_secret_key().or_else(|error| without_checksum(key).ok_or(error)).map_err(unusable),
        Some(password) => parsed()?.into_secret_key(Some(password)).map_err(unusable),
    }
}

/// A key without a password as `minisign -G -W` writes it: without the checksum, which is there to tell a wrong password.
fn without_checksum(key: &str) -> Option<SecretKey> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(key.lines().nth(1)?.trim()).ok()?;
    let checksum = bytes.len().checked_sub(32)?;
    if bytes[checksum..].iter().any(|byte| *byte != 0) {
        return None;
    }
    SecretKey::from_bytes(&bytes).ok().filter(|key| !key.is_encrypted())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::signature::TrustedKeys;

    #[test]
    fn what_is_signed_verifies_and_can_be_signed_again() {
        let (one, two) = (new_key().unwrap(), new_key().unwrap());
        let empty = b"\0asm\x0d\0\x01\0";
        let (first, id) = sign(empty, &one.secret, None).unwrap();
        assert_eq!(id, one.id);
        let (second, _) = sign(&first, &two.secret, None).unwrap();
        assert_eq!(first.len(), second.len());
        let is_trusted = |key: &NewKey, wasm: &[u8]| {
            TrustedKeys::parse(std::slice::from_ref(&key.line))
                .unwrap()
                .check(wasm, &dissect(wasm).unwrap(), None)
                .unwrap()
                .is_trusted()
        };
        assert!(is_trusted(&one, &first) && !is_trusted(&one, &second) && is_trusted(&two, &second));
        assert_eq!(sign(empty, "nonsense", None).unwrap_err().code, "KEY_UNUSABLE");
    }
}
