//! What plugins may ask of the network, where they were granted it: the limits, not the hosts.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// For each request, and for all of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EgressLimits {
    /// One body that is sent, or one message or connection to an endpoint. Test: `security::http::bodies_have_an_end`.
    pub request_bytes: u64,
    /// One body that is received; the guest reads it in pieces. Test: `security::http::bodies_have_an_end`.
    pub response_bytes: u64,
    /// From the request to the end of the answer. Test: `security::http::answers_come_in_time`.
    pub timeout_ms: u64,
    /// Looking up the name and connecting, of that.
    pub connect_timeout_ms: u64,
    /// Requests of one call that are on their way at once. Test: `security::http::requests_of_one_call_are_bounded`.
    pub requests_per_call: u32,
    /// Requests of all calls; more wait their turn.
    pub total_requests: u32,
    /// Certificates that servers are trusted by besides the public ones, as in a company: a file of PEM.
    pub extra_roots: Option<PathBuf>,
}

impl Default for EgressLimits {
    fn default() -> Self {
        EgressLimits {
            request_bytes: 16 << 20,
            response_bytes: 64 << 20,
            timeout_ms: 30_000,
            connect_timeout_ms: 10_000,
            requests_per_call: 8,
            total_requests: 64,
            extra_roots: None,
        }
    }
}

impl EgressLimits {
    /// Refuses values under which no request could be made.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let least = [
            ("egress.timeout_ms", self.timeout_ms, 10),
            ("egress.connect_timeout_ms", self.connect_timeout_ms, 10),
            ("egress.requests_per_call", self.requests_per_call.into(), 1),
            ("egress.total_requests", self.total_requests.into(), 1),
        ];
        match least.into_iter().find(|(_, value, least)| value < least) {
            Some((name, value, least)) => Err(Failure::invalid(format!("{name} is {value}, but must be at least {least}."))),
            None => Ok(()),
        }
    }
}
