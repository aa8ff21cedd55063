//! The driver through its public door, natively: archives made by hand and by another implementation.

mod beyond;
mod cases;
mod damage;
mod extract;
mod hostile;
mod memory;
mod methods;
mod others;
mod pack;
mod scan;
mod sharing;
