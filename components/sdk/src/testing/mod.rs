//! Runs a plugin's tools in an ordinary unit test: real files in a directory of their own, the access that the tool declared,
//! and no host.
//!
//! ```
//! # use zipfs_sdk::{About, Error, Plugin, Tool, fs, path::PathArgument};
//! # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Args { path: PathArgument }
//! # #[derive(serde::Serialize, schemars::JsonSchema)] struct Size { bytes: u64 }
//! # struct Sizes;
//! # impl Plugin for Sizes {
//! #     fn about() -> About { About::new("sizes", "1.0.0") }
//! #     fn tools() -> Vec<Tool> { vec![Tool::new("size", "The size of a file.", size).reads()] }
//! # }
//! # fn size(args: Args) -> Result<Size, Error> {
//! #     let path = args.path.check()?;
//! #     Ok(Size { bytes: fs::workspace()?.stat(path.as_str()).map_err(|e| e.at(&path))?.size })
//! # }
//! use zipfs_sdk::testing::Bench;
//!
//! let bench = Bench::of::<Sizes>();
//! bench.put("a.txt", "hello");
//! assert_eq!(bench.call("size", serde_json::json!({"path": "a.txt"})).json()["bytes"], 5);
//! assert_eq!(bench.call("size", serde_json::json!({"path": "../a"})).error().code(), "PATH_TRAVERSAL");
//! ```

mod bench;
pub(crate) mod endpoints;
pub(crate) mod files;
mod outcome;
pub(crate) mod secrets;
pub(crate) mod sessions;
pub(crate) mod stage;

pub use bench::Bench;
pub use outcome::{Called, Progress};
