//! Where a call comes from: by which way it came, and under which numbers others know it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use uuid::Uuid;

/// The way by which a call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// The command line.
    Cli,
    Stdio,
    Http,
    /// JSON-RPC without MCP.
    JsonRpc,
}

impl Transport {
    pub fn name(self) -> &'static str {
        match self {
            Transport::Cli => "cli",
            Transport::Stdio => "stdio",
            Transport::Http => "http",
            Transport::JsonRpc => "json-rpc",
        }
    }
}

/// Where one call comes from. Made once for each request; a tool that asks its client something is entered again with the same.
#[derive(Debug, Clone)]
pub struct Origin {
    pub transport: Transport,
    /// Names the request in the audit log.
    pub request: Uuid,
    /// Counts the entries into the call.
    pub round: u32,
    /// The caller's trace, if it follows one.
    pub trace: Option<Trace>,
    /// Where it is noted that the request has a line in the audit log, for a transport that counts those that have none.
    pub accounted: Option<Accounted>,
}

/// Whether anything that came of a request was written down.
#[derive(Debug, Clone, Default)]
pub struct Accounted(Arc<AtomicBool>);

impl Accounted {
    pub fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Origin {
    pub fn new(transport: Transport) -> Origin {
        Origin { transport, request: Uuid::new_v4(), round: 0, trace: None, accounted: None }
    }
}

/// A W3C trace context: which trace the caller follows, and under which span the call belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    pub sampled: bool,
}

impl Trace {
    /// Reads a `traceparent`. Anything odd is as good as none, as the recommendation wants it.
    pub fn parse(text: &str) -> Option<Trace> {
        // Later versions may add fields behind; this much stays.
        let mut parts = text.trim().split('-');
        let version = hex::<1>(parts.next()?)?;
        let (trace, span, flags) = (hex(parts.next()?)?, hex(parts.next()?)?, hex::<1>(parts.next()?)?);
        let ends = version != [0] || parts.next().is_none();
        let valid = version != [255] && trace != [0; 16] && span != [0; 8] && ends;
        valid.then_some(Trace { trace, span, sampled: flags[0] & 1 == 1 })
    }
}

fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let bytes = text.as_bytes();
    if bytes.len() != 2 * N {
        return None;
    }
    let mut read = [0; N];
    for (byte, pair) in read.iter_mut().zip(bytes.chunks(2)) {
        let digit = |c: u8| match c {
            b'0'..=b'9' => Some(c - b'0'),
            b'a'..=b'f' => Some(c - b'a' + 10),
            _ => None,
        };
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_contexts_are_read_as_the_recommendation_says() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = Trace::parse(good).unwrap();
        assert_eq!((trace.trace[0], trace.span[7], trace.sampled), (0x4b, 0xb7, true));
        assert!(Trace::parse("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-more").is_some());
        for odd in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-zbf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(Trace::parse(odd), None, "{odd}");
        }
    }
}
