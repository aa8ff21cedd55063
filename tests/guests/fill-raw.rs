//! Writes into one file without end, through the descriptor itself: no stream stands between.

use wasip2::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
use zipfs_guests::{Stopped, harmless, root, until_refused};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool};

struct FillRaw;

impl Plugin for FillRaw {
    fn about() -> About {
        About::new("fill-raw", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("fill_raw", "Writes without end. Returns {taken, error}.", fill).writes(), harmless("fill_raw_ok")]
    }
}

zipfs_sdk::export!(FillRaw);

fn fill(_: NoArguments) -> Result<Stopped, Error> {
    let block = vec![7; 1 << 20];
    let created = root()?.open_at(PathFlags::empty(), "fill-raw.bin", OpenFlags::CREATE, DescriptorFlags::WRITE);
    let file = created.map_err(|error| Error::internal("NOT_CREATED", error.name()))?;
    until_refused(|taken| file.write(&block, taken).map_err(|error| error.name()))
}
