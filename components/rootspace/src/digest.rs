//! The hash of a file: SHA-256 of its bytes as they are stored, in lowercase hexadecimal.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zipfs_sdk::Error;

/// A hash that the agent sent, not yet checked.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HashArgument(String);

/// A hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash([u8; 32]);

impl HashArgument {
    /// Checks that it is one. Capitals and blanks around it are let pass.
    pub fn check(&self) -> Result<Hash, Error> {
        let text = self.0.trim().as_bytes();
        let mut hash = [0; 32];
        let digits = text.iter().map(|byte| (*byte as char).to_digit(16)).collect::<Option<Vec<_>>>();
        match digits {
            Some(digits) if digits.len() == 64 => {
                for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
                    *byte = (pair[0] << 4 | pair[1]) as u8;
                }
                Ok(Hash(hash))
            }
            _ => {
                let message = "Invalid argument 'hash': a hash is 64 hexadecimal digits (SHA-256), and this is something else.";
                Err(Error::invalid("INVALID_HASH", message)
                    .suggest("Take it as it is from the result of text.read or of the last edit of this file."))
            }
        }
    }
}

impl From<&str> for HashArgument {
    fn from(text: &str) -> HashArgument {
        HashArgument(text.to_owned())
    }
}

impl Hash {
    /// Of bytes at hand.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash::end(Sha256::new().chain_update(bytes))
    }

    /// Of what went through.
    pub fn end(hasher: Sha256) -> Hash {
        Hash(hasher.finalize().into())
    }

    /// As agents see it.
    pub fn to_hex(self) -> String {
        self.0.iter().fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_031_a_hash_is_sha_256_in_lowercase_hexadecimal() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Hash::of(b"abc").to_hex(), known);
        for same in [known.to_owned(), known.to_uppercase(), format!(" {known}\n")] {
            assert_eq!(HashArgument(same).check().unwrap(), Hash::of(b"abc"));
        }
        let odd = [String::new(), known[1..].into(), format!("{known}0"), known.replace('b', "g"), "é".repeat(32)];
        for odd in odd {
            assert_eq!(HashArgument(odd.clone()).check().unwrap_err().code(), "INVALID_HASH", "{odd:?}");
        }
    }
}
