//! Writes the small ones among the cases into a directory, one file each: seeds for the fuzz targets.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let dir = std::env::args_os().nth(1).ok_or_else(|| std::io::Error::other("name the directory to write to"))?;
    std::fs::create_dir_all(&dir)?;
    // Of the cases that differ only in a name, a number or a length, the fuzzer finds the others by itself.
    let is_variant = |name: &str| [": ", ", ", " cut at ", "method "].iter().any(|mark| name.contains(mark));
    for case in zipfs_test_archives::all().iter().filter(|case| case.bytes.len() <= 9000 && !is_variant(&case.name)) {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let words: Vec<String> =
            case.name.chars().map(plain).collect::<String>().split('-').filter(|it| !it.is_empty()).map(str::to_owned).collect();
        std::fs::write(Path::new(&dir).join(format!("{}-{:08x}", words.join("-"), crc32fast::hash(&case.bytes))), &case.bytes)?;
    }
    Ok(())
}
