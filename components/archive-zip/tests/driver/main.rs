//! The driver through its public door, natively: archives made by hand and by another implementation.

mod beyond;
mod damage;
mod extract;
mod hostile;
mod made;
mod memory;
mod pack;
mod scan;
