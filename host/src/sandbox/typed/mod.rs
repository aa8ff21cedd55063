//! Components that were made for any host: plain typed functions, called by their types.
//!
//! A [`Shape`] is a type as we keep it: owned, bounded, and told apart from wasmtime's own. [`functions`] reads them from a component,
//! [`lower`] turns JSON into a value of a shape, and [`lift`] turns a value back. What clients see of a shape is in `plugins/typed`.

pub mod call;
pub mod functions;
pub mod lift;
pub mod lower;
pub mod shape;

pub use functions::{Function, Typed};
pub use shape::{Field, Integer, Shape};

/// How JSON says numbers that it has no digits for.
pub const NOT_A_NUMBER: &str = "NaN";
pub const INFINITE: &str = "Infinity";
pub const MINUS_INFINITE: &str = "-Infinity";
