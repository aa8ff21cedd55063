//! One line of the log: what it says, and its hash.

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// No line is longer, newline included. Room for it is made sure of before a call runs, so it has to have a bound.
/// Test: `security::audit::lines_are_bounded`.
pub const MOST_BYTES: usize = 4 << 10;

/// What a line says, before it has its place in the chain.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Line {
    pub timestamp: String,
    /// `call`, `read`, `transfer` (of an archive), `admin`, `refused` for requests that did not become calls, or `log` for what the
    /// log says of itself.
    pub kind: &'static str,
    pub request_id: String,
    /// Counts the entries into one call: a tool that asks its client something is entered again with the answers.
    #[serde(skip_serializing_if = "is_zero")]
    pub round: u32,
    pub principal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    pub transport: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The tool as it was asked for, the method that reads, or the administrative act.
    pub tool_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// SHA-256 of the component that ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// SHA-256 of the arguments as canonical JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_hash: Option<String>,
    /// Files that the call changed, of those it named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Value>,
    /// `ok`, `input-required`, or a code.
    pub outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instantiate_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_us: Option<u64>,
    /// Of an administrative act: what it was about. Never a secret.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A line in its place.
pub struct Written {
    pub bytes: Vec<u8>,
    pub hash: String,
}

impl Line {
    /// The line with its number and the hash of the one before. What names many paths may be too long; then it says how many.
    pub fn seal(&self, number: u64, before: &str) -> Written {
        let mut bytes = self.render(number, before);
        if bytes.len() > MOST_BYTES {
            let mut short = Line { paths: Vec::new(), effects: Vec::new(), details: Map::new(), ..self.clone() };
            short.details.insert("paths_left_out".into(), self.paths.len().into());
            short.details.insert("effects_left_out".into(), self.effects.len().into());
            short.details.insert("details_left_out".into(), self.details.len().into());
            bytes = short.render(number, before);
        }
        let hash = digest(&bytes);
        Written { bytes, hash }
    }

    fn render(&self, number: u64, before: &str) -> Vec<u8> {
        // Nothing in a line can fail to be JSON.
        let mut bytes = serde_json::to_vec(self).unwrap_or_else(|_| b"{}".to_vec());
        bytes.pop();
        bytes.extend_from_slice(format!(",\"seq\":{number},\"prev_hash\":\"{before}\"}}\n").as_bytes());
        bytes
    }
}

/// SHA-256, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)] as char);
        text.push(DIGITS[usize::from(byte & 15)] as char);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_would_be_too_long_says_what_it_left_out() {
        let paths = vec!["\u{1}".repeat(256); 32];
        let line = Line { paths, tool_name: "t".into(), ..Line::default() };
        let written = line.seal(7, super::super::head::ZEROS);
        assert!(written.bytes.len() <= MOST_BYTES);
        let value: Value = serde_json::from_slice(&written.bytes).unwrap();
        assert_eq!((&value["details"]["paths_left_out"], &value["seq"]), (&32.into(), &7.into()));
        assert_eq!(written.hash, digest(&written.bytes));
    }
}
