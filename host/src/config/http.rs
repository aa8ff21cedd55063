//! The settings of the HTTP service, under `http` in `config.json`.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// What the service takes from the network, and from whom. Every limit is tested in `security::serve`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// Names under which clients reach the service, besides `localhost` and the address it listens on: `zipfs.example.com`, or
    /// with a port. A page of another name that a browser was led here from is refused by this.
    pub allowed_hosts: Vec<String>,
    /// Pages that may call from a browser, besides those of the service itself: `https://app.example.com`, exactly as the browser
    /// writes it.
    pub allowed_origins: Vec<String>,
    /// Bytes of a request's body, except an uploaded archive's. Larger files are uploaded, or written in pieces.
    pub body_bytes: u64,
    /// Bytes of an uploaded archive.
    pub upload_bytes: u64,
    /// Bytes of a request's first line and headers together.
    pub header_bytes: u64,
    /// How long a request's headers may take, and how long a connection may stay open without one.
    pub header_ms: u64,
    /// How long a body may take: this long, and longer only as far as it keeps the pace of `slowest_bytes_per_second`.
    pub body_ms: u64,
    pub slowest_bytes_per_second: u64,
    /// How long the far end may take nothing of what is sent to it.
    pub stall_ms: u64,
    /// Connections that are open at once. When all are taken, the one that has been idle longest makes room.
    pub connections: u32,
    /// Whether the JSON-RPC endpoint also says with the status of HTTP what went wrong (404, 400 …), for clients that look there.
    pub rpc_status: bool,
    /// Transport sessions (of MCP's older revisions) of one principal. The one that was made first makes room.
    pub transport_sessions: u32,
    /// How long a transport session lives without a message.
    pub transport_session_ms: u64,
    /// What one principal may use, unless its token says something else.
    pub limits: PrincipalLimits,
}

impl Default for Http {
    fn default() -> Self {
        Http {
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            body_bytes: 4 << 20,
            upload_bytes: 256 << 20,
            header_bytes: 32 << 10,
            header_ms: 15_000,
            body_ms: 15_000,
            slowest_bytes_per_second: 16 << 10,
            stall_ms: 30_000,
            connections: 512,
            rpc_status: false,
            transport_sessions: 64,
            transport_session_ms: 3_600_000,
            limits: PrincipalLimits::default(),
        }
    }
}

impl Http {
    /// Refuses values with which nothing would work, and lists that would let in everybody.
    pub fn check(&self) -> Result<(), Failure> {
        let at_least = |name: &str, value: u64, least: u64| match value >= least {
            true => Ok(()),
            false => Err(Failure::invalid(format!("http.{name} is {value}, but must be at least {least}."))),
        };
        at_least("body_bytes", self.body_bytes, 1 << 10)?;
        at_least("header_bytes", self.header_bytes, 8 << 10)?;
        at_least("header_ms", self.header_ms, 100)?;
        at_least("body_ms", self.body_ms, 100)?;
        at_least("slowest_bytes_per_second", self.slowest_bytes_per_second, 1)?;
        at_least("stall_ms", self.stall_ms, 100)?;
        at_least("connections", self.connections.into(), 4)?;
        at_least("transport_sessions", self.transport_sessions.into(), 1)?;
        at_least("transport_session_ms", self.transport_session_ms, 1_000)?;
        let plain = |entry: &String| !entry.is_empty() && !entry.contains(['*', ' ', ',', '\'', '"']);
        if let Some(odd) = self.allowed_hosts.iter().find(|host| !plain(host) || host.contains('/')) {
            return Err(Failure::invalid(format!("http.allowed_hosts has {odd:?}, which is no host."))
                .suggest("Write `name` or `name:port`; patterns are not understood."));
        }
        let is_origin = |entry: &&String| plain(entry) && entry.split_once("://").is_some_and(|(_, host)| !host.contains('/'));
        if let Some(odd) = self.allowed_origins.iter().find(|origin| !is_origin(origin)) {
            return Err(Failure::invalid(format!("http.allowed_origins has {odd:?}, which is no origin."))
                .suggest("Write it as browsers do: `https://app.example.com`, with the port if it is not the usual one."));
        }
        Ok(())
    }
}

/// How much of the host one principal may use. Zero in a configuration means none of it, not all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PrincipalLimits {
    /// Workspaces that are open at once.
    pub sessions: u64,
    /// Bytes on disk of all its workspaces together.
    pub disk_bytes: u64,
    /// Calls that run at once; one more is refused with BUSY.
    pub concurrent_calls: u32,
    /// Requests in a minute, all kinds together; one more is refused until some time has passed.
    pub requests_per_minute: u32,
}

impl PrincipalLimits {
    /// For the local user, whom the limits of the whole host bound already.
    pub const NONE: PrincipalLimits =
        PrincipalLimits { sessions: u64::MAX, disk_bytes: u64::MAX, concurrent_calls: u32::MAX, requests_per_minute: u32::MAX };
}

impl Default for PrincipalLimits {
    /// A fraction of what the host has by default: 32 sessions, 10 GiB, 32 running calls. An agent sends some ten requests a
    /// second at its busiest.
    fn default() -> Self {
        PrincipalLimits { sessions: 16, disk_bytes: 4 << 30, concurrent_calls: 16, requests_per_minute: 6_000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_let_in_everybody_are_refused() {
        let with = |text: &str| serde_json::from_str::<Http>(text).unwrap().check();
        for wrong in
            [r#"{"allowed_hosts": ["*"]}"#, r#"{"allowed_origins": ["null"]}"#, r#"{"allowed_origins": ["https://*.a.b"]}"#]
        {
            assert!(with(wrong).is_err(), "{wrong}");
        }
        assert!(with(r#"{"allowed_hosts": ["a.b", "a.b:8443"], "allowed_origins": ["https://a.b", "http://[::1]:3"]}"#).is_ok());
        assert!(serde_json::from_str::<Http>(r#"{"allowed_host": []}"#).is_err());
    }
}
