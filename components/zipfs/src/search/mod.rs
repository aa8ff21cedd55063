//! Searching files for a regular expression: which files, which lines, and lines too long to hold.

pub mod excerpt;
pub mod files;
pub mod lines;
pub mod long_lines;
