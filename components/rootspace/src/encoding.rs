//! File contents as JSON strings: UTF-8 as it is, everything else in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::Error;

/// How contents are written in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

impl Encoding {
    /// The bytes that a string stands for. Base64 is taken strictly: an agent that slipped in it would store something else.
    pub fn decode(self, content: String) -> Result<Vec<u8>, Error> {
        match self {
            Encoding::Utf8 => Ok(content.into_bytes()),
            Encoding::Base64 => STANDARD.decode(content.as_bytes()).map_err(|error| {
                Error::invalid("INVALID_PARAMS", format!("Invalid argument 'content': it is not base64 ({error})."))
                    .suggest("Use the standard alphabet with padding and no line breaks, or encoding 'utf-8' for text.")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_strict() {
        assert_eq!(Encoding::Base64.decode("AAH/".into()).unwrap(), [0, 1, 255]);
        for bad in ["A", "AA", "AAH_", "AA H", "AAH/\n", "AB==", "===="] {
            assert_eq!(Encoding::Base64.decode(bad.into()).unwrap_err().code(), "INVALID_PARAMS", "{bad:?}");
        }
    }
}
