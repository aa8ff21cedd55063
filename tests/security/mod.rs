//! What cannot happen.

mod admission;
mod archives;
mod hostile;
mod paths;
