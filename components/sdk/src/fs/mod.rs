//! The workspace as a handle: directories and files below it, and nothing else.
//!
//! In a component these are direct calls to `wasi:filesystem`, relative to an open directory, which is several times faster than
//! `std::fs` where many files are looked at. In a unit test the same functions work on the directory of a
//! [`Bench`](crate::testing::Bench). Paths are relative, use `/`, and cannot leave the handle they start from: a link that leads
//! out is refused when it is followed.

mod dir;
mod error;
mod file;
mod time;

#[cfg(not(target_family = "wasm"))]
#[path = "native.rs"]
mod system;
#[cfg(target_family = "wasm")]
#[path = "wasi.rs"]
mod system;

pub use dir::{Dir, Entry, Kind, Stat, workspace};
pub use error::{IoError, Result};
pub use file::File;
pub use time::Timestamp;
