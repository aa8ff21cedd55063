//! How agents reach us: MCP, through rmcp. Only this room knows the protocol.

mod events;
mod handler;
mod input;
mod instructions;
mod listeners;
mod stdio;
mod wire;

pub use handler::Handler;
pub use stdio::serve_stdio;
