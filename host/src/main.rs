//! `zipfs`: arguments → configuration → run → exit code.

use std::process::ExitCode;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    zipfs::cli::main()
}
