//! Searching files for a regular expression: which files, which lines, and lines too long to hold.

mod ascii;
mod block;
mod bytes;
pub mod cut;
mod decoded;
pub mod excerpt;
pub mod files;
pub mod lines;
pub mod long_lines;
mod needles;
mod scan;
mod vector;
