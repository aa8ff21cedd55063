//! How agents reach us: MCP, through rmcp. Only this room knows the protocol.

pub mod auth;
mod calling;
pub mod endpoint;
mod events;
mod handler;
pub mod http;
mod input;
mod instructions;
mod listeners;
mod relief;
mod stdio;
mod tasks;
mod wire;

pub use handler::Handler;
pub use stdio::serve_stdio;
