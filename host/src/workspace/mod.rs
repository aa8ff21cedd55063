//! Sessions on disk: one directory for each archive that is open, with its files, its private copy and what is known of both.
//!
//! Nothing here knows an archive format. Opening and syncing are cut into steps, and whoever calls them runs the archive driver
//! in between: see [`open::Opening`] and [`sync::Syncing`].
//!
//! ```text
//! workspaces/<name or id>/
//!   contents/            what tools see
//!   original.zip         the archive as it was opened, never changed afterwards
//!   metadata.json        identity and state; written through a temporary file
//!   metadata.json.lock   flock: shared for work, exclusive for sync and close; its mtime is the last access
//!   baseline             every entry of the archive and the stat of its file; every directory
//!   usage                bytes and files in use, for the quota
//!   tmp/                 files on their way into contents/
//!   archive/             the archive itself, if it was uploaded and has no other place
//! ```

pub mod attributes;
pub mod backups;
pub mod baseline;
pub mod close;
pub mod commit;
pub mod copy;
pub mod copying;
pub mod durable;
pub mod extracted;
pub mod glance;
pub mod holders;
pub mod identity;
pub mod links;
pub mod listing;
pub mod lock;
pub mod metadata;
pub mod name;
pub mod open;
pub mod original;
pub mod owner;
pub mod prune;
pub mod quota;
pub mod reach;
pub mod recover;
pub mod resolve;
pub mod status;
pub mod store;
pub mod sync;
pub mod walk;

pub use owner::Owner;
pub use store::{Workspace, Workspaces};

/// The names inside a workspace's directory.
pub(crate) mod layout {
    pub const CONTENTS: &str = "contents";
    pub const ORIGINAL: &str = "original.zip";
    pub const METADATA: &str = "metadata.json";
    pub const LOCK: &str = "metadata.json.lock";
    pub const BASELINE: &str = "baseline";
    pub const USAGE: &str = "usage";
    pub const TMP: &str = "tmp";
    /// Where an archive is that came over the network, and has no other place.
    pub const ARCHIVE: &str = "archive";
}
