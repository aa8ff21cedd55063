//! What cannot happen.

mod admission;
mod hostile;
mod paths;
