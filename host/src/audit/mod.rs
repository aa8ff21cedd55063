//! The audit log: one line of JSON for each call and each administrative act, chained by hashes, written by many processes.
//!
//! ```text
//! <data>/audit/
//!   head                          number, place and hash of the last line; flock on it makes writers take turns
//!   00000000000000000001.jsonl    lines, each with the hash of the line before; named by the number of its first line
//!   00000000000000104213.jsonl    the current file
//! ```
//!
//! A chain cannot keep somebody who may write these files from writing the whole of it anew; it shows everything less, and
//! everything at all to whoever noted the head elsewhere (`zipfs audit verify --head`).

mod act;
mod head;
mod line;
mod log;
mod reading;
mod summary;
mod verify;

pub use act::{Act, Acting};
pub use head::Head;
pub use line::{Line, Written, digest, hex};
pub use log::{Log, Owed};
pub use reading::{Lines, files};
pub use summary::Summary;
pub use verify::{Finding, Verdict, verify};
