//! The contract of `wit/` as Rust, for the host's side.

/// A plugin: the `tools` export, and every import the host offers.
pub mod plugin {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "plugin",
        imports: {
            "zipfs:plugin/sessions": async | trappable,
            "zipfs:plugin/parallel": async | trappable,
            "zipfs:plugin/endpoints": async | trappable,
            // They wait for others who change the same directory.
            "zipfs:plugin/files.hold": async | trappable,
            "zipfs:plugin/files.[method]replacement.commit": async | trappable,
            default: trappable,
        },
        exports: { default: async },
        with: {
            "zipfs:plugin/files.replacement": crate::sandbox::imports::files::Replacement,
            "zipfs:plugin/endpoints.connection": crate::sandbox::imports::endpoints::Connection,
            "zipfs:plugin/files.held-file": crate::sandbox::imports::files::HeldFile,
        },
    });
}

/// The optional export `resources`.
pub mod resources {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "plugin-resources",
        exports: { default: async },
        with: { "zipfs:plugin/types": super::plugin::zipfs::plugin::types },
    });
}

/// The optional export `prompts`.
pub mod prompts {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "plugin-prompts",
        exports: { default: async },
        with: { "zipfs:plugin/types": super::plugin::zipfs::plugin::types },
    });
}

/// The optional export `completions`.
pub mod completions {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "plugin-completions",
        exports: { default: async },
        with: { "zipfs:plugin/types": super::plugin::zipfs::plugin::types },
    });
}

/// The optional export `parts`.
pub mod parts {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "plugin-parts",
        exports: { default: async },
        with: { "zipfs:plugin/types": super::plugin::zipfs::plugin::types },
    });
}

/// The driver of an archive format.
pub mod archive {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "archive-driver",
        imports: { default: trappable },
        exports: { default: async },
        with: {
            "zipfs:plugin/types": super::plugin::zipfs::plugin::types,
            "zipfs:plugin/archive-io.source": crate::sandbox::imports::archive_io::Source,
            "zipfs:plugin/archive-io.staged": crate::sandbox::imports::archive_io::Staged,
        },
    });
}

pub use plugin::exports::zipfs::plugin::tools;
pub use plugin::zipfs::plugin::types;

use crate::failure::{Class, Failure};

impl From<types::ErrorClass> for Class {
    fn from(class: types::ErrorClass) -> Class {
        match class {
            types::ErrorClass::Invalid => Class::Invalid,
            types::ErrorClass::NotFound => Class::NotFound,
            types::ErrorClass::Forbidden => Class::Forbidden,
            types::ErrorClass::Conflict => Class::Conflict,
            types::ErrorClass::Busy => Class::Busy,
            types::ErrorClass::Limit => Class::Limit,
            types::ErrorClass::Timeout => Class::Timeout,
            types::ErrorClass::Internal => Class::Internal,
        }
    }
}

impl From<Class> for types::ErrorClass {
    fn from(class: Class) -> types::ErrorClass {
        match class {
            Class::Invalid => types::ErrorClass::Invalid,
            Class::NotFound => types::ErrorClass::NotFound,
            Class::Forbidden => types::ErrorClass::Forbidden,
            Class::Conflict => types::ErrorClass::Conflict,
            Class::Busy => types::ErrorClass::Busy,
            Class::Limit => types::ErrorClass::Limit,
            Class::Timeout => types::ErrorClass::Timeout,
            Class::Internal => types::ErrorClass::Internal,
        }
    }
}

/// A guest's error. Its words are the guest's; what is not JSON in `details` is kept as text.
impl From<types::Error> for Failure {
    fn from(error: types::Error) -> Failure {
        let details = error.details.map(|text| serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text)));
        Failure {
            class: error.class.into(),
            code: error.code.into(),
            message: error.message,
            suggestion: error.suggestion,
            details,
        }
    }
}

impl From<Failure> for types::Error {
    fn from(failure: Failure) -> types::Error {
        types::Error {
            class: failure.class.into(),
            code: failure.code.into_owned(),
            message: failure.message,
            suggestion: failure.suggestion,
            details: failure.details.map(|details| details.to_string()),
        }
    }
}
