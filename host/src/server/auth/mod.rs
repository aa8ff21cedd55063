//! Credentials: static tokens, and tokens that somebody signed. What they say becomes a principal.

mod fetch;
mod jwks;
mod jwt;
mod keys;
mod refused;
mod secret;
mod tokens;

pub use jwt::{Claims, Jwts};
pub use refused::Refused;
pub use secret::Secret;
pub use tokens::{StoredToken, Tokens};
