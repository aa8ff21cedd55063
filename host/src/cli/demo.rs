//! `zipfs demo`: what a newcomer sees first.

use super::args::Args;
use crate::failure::Failure;

pub async fn run(_args: &Args) -> Result<(), Failure> {
    Ok(())
}
