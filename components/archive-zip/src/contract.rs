//! The contract's types, generated from `wit/`; the one place with unsafe code, and none of it ours.
#![allow(unsafe_code)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "archive-driver",
    additional_derives: [PartialEq],
    pub_export_macro: true,
    export_macro_name: "export",
});

pub use exports::zipfs::plugin::archive::{
    Change, Entry, EntryKind, Guest, Limits, Listing, NewEntry, Place, Prepared, ReplacementEntry, Source, Staged, Wanted,
};
pub use zipfs::plugin::types::{Error, ErrorClass};
