//! The archives that are opened, made once and kept in `target/bench`. Their texts are the sources of the crates that this project
//! is built with, which are on every machine that built it.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Set {
    Source,
    Small,
    Text,
    Stored,
    /// The same large files, and a small one between them.
    Mixed,
    /// Ten thousand source files, to be searched.
    Tree,
    /// As much text in ten files.
    Long,
    /// A file of 100 MB in which every byte is a character, so that it can be read in any ranges.
    Ascii,
}

const SOURCE_FILES: usize = 22_000;
const SMALL_FILES: usize = 100_000;
const SMALL_SIZE: usize = 1000;
const LARGE_FILES: usize = 5;
const LARGE_SIZE: usize = 100 << 20;
const TREE_FILES: usize = 10_000;
const LONG_FILES: usize = 10;
const LONG_SIZE: usize = 20 << 20;

impl Set {
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Small => "small",
            Self::Text => "text",
            Self::Stored => "stored",
            Self::Mixed => "mixed",
            Self::Tree => "tree",
            Self::Long => "long",
            Self::Ascii => "ascii",
        }
    }

    /// How long zipfs may take, as a share of unzip's time: with two cores less where there is work for both.
    pub fn promised_share(self) -> f64 {
        match self {
            Self::Source | Self::Text => 0.7,
            Self::Small | Self::Stored | Self::Mixed | Self::Tree | Self::Long | Self::Ascii => 1.0,
        }
    }

    pub fn is_few_files(self) -> bool {
        matches!(self, Self::Text | Self::Stored | Self::Mixed)
    }

    /// The archive's path; it is made if it is not there.
    pub fn provide(self, bench: &Path) -> Result<PathBuf> {
        let path = bench.join(format!("{}.zip", self.name()));
        if !path.exists() {
            let aside = path.with_extension("part");
            let mut zip = ZipWriter::new(std::io::BufWriter::new(std::fs::File::create(&aside)?));
            self.write(&mut zip).with_context(|| format!("make {}", path.display()))?;
            zip.finish()?.flush()?;
            std::fs::rename(&aside, &path)?;
        }
        Ok(path)
    }

    fn write(self, zip: &mut ZipWriter<impl Write + std::io::Seek>) -> Result<()> {
        let options = SimpleFileOptions::default();
        match self {
            Self::Source | Self::Tree => {
                let sources = find_sources()?;
                let files = if self == Self::Source { SOURCE_FILES } else { TREE_FILES };
                for (number, (name, path)) in sources.iter().cycle().take(files).enumerate() {
                    zip.start_file(format!("{}/{name}", number / sources.len()), options)?;
                    zip.write_all(&std::fs::read(path)?)?;
                }
            }
            Self::Small => {
                let text = read_text(20 << 20)?;
                for number in 0..SMALL_FILES {
                    zip.start_file(format!("{}/{number}.txt", number % 200), options)?;
                    let at = number * 7919 % (text.len() - SMALL_SIZE);
                    zip.write_all(&text[at..at + SMALL_SIZE])?;
                }
            }
            Self::Text | Self::Long => {
                let (files, size) = if self == Self::Text { (LARGE_FILES, LARGE_SIZE) } else { (LONG_FILES, LONG_SIZE) };
                let text = read_text(size)?;
                for number in 0..files {
                    zip.start_file(format!("text-{number}.txt"), options)?;
                    let (tail, head) = text.split_at(text.len() / files * number);
                    zip.write_all(head)?;
                    zip.write_all(tail)?;
                }
            }
            Self::Ascii => {
                let mut text = read_text(LARGE_SIZE)?;
                text.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
                zip.start_file("text.txt", options)?;
                zip.write_all(&text)?;
            }
            Self::Stored | Self::Mixed => {
                let options = options.compression_method(zip::CompressionMethod::Stored);
                let mut state = 1u64;
                let mut noise = vec![0; 1 << 20];
                for number in 0..LARGE_FILES {
                    if self == Self::Mixed {
                        zip.start_file(format!("note-{number}.txt"), options)?;
                        writeln!(zip, "This is note {number}.")?;
                    }
                    zip.start_file(format!("blob-{number}.bin"), options)?;
                    for _ in 0..LARGE_SIZE >> 20 {
                        noise.as_chunks_mut::<8>().0.iter_mut().for_each(|chunk| {
                            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                            *chunk = (state ^ state >> 29).to_le_bytes();
                        });
                        zip.write_all(&noise)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// `len` bytes of source text, from the beginning again where there is not enough.
fn read_text(len: usize) -> Result<Vec<u8>> {
    let mut text = Vec::with_capacity(len);
    for (_, path) in find_sources()?.iter().cycle() {
        text.extend(std::fs::read(path)?);
        if text.len() >= len {
            break;
        }
    }
    text.truncate(len);
    Ok(text)
}

/// The texts among the sources that cargo unpacked, each with its path below them, in order.
fn find_sources() -> Result<Vec<(String, PathBuf)>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"))).context("no CARGO_HOME")?;
    let root = home.join("registry/src");
    let mut found = Vec::new();
    let mut pending = vec![root.clone()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(&dir).with_context(|| format!("read {}", dir.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let is_text =
                path.extension().is_some_and(|extension| ["rs", "toml", "md", "c", "h"].iter().any(|it| extension == *it));
            // The first component is the registry's name, which is nobody's business.
            let name = path.strip_prefix(&root).ok().and_then(|path| path.to_str()).and_then(|path| path.split_once('/'));
            if let (true, Some((_, name))) = (is_text && path.metadata()?.len() < 400_000, name) {
                found.push((name.to_owned(), path.clone()));
            }
        }
    }
    found.sort();
    ensure!(found.len() > 1000, "only {} source files in {}", found.len(), root.display());
    Ok(found)
}
