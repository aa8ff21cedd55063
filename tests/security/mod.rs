//! What cannot happen.

mod admission;
mod archives;
mod audit;
mod hostile;
mod paths;
mod typed;
