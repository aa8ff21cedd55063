//! The zip driver: reads a zip's directory strictly, extracts, and writes changed archives. All of it is plain Rust that
//! tests run natively; `driver` joins it to the contract and `workspace` to WASI, in the component only.
#![deny(unsafe_code)]

mod ambiguity;
pub mod bytes;
pub mod contract;
mod crc;
#[cfg(target_family = "wasm")]
mod driver;
pub mod extra;
pub mod extract;
mod failure;
mod fields;
pub mod names;
mod oddities;
pub mod pack;
pub mod prepare;
pub mod scan;
mod time;
pub mod verify;
#[cfg(target_family = "wasm")]
mod workspace;
