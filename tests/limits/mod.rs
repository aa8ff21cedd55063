//! Every limit that a person can set, with a test that shows it holds.

mod deadlines;
mod load;
mod parts;
mod quota;
mod results;
mod sharing;
mod soak;
mod typed;
