//! Archives for tests: a builder each part of which can be made to lie, a list of odd and hostile archives with the verdict beside
//! each, mutants of them, and a few archives made by other programs.
#![forbid(unsafe_code)]

pub mod cases;
pub mod fixtures;
pub mod made;
pub mod mutants;

pub use cases::{Case, Verdict, all};
