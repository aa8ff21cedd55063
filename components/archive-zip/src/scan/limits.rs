//! What an archive may ask for, by what it declares. What it really does is watched while extracting.

use super::Record;
use crate::contract::{Error, Limits};
use crate::failure::{bomb, quoted};

/// Refuses too many entries before the first is read.
pub fn check_count(count: u64, limits: &Limits) -> Result<(), Error> {
    if count <= limits.max_entries {
        return Ok(());
    }
    Err(bomb(format!("the archive has {count} entries, more than the {} of security.max_file_count", limits.max_entries)))
}

/// Refuses too many bytes in all, and entries that grow too much.
pub fn check_sizes(records: &[Record], limits: &Limits) -> Result<(), Error> {
    let mut total: u64 = 0;
    for Record { entry, .. } in records {
        // Saturating: sizes near 2^64 must not add up to something small.
        total = total.saturating_add(entry.size);
        let may_be = u128::from(entry.compressed_size) * u128::from(limits.max_ratio);
        if entry.size >= limits.ratio_min_size && u128::from(entry.size) > may_be {
            return Err(bomb(format!(
                "entry {} grows from {} to {} bytes, more than the {}:1 of security.max_compression_ratio",
                quoted(&entry.raw_name),
                entry.compressed_size,
                entry.size,
                limits.max_ratio
            )));
        }
    }
    if total > limits.max_total_size {
        let most = limits.max_total_size;
        return Err(bomb(format!(
            "the archive unpacks to {total} bytes, more than the {most} of security.max_extracted_size_bytes"
        )));
    }
    Ok(())
}
