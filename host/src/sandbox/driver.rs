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
use crate::workspace::baseline::Recorded;
use crate::workspace::copying::Underway;
use crate::workspace::listing::{Change, Entry, Kind, Listing};
use crate::workspace::quota::Allowance;

use contract::exports::zipfs::plugin::archive as exported;

/// An archive format, in the sandbox.
pub struct Driver {
    sandbox: Arc<Sandbox>,
    compiled: Arc<Compiled>,
}

/// An archive to read, which may still be being written.
pub struct Archive {
    pub file: Arc<File>,
    pub underway: Option<Underway>,
}

/// Where an archive is written, and who copies what is large into it, if that is not done at once.
pub struct Stage {
    pub file: Arc<File>,
    pub block_size: u32,
    pub underway: Option<Underway>,
}

/// Changes whose contents are ready, and the file that has them.
pub struct Ready {
    scratch: Arc<File>,
    changes: Vec<exported::Change>,
}

/// One piece of extraction: enough work to be worth an instance, little enough that cores finish together and progress shows.
const PIECE_ENTRIES: usize = 500;
const PIECE_BYTES: u64 = 16 << 20;
/// The same for compressing, which takes ten times as long.
const PREPARED_ENTRIES: usize = 128;
const PREPARED_BYTES: u64 = 1 << 20;

impl Driver {
    pub fn new(sandbox: Arc<Sandbox>, compiled: Arc<Compiled>) -> Driver {
        Driver { sandbox, compiled }
    }

    /// Reads the archive's directory.
    pub async fn scan(
        &self,
        archive: impl Into<Archive>,
        security: &Security,
        cancel: &CancellationToken,
    ) -> Result<Listing, Failure> {
        let archive = archive.into();
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
        let contents = Arc::new(contents.try_clone().map_err(workspace_gone)?);
        let (driver, extracted) = (self.clone(), Arc::new(extracted));
        let extract = move |piece: Vec<exported::Entry>, stop: CancellationToken| {
            let (driver, archive, contents, extracted) = (driver.clone(), archive.clone(), contents.clone(), extracted.clone());
            async move {
                let done = piece.len() as u64;
                driver.extract_piece(archive, piece, &contents, &stop).await?;
                extracted(done);
                Ok(())
            }
        };
        on_all_cores(cut_into_pieces(entries), extract, cancel).await.map(drop)
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
        let dir = contents.try_clone().map_err(workspace_gone)?;
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
    pub async fn verify(
        &self,
        archive: impl Into<Archive>,
        entries: Vec<Entry>,
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        let archive = archive.into();
        let entries: Vec<exported::Entry> = entries.into_iter().map(exported::Entry::from).collect();
        self.run(CallContext::default(), cancel, move |store, driver| {
            Box::pin(async move {
                let source = push_source(store, archive)?;
                driver.zipfs_plugin_archive().call_verify(&mut *store, source, &entries).await
            })
        })
        .await
    }

    /// Puts the contents that `changes` to `entries` ask for into `scratch`, compressed. `prepared` hears of each piece how large it
    /// was.
    pub async fn prepare(
        self: &Arc<Self>,
        changes: &[Change],
        entries: &[Recorded],
        contents: &Dir,
        scratch: Arc<File>,
        cancel: &CancellationToken,
        prepared: impl Fn(u64) + Send + Sync + 'static,
    ) -> Result<Ready, Failure> {
        let contents = Arc::new(contents.try_clone().map_err(workspace_gone)?);
        let (driver, file, prepared) = (self.clone(), scratch.clone(), Arc::new(prepared));
        let prepare = move |piece: Piece, stop: CancellationToken| {
            let (driver, file, contents, prepared) = (driver.clone(), file.clone(), contents.clone(), prepared.clone());
            async move {
                let (first, bytes) = (piece.first, piece.bytes);
                let ready = driver.prepare_piece(piece, file, &contents, &stop).await?;
                prepared(bytes);
                Ok((first, ready))
            }
        };
        let mut ready = on_all_cores(cut_wanted(changes, entries), prepare, cancel).await?;
        ready.sort_by_key(|(first, _)| *first);
        let mut ready = ready.into_iter().flat_map(|(_, ready)| ready);
        let told = changes.iter().map(|change| with_contents(change, &mut ready)).collect::<Option<_>>();
        let changes = told.ok_or_else(|| Failure::internal("The archive driver did not prepare everything."))?;
        Ok(Ready { scratch, changes })
    }

    async fn prepare_piece(
        &self,
        piece: Piece,
        scratch: Arc<File>,
        contents: &Dir,
        cancel: &CancellationToken,
    ) -> Result<Vec<exported::Prepared>, Failure> {
        let dir = contents.try_clone().map_err(workspace_gone)?;
        let call = CallContext { mount: Some(Mount::read_only(dir)), ..CallContext::default() };
        let (start, most) = (piece.start, piece.room());
        let staged = Staged { file: scratch, start, position: 0, block_size: 0, most, underway: None };
        let mut prepared = self
            .run(call, cancel, move |store, driver| {
                Box::pin(async move {
                    let staged = store.data_mut().table.push(staged)?;
                    driver.zipfs_plugin_archive().call_prepare(&mut *store, &piece.wanted, staged).await
                })
            })
            .await?;
        for contents in &mut prepared {
            contents.offset = contents.offset.saturating_add(start);
        }
        Ok(prepared)
    }

    /// Writes the archive that results from the changes into `stage`, and returns what is new in it.
    pub async fn pack(
        &self,
        base: Option<(Arc<File>, &[Recorded])>,
        ready: Ready,
        stage: Stage,
        security: &Security,
        cancel: &CancellationToken,
    ) -> Result<Vec<Entry>, Failure> {
        let places: Vec<exported::Place> = base
            .iter()
            .flat_map(|(_, entries)| *entries)
            .map(|known| exported::Place { offset: known.entry.offset, span: known.entry.span })
            .collect();
        let base = base.map(|(file, _)| file);
        let base_size = base.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len());
        // Stored without compression, with headers and padding of some kilobytes each: more than that is a fault of the driver.
        let headers = ready.changes.len() as u64 * (2048 + 2 * u64::from(stage.block_size)) + (1 << 20);
        let most = base_size.saturating_add(security.max_extracted_size_bytes).saturating_add(headers);
        let Stage { file, block_size, underway } = stage;
        let staged = Staged { file, start: 0, position: 0, block_size, most, underway };
        let written = self
            .run(CallContext::default(), cancel, move |store, driver| {
                Box::pin(async move {
                    let source = base.map(|file| push_source(store, file)).transpose()?;
                    let scratch = push_source(store, ready.scratch)?;
                    let staged = store.data_mut().table.push(staged)?;
                    driver.zipfs_plugin_archive().call_pack(&mut *store, source, &places, &ready.changes, scratch, staged).await
                })
            })
            .await?;
        Ok(written.into_iter().map(Entry::from).collect())
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

/// Does all pieces of a work, as many at a time as there are cores. The first failure stops the others. The answers come in any order.
async fn on_all_cores<P: Send + 'static, T: Send + 'static, F: Future<Output = Result<T, Failure>> + Send>(
    pieces: VecDeque<P>,
    work: impl Fn(P, CancellationToken) -> F + Clone + Send + 'static,
    cancel: &CancellationToken,
) -> Result<Vec<T>, Failure> {
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8)).min(pieces.len());
    let stop = cancel.child_token();
    // One alone needs no other thread.
    if pieces.len() == 1 {
        let mut done = Vec::new();
        for piece in pieces {
            done.push(work(piece, stop.clone()).await?);
        }
        return Ok(done);
    }
    let pieces = Arc::new(Mutex::new(pieces));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..workers {
        let (work, pieces, stop) = (work.clone(), pieces.clone(), stop.clone());
        tasks.spawn(async move {
            let mut done = Vec::new();
            let next = || pieces.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front();
            while let Some(piece) = next() {
                done.push(work(piece, stop.clone()).await?);
            }
            Ok(done)
        });
    }
    let mut outcome = Ok(Vec::new());
    while let Some(joined) = tasks.join_next().await {
        let ended = joined.unwrap_or_else(|error| Err(Failure::internal(format!("A worker broke down: {error}."))));
        match (&mut outcome, ended) {
            (Ok(all), Ok(done)) => all.extend(done),
            (Ok(_), Err(failure)) => {
                outcome = Err(failure);
                stop.cancel();
            }
            (Err(_), _) => {}
        }
    }
    outcome
}

fn workspace_gone(error: std::io::Error) -> Failure {
    Failure::internal(format!("The workspace is gone: {error}."))
}

/// Some of the contents to prepare: those of the changes from number `first` on.
struct Piece {
    first: usize,
    wanted: Vec<exported::Wanted>,
    /// What they weigh in the workspace.
    bytes: u64,
    /// Where in the scratch file they go. It has holes, which cost nothing.
    start: u64,
}

impl Piece {
    /// The stretch of the scratch file that is theirs: what does not compress grows a little.
    fn room(&self) -> u64 {
        self.bytes + self.bytes / 8 + (1 << 20)
    }
}

/// The contents that changes ask for, in pieces; the largest first.
fn cut_wanted(changes: &[Change], entries: &[Recorded]) -> VecDeque<Piece> {
    let wanted = changes.iter().filter_map(|change| {
        let wanted = match change {
            Change::Remove(_) => return None,
            Change::Replace { index, .. } => {
                let entry = &entries.get(*index as usize)?.entry;
                exported::Wanted { path: entry.path.clone(), kind: entry.kind.into(), method: Some(entry.method) }
            }
            Change::Add { path, kind, .. } => exported::Wanted { path: path.clone(), kind: (*kind).into(), method: None },
        };
        Some((wanted, change.size()))
    });
    let mut pieces: Vec<Piece> = Vec::new();
    for (number, (wanted, size)) in wanted.enumerate() {
        match pieces.last_mut() {
            Some(piece) if piece.wanted.len() < PREPARED_ENTRIES && piece.bytes < PREPARED_BYTES => {
                piece.bytes += size;
                piece.wanted.push(wanted);
            }
            last => {
                let start = last.map_or(0, |piece| piece.start + piece.room());
                pieces.push(Piece { first: number, wanted: vec![wanted], bytes: size, start });
            }
        }
    }
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.bytes / PREPARED_BYTES));
    pieces.into()
}

/// The change as the driver takes it, with the next of the contents that are ready if it needs some.
fn with_contents(change: &Change, ready: &mut impl Iterator<Item = exported::Prepared>) -> Option<exported::Change> {
    Some(match change {
        Change::Remove(index) => exported::Change::Remove(*index),
        Change::Replace { index, modified, mode, .. } => exported::Change::Replace(exported::ReplacementEntry {
            index: *index,
            modified: *modified,
            mode: *mode,
            contents: ready.next()?,
        }),
        Change::Add { path, kind, modified, mode, .. } => exported::Change::Add(exported::NewEntry {
            path: path.clone(),
            kind: (*kind).into(),
            modified: *modified,
            mode: *mode,
            contents: ready.next()?,
        }),
    })
}

/// What the driver answers: a result of its own, unless it broke down.
type Answer<'a, T> = Pin<Box<dyn Future<Output = wasmtime::Result<Result<T, Error>>> + Send + 'a>>;

fn push_source(store: &mut Store<Guest>, archive: impl Into<Archive>) -> wasmtime::Result<Resource<Source>> {
    let Archive { file, underway } = archive.into();
    let size = match &underway {
        Some(underway) => underway.end(),
        None => file.metadata()?.len(),
    };
    Ok(store.data_mut().table.push(Source { file, size, underway })?)
}

impl From<Arc<File>> for Archive {
    fn from(file: Arc<File>) -> Archive {
        Archive { file, underway: None }
    }
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
    fn what_is_wanted_is_cut_into_pieces_with_room_of_their_own() {
        let known = [Recorded { entry: entry(0, 7), stat: None }];
        let add = |number: u32, size| Change::Add { path: number.to_string(), kind: Kind::File, size, modified: 0, mode: 0 };
        let first = [Change::Remove(0), Change::Replace { index: 0, size: 3, modified: 0, mode: 0 }];
        let small = (0..300).map(|number| add(number, 10));
        let changes: Vec<Change> = first.into_iter().chain(small).chain([add(300, 50 << 20), add(301, 0)]).collect();
        let pieces = cut_wanted(&changes, &known);
        assert_eq!(pieces[0].bytes, (50 << 20) + 45 * 10, "the largest is begun first");
        assert_eq!(pieces.iter().map(|piece| piece.wanted.len()).sum::<usize>(), 303, "one that is removed needs nothing");
        let mut in_order: Vec<&Piece> = pieces.iter().collect();
        in_order.sort_by_key(|piece| piece.first);
        assert!(in_order.windows(2).all(|two| two[0].first + two[0].wanted.len() == two[1].first));
        assert!(in_order.windows(2).all(|two| two[0].start + two[0].room() <= two[1].start));
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
