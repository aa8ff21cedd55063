//! The HTTP service: one listener, and on it MCP in both eras, and what operators ask for.
//!
//! A request meets, in this order: the limits of its connection ([`connections`]), the check of where it wants to go and where it
//! comes from ([`origin`]), authentication ([`authenticate`]), and only then somebody who reads its body ([`router`]).
// A refusal is an answer like any other, made once for a request: boxing it would spare nothing.
#![allow(clippy::result_large_err)]

mod authenticate;
mod body;
pub mod carried;
mod connections;
mod cors;
mod mcp;
mod origin;
mod rate;
mod refusal;
mod reply;
mod router;
mod rpc;
mod service;
mod tls;
mod transfer;

pub use service::{Serving, serve_http};
pub use tls::Certificate;
