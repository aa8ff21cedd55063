//! What zipfs promises, by folder. Tests go through the public door: the built binary, real archives, real guests, real clients.

mod crash;
mod functional;
mod limits;
mod protocol;
mod security;
mod support;
