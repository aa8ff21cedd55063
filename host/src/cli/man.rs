//! Manual pages, made from what the program knows of itself.

use std::path::PathBuf;

use clap::CommandFactory;

use super::output::{print, print_bytes};
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to write zipfs.1 and a page for each command.
    pub directory: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let command = super::args::Args::command();
    let failed = |error: std::io::Error| Failure::internal(format!("The manual cannot be written: {error}."));
    match &args.directory {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
            print_bytes(&page).map(drop)
        }
        Some(directory) => {
            std::fs::create_dir_all(directory).map_err(failed)?;
            clap_mangen::generate_to(command, directory).map_err(failed)?;
            print(&format!("Written to {}.\n", directory.display()))
        }
    }
}
