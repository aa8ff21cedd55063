//! `zipfs completion`: the scripts that connect a shell with [`complete`](super::complete).

use super::output::print;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell.
    pub shell: Shell,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    print(match args.shell {
        Shell::Bash => include_str!("completion/zipfs.bash"),
        Shell::Zsh => include_str!("completion/zipfs.zsh"),
        Shell::Fish => include_str!("completion/zipfs.fish"),
    })
}
