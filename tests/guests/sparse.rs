//! Makes a file of one tebibyte that holds nothing, which an archive of it would have to.

use zipfs_guests::{Stopped, harmless, until_refused};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool, fs};

const TEBIBYTE: u64 = 1 << 40;

struct Sparse;

impl Plugin for Sparse {
    fn about() -> About {
        About::new("sparse", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("sparse", "Makes a file of 1 TiB. Returns {taken, error}.", sparse).writes(), harmless("sparse_ok")]
    }
}

zipfs_sdk::export!(Sparse);

fn sparse(_: NoArguments) -> Result<Stopped, Error> {
    let workspace = fs::workspace()?;
    let created = workspace.create_file("sparse.bin").or_else(|_| workspace.open_file_to_write("sparse.bin"));
    let file = created.map_err(|error| error.at("sparse.bin"))?;
    until_refused(|taken| file.set_len(taken + TEBIBYTE).map(|()| TEBIBYTE))
}
