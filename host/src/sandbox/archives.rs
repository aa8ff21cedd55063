//! Opening, syncing and closing sessions: where the durable steps of `workspace` and the archive driver come together.

use std::sync::{Arc, Mutex, mpsc};

use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use wasmtime::Result;

use super::bindings::plugin::zipfs::plugin::sessions::{Changes, Closed, Info, Opened, Synced};
use super::driver::{Archive, Driver, Stage};
use super::guest::Event;
use super::imports::progress::Reported;
use crate::config::{CloseUnsaved, Security, Settings};
use crate::failure::{Class, Failure};
use crate::workspace::copying::{Copying, Underway};
use crate::workspace::listing::{Change, Entry, Kind, Listing, is_result};
use crate::workspace::lock::Mode;
use crate::workspace::metadata::Metadata;
use crate::workspace::open::{Opening, Request};
use crate::workspace::original::Original;
use crate::workspace::sync::Syncing;
use crate::workspace::{Owner, Workspace, Workspaces, close, commit, copy, links, status, sync};

/// What opening, syncing and closing need.
pub struct SessionHost {
    pub workspaces: Arc<Workspaces>,
    /// Loaded when the first archive is met.
    pub driver: Box<dyn Fn() -> Result<Arc<Driver>, Failure> + Send + Sync>,
}

/// Opens an archive: copy and hash, scan, extract, publish. The steps between the driver's run off the reactor.
pub async fn open_archive(
    host: Arc<SessionHost>,
    request: Request,
    events: Option<UnboundedSender<Event>>,
    cancel: CancellationToken,
) -> Result<Opened, Failure> {
    let driver = (host.driver)()?;
    let (workspaces, stop) = (host.workspaces.clone(), cancel.clone());
    let (owner, named) = (request.owner.clone(), request.archive.name().to_owned());
    let unopened = |failure: Failure| match &*failure.code {
        // These are about the archive, and the driver does not know what it is called.
        "ZIP_INVALID" | "ZIP_BOMB_DETECTED" | "PATH_TRAVERSAL" => {
            Failure { message: format!("{named} cannot be opened: {}.", failure.message), ..failure }
        }
        _ => failure,
    };
    let mut opening =
        blocking(move || Opening::begin_ambient(workspaces, request, || stop.is_cancelled())).await.map_err(broken)??;
    let security = host.workspaces.settings().security.clone();
    let listing = driver.scan(opening.archive(), &security, &cancel).await.map_err(unopened)?;
    let (opening, listing) = blocking(move || opening.make_room(&listing).map(|()| (opening, listing))).await.map_err(broken)??;

    let total = listing.entries.iter().filter(|entry| entry.kind == Kind::File).count();
    let done = Mutex::new(0);
    let report = move |more: u64| {
        // Counted and told under one lock: several workers report, and progress must not go backwards.
        let mut done = done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *done += more;
        if let Some(events) = &events {
            let message = Some(format!("extracted {done} of {total} files"));
            let _ = events.send(Event::Progress { done: *done as f64, total: Some(total as f64), message });
        }
    };
    driver.extract(opening.archive(), &listing.entries, opening.contents(), &cancel, report).await.map_err(unopened)?;
    let (opening, listing) = if opening.extracts_links() {
        extract_links(&driver, opening, listing, &cancel).await.map_err(unopened)?
    } else {
        (opening, listing)
    };
    let opened = blocking(move || opening.publish(listing)).await.map_err(broken)??;
    Ok(Opened {
        session: info(&opened.metadata, &owner),
        workspace_path: match owner.reach.hides_paths() {
            true => String::new(),
            false => opened.contents_path.display().to_string(),
        },
        warnings: opened.warnings,
        skipped_symlinks: opened.skipped_symlinks,
    })
}

/// Links come last: until they are there, no file can be written through one.
async fn extract_links(
    driver: &Arc<Driver>,
    opening: Opening,
    listing: Listing,
    cancel: &CancellationToken,
) -> Result<(Opening, Listing), Failure> {
    let targets = links::as_files(&listing.entries)?;
    if targets.is_empty() {
        return Ok((opening, listing));
    }
    let tmp = opening.tmp().map_err(|error| Failure::internal(format!("There is no place for links: {error}.")))?;
    driver.extract(opening.archive(), &targets, &tmp, cancel, |_| {}).await?;
    blocking(move || links::make(opening.contents(), &tmp, &listing.entries).map(|()| (opening, listing))).await.map_err(broken)?
}

/// Writes the changes back. The exclusive lock is taken here, and what was known before it is read again.
///
/// Runs on a thread of its own, and blocks it: every durable step is taken there, one after the other.
pub async fn sync_session(
    host: &SessionHost,
    owner: &Owner,
    session: &mut Workspace,
    force: bool,
    dry_run: bool,
    events: Option<UnboundedSender<Event>>,
    cancel: &CancellationToken,
) -> Result<Synced, Failure> {
    let settings = host.workspaces.settings();
    // What came over the network is in the session itself, and reached by whoever reaches that.
    if !dry_run && !session.holds_its_archive() {
        owner.reach.check_write_back_ambient(&session.metadata.source_path)?;
    }
    host.workspaces.change_lock(session, Mode::Exclusive).await?;
    let driver = (host.driver)()?;
    let mut syncing = Syncing::begin(&host.workspaces, session)?;
    if syncing.is_in_doubt() {
        let is_same = holds_the_same(&driver, &syncing, &settings.security, cancel).await;
        syncing.decide(is_same);
    }
    if syncing.must_rescan() && !force {
        return Err(syncing.changed_by_others());
    }
    if syncing.must_rescan() {
        // The changed source is the base only as far as it can be read; what cannot be read is written anew.
        let listing = driver.scan(syncing.source(), &settings.security, cancel).await.ok();
        syncing.rebase(session, listing)?;
    }
    let changes = told(syncing.changes());
    if dry_run || (syncing.changes().is_empty() && !syncing.must_rescan()) {
        let size_bytes = syncing.estimated_size();
        return Ok(Synced { changes, written: !dry_run, backup_path: String::new(), size_bytes });
    }
    match write_stage(host, &driver, session, &syncing, events, cancel).await {
        Ok(committed) => Ok(Synced {
            changes,
            written: true,
            backup_path: committed.backup_path.map(|path| owner.reach.shown(&path)).unwrap_or_default(),
            size_bytes: committed.size,
        }),
        Err(failure) => {
            syncing.abandon(&host.workspaces, session);
            Err(failure)
        }
    }
}

/// Whether the source, which looks different and whose hash is not known, has every entry that it had, with the same contents.
async fn holds_the_same(driver: &Driver, syncing: &Syncing, security: &Security, cancel: &CancellationToken) -> bool {
    let Ok(listing) = driver.scan(syncing.source(), security, cancel).await else { return false };
    let before = &syncing.baseline().entries;
    let is_same = listing.entries.iter().eq(before.iter().map(|known| &known.entry));
    let files = listing.entries.into_iter().filter(|entry| entry.kind == Kind::File).collect();
    is_same && driver.verify(syncing.source(), files, cancel).await.is_ok()
}

async fn write_stage(
    host: &SessionHost,
    driver: &Arc<Driver>,
    session: &mut Workspace,
    syncing: &Syncing,
    events: Option<UnboundedSender<Event>>,
    cancel: &CancellationToken,
) -> Result<commit::Committed, Failure> {
    let settings = host.workspaces.settings();
    let stage = syncing.stage(session)?;
    let noted = syncing.note(session, &stage);
    let filled = fill(driver, session, syncing, &stage, &settings.security, events, cancel).await;
    // Whatever came of it: what is written about the session from here on must not meet the note.
    if let Some(noted) = noted {
        let _ = noted.join();
    }
    let (packed, filling) = filled?;

    // What we are about to put in the place of the user's archive must read back as what was meant to be written. That begins while
    // the last of it is still being copied, and put on disk.
    let underway = filling.copying.underway();
    let (filled, scanned) = tokio::join!(
        finish_filling(filling, session, syncing, &stage),
        read_back(driver, syncing, &stage, underway, &packed, settings, cancel)
    );
    commit::commit_staged(&host.workspaces, session, syncing, &stage, filled?, scanned?)
}

/// Reads the stage as anybody would: everything is listed, and what is new is unpacked.
async fn read_back(
    driver: &Arc<Driver>,
    syncing: &Syncing,
    stage: &sync::Stage,
    underway: Underway,
    packed: &[Entry],
    settings: &Settings,
    cancel: &CancellationToken,
) -> Result<Listing, Failure> {
    let as_sync_failure = |failure: Failure| Failure { class: failure.class, ..syncing.failed(&failure.message) };
    let file = syncing.reopen(stage)?;
    let archive = || Archive { file: file.clone(), underway: Some(underway.clone()) };
    let no_limits = Security {
        max_file_count: u64::MAX,
        max_extracted_size_bytes: u64::MAX,
        max_compression_ratio: u64::MAX,
        ..settings.security.clone()
    };
    let scanned = driver.scan(archive(), &no_limits, cancel).await.map_err(as_sync_failure)?;
    let before = syncing.baseline().entries.iter().map(|known| &known.entry);
    if !is_result(before, &syncing.changes().orders(), packed, &scanned.entries) {
        return Err(syncing.failed("the new archive does not read back as it was written"));
    }
    let files = packed.iter().filter(|entry| entry.kind == Kind::File).cloned().collect();
    driver.verify(archive(), files, cancel).await.map_err(as_sync_failure)?;
    Ok(scanned)
}

/// SHA-256 of the stage and how many bytes it is of, if it was hashed.
type Hash = Option<(String, u64)>;

/// A new archive of which everything is written that is small.
struct Filling {
    copying: Copying,
    hashing: Option<JoinHandle<std::io::Result<(String, u64)>>>,
}

/// Has the driver write the new archive into the stage, and returns what is new in it. What did not change is still on its way then.
async fn fill(
    driver: &Arc<Driver>,
    session: &Workspace,
    syncing: &Syncing,
    stage: &sync::Stage,
    security: &Security,
    events: Option<UnboundedSender<Event>>,
    cancel: &CancellationToken,
) -> Result<(Vec<Entry>, Filling), Failure> {
    let as_sync_failure = |failure: Failure| Failure { class: failure.class, ..syncing.failed(&failure.message) };
    let orders = syncing.changes().orders();
    let known = &syncing.baseline().entries;
    let progress = Arc::new(Progress::new(events, orders.iter().map(Change::size).sum(), syncing.estimated_size()));
    let prepared = {
        let progress = progress.clone();
        move |bytes| progress.prepared(bytes)
    };
    let ready = driver
        .prepare(&orders, known, &session.contents, stage.scratch.clone(), cancel, prepared)
        .await
        .map_err(as_sync_failure)?;

    let (reached, to_hash) = mpsc::channel();
    let hashing = syncing.hashes(stage).then(|| {
        let file = stage.file.clone();
        tokio::task::spawn_blocking(move || copy::hash_behind(&file, to_hash))
    });
    let written = move |written| {
        let _ = reached.send(written);
        progress.written(written);
    };
    let flushes = syncing.flushes_on_the_way(session, stage);
    let copying = Copying::begin(stage.file.clone(), stage.block_size, flushes, Box::new(written))
        .map_err(|error| syncing.failed(&format!("the new archive cannot be written: {error}")))?;
    let target = Stage { file: stage.file.clone(), block_size: stage.block_size, underway: Some(copying.underway()) };
    let base = (!syncing.starts_anew()).then(|| (syncing.source(), known.as_slice()));
    let packed = driver.pack(base, ready, target, security, cancel).await.map_err(as_sync_failure)?;
    Ok((packed, Filling { copying, hashing }))
}

/// Waits until the stage is complete and on disk.
async fn finish_filling(filling: Filling, session: &Workspace, syncing: &Syncing, stage: &sync::Stage) -> Result<Hash, Failure> {
    let Filling { copying, hashing } = filling;
    let unwritten = |error: std::io::Error| syncing.failed(&format!("the new archive cannot be written: {error}"));
    blocking(move || copying.finish()).await.map_err(broken)?.map_err(unwritten)?;
    let hash = match hashing {
        Some(hashing) => {
            let hashed = hashing.await.map_err(|error| Failure::internal(format!("The hash broke down: {error}.")))?;
            Some(hashed.map_err(unwritten)?)
        }
        None => None,
    };
    blocking(syncing.seal(session, stage)).await.map_err(broken)??;
    Ok(hash)
}

/// Tells whoever listens how far a sync is: first what is compressed, then what is written of the new archive. Its size is an
/// estimate, so the end is only told at the end.
struct Progress {
    events: Option<UnboundedSender<Event>>,
    to_prepare: u64,
    estimated: u64,
    state: Mutex<(u64, Reported)>,
}

impl Progress {
    fn new(events: Option<UnboundedSender<Event>>, to_prepare: u64, estimated: u64) -> Progress {
        Progress { events, to_prepare, estimated, state: Mutex::default() }
    }

    fn prepared(&self, more: u64) {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        state.0 += more;
        let done = state.0.min(self.to_prepare);
        self.tell(&mut state.1, done, || format!("compressed {} of {} KiB", done >> 10, self.to_prepare >> 10));
    }

    fn written(&self, written: u64) {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let done = self.to_prepare + written.min(self.estimated.saturating_sub(1));
        self.tell(&mut state.1, done, || format!("wrote {} of about {} KiB", written >> 10, self.estimated >> 10));
    }

    fn tell(&self, reported: &mut Reported, done: u64, message: impl Fn() -> String) {
        let Some(events) = &self.events else { return };
        let (done, total) = (done as f64, (self.to_prepare + self.estimated).max(1) as f64);
        if reported.lets_pass(done, Some(total)) {
            let _ = events.send(Event::Progress { done, total: Some(total), message: Some(message()) });
        }
    }
}

/// Ends a session. If the caller said nothing about changes, the settings decide.
pub async fn close_session(
    host: &SessionHost,
    owner: &Owner,
    mut session: Workspace,
    sync: Option<bool>,
    events: Option<UnboundedSender<Event>>,
    cancel: &CancellationToken,
) -> Result<Closed, Failure> {
    let defaults = &host.workspaces.settings().defaults;
    let synced = sync == Some(true);
    if synced {
        sync_session(host, owner, &mut session, false, false, events, cancel).await?;
        refuse_to_lose(&session)?;
    } else {
        host.workspaces.change_lock(&mut session, Mode::Exclusive).await?;
    }
    // What cannot be counted must not keep a session from being closed.
    let changes = if synced { None } else { sync::compare(&session).ok().map(|(_, changes)| changes) };
    let discarded_changes = changes.as_ref().map_or(0, status::Changes::count);
    if let Some(changes) = changes.filter(|_| discarded_changes > 0)
        && sync.is_none()
        && defaults.close_unsaved == CloseUnsaved::Refuse
    {
        return Err(Failure::invalid(format!("The session has changes that are not in the archive: {}.", changes.summary()))
            .suggest("Close with sync=true to keep them, or with sync=false to throw them away."));
    }
    close::close(&host.workspaces, session)?;
    Ok(Closed { synced, discarded_changes })
}

/// A session that was synced in order to be closed must not take along what the archive could not hold.
fn refuse_to_lose(session: &Workspace) -> Result<(), Failure> {
    let (_, changes) = sync::compare(session)?;
    if changes.unpackable.is_empty() {
        return Ok(());
    }
    let some: Vec<&str> = changes.unpackable.iter().take(5).map(String::as_str).collect();
    let message = format!("The archive was synced, but cannot hold {} things: {}.", changes.unpackable.len(), some.join(", "));
    Err(Failure::new(Class::Conflict, "SYNC_FAILED", message)
        .suggest("They are links, devices or have names that are not text. Save or remove them, or close with sync=false."))
}

/// What the archive holds under a path: extracted by the driver beside the workspace, and read from there.
pub async fn original_contents(
    host: &SessionHost,
    original: Original,
    path: &str,
    cancel: &CancellationToken,
) -> Result<Vec<u8>, Failure> {
    let driver = (host.driver)()?;
    let entry = std::slice::from_ref(&original.entry);
    match driver.extract(original.archive.clone(), entry, &original.dir, cancel, |_| {}).await {
        Ok(()) => {}
        // The entry is checked against its size and checksum, so what does not fit is not what was synced.
        Err(failure) if original.is_shared && failure.code == "ZIP_INVALID" => {
            let message = format!("The archive was changed by somebody else since it was synced; '{path}' is not in it as it was.");
            return Err(Failure::new(Class::Conflict, "CONFLICT_DETECTED", message)
                .suggest("Open the archive anew to see both, or sync with force=true to write the workspace over it."));
        }
        Err(failure) => return Err(failure),
    }
    blocking(move || original.read())
        .await
        .map_err(broken)?
        .map_err(|error| Failure::internal(format!("What was extracted cannot be read: {error}.")))
}

pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(wasmtime::Error::new)
}

fn broken(error: wasmtime::Error) -> Failure {
    Failure::internal(format!("The operation broke down: {error}."))
}

pub fn info(metadata: &Metadata, owner: &Owner) -> Info {
    Info {
        id: metadata.id.clone(),
        name: metadata.name.clone(),
        source_path: owner.reach.shown(&metadata.source_path),
        state: metadata.state.as_str().to_owned(),
        created_at: metadata.created_at.clone(),
        last_accessed_at: metadata.last_accessed_at.clone(),
        last_synced_at: metadata.last_synced_at.clone(),
        file_count: metadata.file_count,
        extracted_size_bytes: metadata.extracted_size_bytes,
    }
}

pub fn told(changes: &status::Changes) -> Changes {
    Changes {
        modified: changes.modified.iter().map(|(_, found)| found.path.clone()).collect(),
        added: changes.added.iter().map(status::Found::label).collect(),
        deleted: changes.deleted.iter().map(|(_, label)| label.clone()).collect(),
        unchanged_count: changes.unchanged,
    }
}
