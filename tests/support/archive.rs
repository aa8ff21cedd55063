//! Sample archives, written by a library that is not ours.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;

/// An archive in a directory of its own.
pub struct Archive {
    dir: tempfile::TempDir,
    path: PathBuf,
}

impl Archive {
    pub fn new(name: &str, bytes: &[u8]) -> Archive {
        Archive::within(&std::env::temp_dir(), name, bytes)
    }

    /// In a directory of its own in `parent`.
    pub fn within(parent: &Path, name: &str, bytes: &[u8]) -> Archive {
        let dir = tempfile::tempdir_in(parent).expect("a temporary directory");
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).expect("the archive can be written");
        Archive { dir, path }
    }

    pub fn of(files: &[(&str, &str)]) -> Archive {
        Archive::new("sample.zip", &zip(files))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that the archive is in.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// What the archive holds now, by name.
    pub fn read(&self) -> std::collections::BTreeMap<String, Vec<u8>> {
        let file = std::fs::File::open(&self.path).expect("the archive is there");
        let mut archive = zip::ZipArchive::new(file).expect("the archive is valid");
        (0..archive.len())
            .map(|index| {
                let mut entry = archive.by_index(index).expect("the entry can be read");
                let mut bytes = Vec::new();
                std::io::Read::read_to_end(&mut entry, &mut bytes).expect("the entry is whole");
                (entry.name().expect("a name").into_owned(), bytes)
            })
            .collect()
    }
}

/// Zip bytes of these files. A name that ends in `/` is a directory.
pub fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().unix_permissions(0o644);
    for (name, contents) in files {
        match name.strip_suffix('/') {
            Some(directory) => writer.add_directory(directory, options).expect("a directory entry"),
            None => {
                writer.start_file(*name, options).expect("a file entry");
                writer.write_all(contents.as_bytes()).expect("its contents");
            }
        }
    }
    writer.finish().expect("a complete archive").into_inner()
}
