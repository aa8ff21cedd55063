//! What all peers read: one small file, in a directory for those that serve directories and in an archive for zipfs.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The files of one run. They go when it is dropped.
pub struct Fixture {
    pub home: TempDir,
    /// A directory with the file.
    pub directory: PathBuf,
    /// An archive with the file, among others.
    pub archive: PathBuf,
    /// What is in the file.
    pub text: String,
}

/// The name of the file.
pub const FILE: &str = "note.txt";

/// The last word of the file. An answer that contains it has read to the end.
pub const LAST_WORD: &str = "quite-the-end-of-the-note";

const FILE_SIZE: usize = 1024;

/// Other files in the archive, so that a cost for each entry of it would show in every call.
const OTHER_FILES: usize = 1000;

impl Fixture {
    pub fn create() -> Result<Self> {
        let home = tempfile::Builder::new().prefix("zipfs-bench-").tempdir()?;
        let directory = home.path().join("files");
        let archive = home.path().join("note.zip");
        let text = write_text();
        std::fs::create_dir(&directory)?;
        std::fs::write(directory.join(FILE), &text)?;

        let mut zip = ZipWriter::new(std::fs::File::create(&archive)?);
        zip.start_file(FILE, SimpleFileOptions::default())?;
        zip.write_all(text.as_bytes())?;
        for number in 0..OTHER_FILES {
            zip.start_file(format!("others/{:02}/{number:04}.txt", number % 20), SimpleFileOptions::default())?;
            writeln!(zip, "This is file {number}.")?;
        }
        zip.finish()?;
        Ok(Self { home, directory, archive, text })
    }
}

/// Lines of plain text, as long as the file is to be, down to the last word.
fn write_text() -> String {
    let mut text = String::new();
    for number in 1.. {
        let line = format!("{number:3}  What was read once is read again, and again it is read.\n");
        if text.len() + line.len() + LAST_WORD.len() > FILE_SIZE {
            break;
        }
        text.push_str(&line);
    }
    text.extend(std::iter::repeat_n('.', FILE_SIZE - text.len() - LAST_WORD.len()));
    text + LAST_WORD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_a_kibibyte_and_the_same_in_both_places() {
        let fixture = Fixture::create().unwrap();
        assert_eq!(fixture.text.len(), FILE_SIZE);
        assert!(fixture.text.ends_with(LAST_WORD));
        assert_eq!(std::fs::read_to_string(fixture.directory.join(FILE)).unwrap(), fixture.text);
        let mut zip = zip::ZipArchive::new(std::fs::File::open(&fixture.archive).unwrap()).unwrap();
        assert_eq!(zip.len(), OTHER_FILES + 1);
        assert_eq!(std::io::read_to_string(zip.by_name(FILE).unwrap()).unwrap(), fixture.text);
    }
}
