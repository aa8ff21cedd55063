//! `zipfs`: arguments → configuration → run → exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    zipfs::cli::main()
}
