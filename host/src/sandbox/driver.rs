//! Running the archive driver: scan, extraction over all cores, packing.

use std::collections::VecDeque;
use std::fs::File;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use cap_std::fs::Dir;
use tokio_util::sync::CancellationToken;
use wasmtime::Store;
use wasmtime::component::Resource;

use super::bindings::archive as contract;
use super::bindings::types::Error;
use super::compiled::Compiled;
use super::engine::Sandbox;
use super::guest::{CallContext, Guest, Mount};
use super::imports::archive_io::{Source, Staged};
use super::limits::Limits;
use crate::config::Security;
use crate::failure::Failure;
use crate::workspace::listing::{Change, Entry, Kind, Listing};
use crate::workspace::quota::Allowance;

use contract::exports::zipfs::plugin::archive as exported;

/// An archive format, in the sandbox.
pub struct Driver {
    sandbox: Arc<Sandbox>,
    compiled: Arc<Compiled>,
}

/// Where an archive is written, and who hears how much of it is.
pub struct Stage {
    pub file: Arc<File>,
    pub written: Box<dyn Fn(u64) + Send + Sync>,
}

/// One piece of extraction: enough work to be worth an instance, little enough that cores finish together and progress shows.
const PIECE_ENTRIES: usize = 500;
const PIECE_BYTES: u64 = 16 << 20;

impl Driver {
    pub fn new(sandbox: Arc<Sandbox>, compiled: Arc<Compiled>) -> Driver {
        Driver { sandbox, compiled }
    }

    /// Reads the archive's directory.
    pub async fn scan(&self, archive: Arc<File>, security: &Security, cancel: &CancellationToken) -> Result<Listing, Failure> {
        let limits = exported::Limits {
            max_entries: security.max_file_count,
            max_total_size: security.max_extracted_size_bytes,
            max_ratio: security.max_compression_ratio,
            ratio_min_size: security.ratio_min_bytes,
        };
        let listing = self
            .run(CallContext::default(), cancel, move |store, driver| {
                Box::pin(async move {
                    let source = push_source(store, archive)?;
                    driver.zipfs_plugin_archive().call_scan(&mut *store, source, limits).await
                })
            })
            .await?;
        Ok(listing.into())
    }

    /// Extracts every file of the listing into `contents`, whose directories exist. `extracted` hears of each finished piece.
    pub async fn extract(
        self: &Arc<Self>,
        archive: Arc<File>,
        entries: &[Entry],
        contents: &Dir,
        cancel: &CancellationToken,
        extracted: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<(), Failure> {
        let pieces = Arc::new(Mutex::new(cut_into_pieces(entries)));
        let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8));
        let extracted = Arc::new(extracted);
        // The first failure stops the others.
        let stop = cancel.child_token();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..workers {
            let (driver, archive, pieces) = (self.clone(), archive.clone(), pieces.clone());
            let (stop, extracted) = (stop.clone(), extracted.clone());
            let contents = contents.try_clone().map_err(|error| Failure::internal(format!("No handle for a worker: {error}.")))?;
            tasks.spawn(async move {
                loop {
                    let Some(piece) = pieces.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front() else {
                        return Ok(());
                    };
                    let done = piece.len() as u64;
                    driver.extract_piece(archive.clone(), piece, &contents, &stop).await?;
                    extracted(done);
                }
            });
        }
        let mut outcome = Ok(());
        while let Some(joined) = tasks.join_next().await {
            let ended = joined.unwrap_or_else(|error| Err(Failure::internal(format!("An extraction broke down: {error}."))));
            if ended.is_err() && outcome.is_ok() {
                outcome = ended;
                stop.cancel();
            }
        }
        outcome
    }

    async fn extract_piece(
        &self,
        archive: Arc<File>,
        piece: Vec<exported::Entry>,
        contents: &Dir,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        // Declared sizes were checked against the limits; the allowance holds the driver to them.
        let bytes = piece.iter().map(|entry| entry.size).sum();
        let allowance = Allowance::fixed(bytes, piece.len() as u64);
        let dir = contents.try_clone().map_err(|error| Failure::internal(format!("The workspace is gone: {error}.")))?;
        let call = CallContext { mount: Some(Mount::writable(dir, None, allowance)), ..CallContext::default() };
        self.run(call, cancel, move |store, driver| {
            Box::pin(async move {
                let source = push_source(store, archive)?;
                driver.zipfs_plugin_archive().call_extract(&mut *store, source, &piece).await
            })
        })
        .await
    }

    /// Checks files of an archive against their sizes and checksums.
    pub async fn verify(&self, archive: Arc<File>, entries: Vec<Entry>, cancel: &CancellationToken) -> Result<(), Failure> {
        let entries: Vec<exported::Entry> = entries.into_iter().map(exported::Entry::from).collect();
        self.run(CallContext::default(), cancel, move |store, driver| {
            Box::pin(async move {
                let source = push_source(store, archive)?;
                driver.zipfs_plugin_archive().call_verify(&mut *store, source, &entries).await
            })
        })
        .await
    }

    /// Writes the archive that results from the changes into `stage`.
    pub async fn pack(
        &self,
        base: Option<Arc<File>>,
        changes: &[Change],
        stage: Stage,
        contents: Dir,
        security: &Security,
        cancel: &CancellationToken,
    ) -> Result<Listing, Failure> {
        let changes: Vec<exported::Change> = changes.iter().cloned().map(exported::Change::from).collect();
        let base_size = base.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len());
        // Stored without compression, with headers of a kilobyte each: more than that is a fault of the driver.
        let most =
            base_size.saturating_add(security.max_extracted_size_bytes).saturating_add(changes.len() as u64 * 2048 + (1 << 20));
        let call = CallContext { mount: Some(Mount::read_only(contents)), ..CallContext::default() };
        let listing = self
            .run(call, cancel, move |store, driver| {
                Box::pin(async move {
                    let source = match base {
                        Some(file) => Some(push_source(store, file)?),
                        None => None,
                    };
                    let staged =
                        store.data_mut().table.push(Staged { file: stage.file, position: 0, most, written: stage.written })?;
                    driver.zipfs_plugin_archive().call_pack(&mut *store, source, &changes, staged).await
                })
            })
            .await?;
        Ok(listing.into())
    }

    /// A fresh instance for each piece of work, like every other guest.
    async fn run<T: Send + 'static>(
        &self,
        mut call: CallContext,
        cancel: &CancellationToken,
        work: impl for<'a> FnOnce(&'a mut Store<Guest>, &'a contract::ArchiveDriver) -> Answer<'a, T> + Send + 'static,
    ) -> Result<T, Failure> {
        call.label = "archive driver".into();
        let limits = Limits::of_driver(self.sandbox.limits());
        let Some(driver) = self.compiled.archive.clone() else {
            return Err(Failure::internal("The archive driver does not export `archive`."));
        };
        let answer = self
            .sandbox
            .run(call, &limits, cancel, move |mut store| async move {
                let result = async {
                    let driver = driver.instantiate_async(&mut store).await?;
                    work(&mut store, &driver).await
                }
                .await;
                (store, result)
            })
            .await?;
        answer.map_err(Failure::from)
    }
}

/// What the driver answers: a result of its own, unless it broke down.
type Answer<'a, T> = Pin<Box<dyn Future<Output = wasmtime::Result<Result<T, Error>>> + Send + 'a>>;

fn push_source(store: &mut Store<Guest>, file: Arc<File>) -> wasmtime::Result<Resource<Source>> {
    let size = file.metadata()?.len();
    Ok(store.data_mut().table.push(Source { file, size })?)
}

/// Files grouped by where they lie in the archive, so that each instance reads one stretch of it. Directories were made before, links
/// are not extracted.
fn cut_into_pieces(entries: &[Entry]) -> VecDeque<Vec<exported::Entry>> {
    let mut files: Vec<&Entry> = entries.iter().filter(|entry| entry.kind == Kind::File).collect();
    files.sort_by_key(|entry| entry.offset);
    let mut pieces: Vec<(u64, Vec<exported::Entry>)> = Vec::new();
    for entry in files {
        match pieces.last_mut() {
            Some((bytes, piece)) if piece.len() < PIECE_ENTRIES && *bytes < PIECE_BYTES => {
                *bytes += entry.size;
                piece.push(entry.clone().into());
            }
            _ => pieces.push((entry.size, vec![entry.clone().into()])),
        }
    }
    // The largest first: one that is begun last would keep one core busy while the others have nothing left to do.
    pieces.sort_by_key(|(bytes, _)| std::cmp::Reverse(bytes / PIECE_BYTES));
    pieces.into_iter().map(|(_, piece)| piece).collect()
}

impl From<exported::Listing> for Listing {
    fn from(listing: exported::Listing) -> Listing {
        Listing { entries: listing.entries.into_iter().map(Entry::from).collect(), warnings: listing.warnings }
    }
}

impl From<exported::EntryKind> for Kind {
    fn from(kind: exported::EntryKind) -> Kind {
        match kind {
            exported::EntryKind::File => Kind::File,
            exported::EntryKind::Directory => Kind::Directory,
            exported::EntryKind::Symlink => Kind::Symlink,
        }
    }
}

impl From<Kind> for exported::EntryKind {
    fn from(kind: Kind) -> exported::EntryKind {
        match kind {
            Kind::File => exported::EntryKind::File,
            Kind::Directory => exported::EntryKind::Directory,
            Kind::Symlink => exported::EntryKind::Symlink,
        }
    }
}

impl From<exported::Entry> for Entry {
    fn from(entry: exported::Entry) -> Entry {
        Entry {
            path: entry.path,
            raw_name: entry.raw_name,
            kind: entry.kind.into(),
            size: entry.size,
            compressed_size: entry.compressed_size,
            crc32: entry.crc32,
            method: entry.method,
            mode: entry.mode,
            modified: entry.modified,
            offset: entry.offset,
            span: entry.span,
        }
    }
}

impl From<Entry> for exported::Entry {
    fn from(entry: Entry) -> exported::Entry {
        exported::Entry {
            path: entry.path,
            raw_name: entry.raw_name,
            kind: entry.kind.into(),
            size: entry.size,
            compressed_size: entry.compressed_size,
            crc32: entry.crc32,
            method: entry.method,
            mode: entry.mode,
            modified: entry.modified,
            offset: entry.offset,
            span: entry.span,
        }
    }
}

impl From<Change> for exported::Change {
    fn from(change: Change) -> exported::Change {
        match change {
            Change::Remove(index) => exported::Change::Remove(index),
            Change::Replace { index, modified, mode } => {
                exported::Change::Replace(exported::ReplacementEntry { index, modified, mode })
            }
            Change::Add { path, kind, modified, mode } => {
                exported::Change::Add(exported::NewEntry { path, kind: kind.into(), modified, mode })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(offset: u64, size: u64) -> Entry {
        let path = offset.to_string();
        let raw_name = path.clone().into_bytes();
        let (kind, span) = (Kind::File, size);
        Entry { path, raw_name, kind, size, compressed_size: size, crc32: 0, method: 0, mode: None, modified: None, offset, span }
    }

    #[test]
    fn pieces_are_stretches_of_the_archive_and_large_ones_come_first() {
        let small = (0..1200).map(|number| entry(1200 - number, 10));
        let large = [entry(5000, 40 << 20), entry(4000, 100 << 20)];
        let pieces = cut_into_pieces(&small.chain(large).collect::<Vec<_>>());
        let offsets: Vec<(u64, usize)> = pieces.iter().map(|piece| (piece[0].offset, piece.len())).collect();
        assert_eq!(offsets, [(1001, 201), (5000, 1), (1, 500), (501, 500)]);
        assert!(pieces.iter().all(|piece| piece.is_sorted_by_key(|entry| entry.offset)));
    }
}
