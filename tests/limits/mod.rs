//! Every limit that a person can set, with a test that shows it holds.

mod parts;
mod quota;
mod results;
