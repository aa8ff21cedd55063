//! The wire, written by hand: request lines of revision 2025-06-18, and what counts as an answer to one.
//!
//! No client library is between the clock and the pipe, so nobody's client is measured.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// A request that is ready to be sent except for its id.
pub struct Request {
    rest: String,
    proof: Option<&'static str>,
}

impl Request {
    pub fn new(method: &str, params: &Value) -> Self {
        Self { rest: format!(",\"method\":\"{method}\",\"params\":{params}}}\n"), proof: None }
    }

    pub fn initialize() -> Self {
        let client = json!({"name": "zipfs-bench", "version": env!("CARGO_PKG_VERSION")});
        Self::new("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}))
    }

    pub fn list_tools() -> Self {
        Self::new("tools/list", &json!({}))
    }

    pub fn call(tool: &str, arguments: &Value) -> Self {
        Self::new("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Every answer must contain this text: a server that answers quickly and wrongly must not win.
    pub fn proven_by(self, proof: &'static str) -> Self {
        Self { proof: Some(proof), ..self }
    }

    pub fn append_to(&self, buffer: &mut Vec<u8>, id: u64) {
        buffer.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        buffer.extend_from_slice(id.to_string().as_bytes());
        buffer.extend_from_slice(self.rest.as_bytes());
    }
}

/// What a client says between the handshake and its first request.
pub const INITIALIZED: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/// Who is at the other end of a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    Mcp,
    /// Sends back the request itself.
    Echo,
}

#[derive(Deserialize)]
struct Message {
    id: Option<Value>,
    method: Option<IgnoredAny>,
    error: Option<Value>,
    result: Option<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    #[serde(rename = "isError", default)]
    is_error: bool,
}

/// The id that `line` answers, or nothing if it is a notification or a request of the server. An answer that says that the
/// call failed, or that lacks the proof, is an error: it has no place among the figures.
pub fn read_answer(line: &[u8], dialect: Dialect, request: &Request) -> Result<Option<u64>> {
    let message: Message = serde_json::from_slice(line).with_context(|| format!("not a JSON-RPC message: {}", excerpt(line)))?;
    if dialect == Dialect::Mcp {
        if message.method.is_some() {
            return Ok(None);
        }
        let succeeded = message.error.is_none() && message.result.is_some_and(|outcome| !outcome.is_error);
        if !succeeded {
            bail!("the call failed: {}", excerpt(line));
        }
    }
    let Some(id) = message.id.as_ref().and_then(Value::as_u64) else {
        return Ok(None);
    };
    if let Some(proof) = request.proof
        && !contains(line, proof.as_bytes())
    {
        bail!("the answer lacks `{proof}`: {}", excerpt(line));
    }
    Ok(Some(id))
}

fn contains(line: &[u8], wanted: &[u8]) -> bool {
    line.windows(wanted.len()).any(|window| window == wanted)
}

fn excerpt(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.trim_end().chars().take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noop() -> Request {
        Request::call("noop", &json!({}))
    }

    #[test]
    fn a_request_is_one_line_of_json_with_its_id() {
        let mut buffer = Vec::new();
        Request::call("read", &json!({"path": "a\nb"})).append_to(&mut buffer, 7);
        assert_eq!(buffer.iter().filter(|byte| **byte == b'\n').count(), 1);
        let sent: Value = serde_json::from_slice(&buffer).unwrap();
        assert_eq!(
            sent,
            json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "read", "arguments": {"path": "a\nb"}}})
        );
    }

    #[test]
    fn answers_are_told_from_what_a_server_says_on_its_own() {
        let of = |line: &str| read_answer(line.as_bytes(), Dialect::Mcp, &noop()).unwrap();
        assert_eq!(of(r#"{"id":3,"result":{"content":[]}}"#), Some(3));
        assert_eq!(of(r#"{"method":"notifications/message","params":{}}"#), None);
        assert_eq!(of(r#"{"id":3,"method":"roots/list"}"#), None);
    }

    #[test]
    fn failures_are_never_counted_as_answers() {
        let of = |line: &str, request: &Request| read_answer(line.as_bytes(), Dialect::Mcp, request);
        assert!(of(r#"{"id":3,"error":{"code":-32602,"message":"no"}}"#, &noop()).is_err());
        assert!(of(r#"{"id":3,"result":{"isError":true,"content":[]}}"#, &noop()).is_err());
        assert!(of(r#"{"id":3}"#, &noop()).is_err());
        assert!(of("hello", &noop()).is_err());
        let read = noop().proven_by("last-line");
        assert!(of(r#"{"id":3,"result":{"content":[{"text":"first-line"}]}}"#, &read).is_err());
        assert_eq!(of(r#"{"id":3,"result":{"content":[{"text":"last-line"}]}}"#, &read).unwrap(), Some(3));
    }

    #[test]
    fn an_echo_answers_with_the_request() {
        let mut line = Vec::new();
        noop().append_to(&mut line, 9);
        assert_eq!(read_answer(&line, Dialect::Echo, &noop()).unwrap(), Some(9));
        assert_eq!(read_answer(INITIALIZED, Dialect::Echo, &noop()).unwrap(), None);
    }
}
