//! Write a zipfs plugin: a struct, a list of typed functions, and one line that exports them.
//!
//! A plugin is a WebAssembly component. Its tools get one directory, the workspace of the session they were called for, and
//! nothing else unless a person granted it. What a tool declares about itself is enforced: one that says it only reads runs with
//! a read-only workspace.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use zipfs_sdk::path::PathArgument;
//! use zipfs_sdk::{About, Error, Plugin, Tool, fs};
//!
//! struct Counter;
//!
//! impl Plugin for Counter {
//!     fn about() -> About {
//!         About::new("counter", env!("CARGO_PKG_VERSION")).instructions("Counts lines before you read a long file.")
//!     }
//!
//!     fn tools() -> Vec<Tool> {
//!         vec![Tool::new("count_lines", "Counts the lines of a text file. Returns {lines}.", count_lines).title("Count lines").reads()]
//!     }
//! }
//!
//! zipfs_sdk::export!(Counter);
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct CountLines {
//!     /// The file, relative to the root of the workspace.
//!     path: PathArgument,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Counted {
//!     lines: usize,
//! }
//!
//! fn count_lines(arguments: CountLines) -> Result<Counted, Error> {
//!     let path = arguments.path.check()?;
//!     let workspace = fs::workspace()?;
//!     if workspace.stat(path.as_str()).map_err(|error| error.at(&path))?.kind != fs::Kind::File {
//!         return Err(Error::invalid("INVALID_PARAMS", format!("'{path}' is no file.")));
//!     }
//!     let file = workspace.open_file(path.as_str()).map_err(|error| error.at(&path))?;
//!     let (mut lines, mut offset) = (0, 0);
//!     loop {
//!         let chunk = file.read_chunk(offset, usize::MAX).map_err(|error| error.at(&path))?;
//!         if chunk.is_empty() {
//!             return Ok(Counted { lines });
//!         }
//!         lines += chunk.iter().filter(|byte| **byte == b'\n').count();
//!         offset += chunk.len() as u64;
//!     }
//! }
//!
//! // An ordinary unit test:
//! let bench = zipfs_sdk::testing::Bench::of::<Counter>();
//! bench.put("poem.txt", "one\ntwo\n");
//! let called = bench.call("count_lines", serde_json::json!({"path": "poem.txt"}));
//! assert_eq!(called.json(), serde_json::json!({"lines": 2}));
//! ```
//!
//! Build it with `cargo build --target wasm32-wasip2 --release`, with `crate-type = ["cdylib"]` in the manifest.
//!
//! - Handlers return any `Serialize + JsonSchema` struct; [`Outcome`] for text, pictures, sound and resources; or [`Reply`] where
//!   the tool may have [`Questions`] for the client.
//! - Every call is a fresh instance. Nothing is left from the call before, and statics are no memory.
//! - `HashMap` wants random numbers from the host; `BTreeMap` does not. A plugin that imports less is granted more easily.

#![deny(missing_docs)]
#![deny(unsafe_code)]

mod arguments;
#[allow(missing_docs, unsafe_code, clippy::all)]
#[doc(hidden)]
pub mod bindings;
pub mod changes;
pub mod client;
pub mod completions;
pub mod endpoints;
mod error;
mod export;
pub mod files;
pub mod fs;
pub mod grants;
mod handler;
pub mod http;
mod input;
pub mod log;
pub mod parallel;
pub mod path;
#[doc(hidden)]
pub mod plugin;
pub mod progress;
pub mod prompts;
mod reply;
pub mod resources;
mod schema;
pub mod secrets;
pub mod sessions;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod tool;

pub use arguments::NoArguments;
pub use completions::Completions;
pub use error::{Class, Error};
pub use handler::{Answer, Handler};
pub use input::{Elicited, Questions, Resumption};
pub use plugin::{About, Plugin};
pub use prompts::Prompts;
pub use reply::{Blob, Content, Icon, Outcome, Reply, ResourceBody, ResourceContents, ResourceLink};
pub use resources::Resources;
pub use tool::{Role, TaskUse, Tool, WorkspaceAccess};
