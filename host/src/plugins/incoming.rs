//! Plugins that are put into `plugins/incoming`: taken up if nobody has to decide anything, else left there with the reason.
//!
//! An entry is a component, or a directory with one and its plugin.toml. It is looked at once it has not changed for a second, so
//! that copying may take its time, and then again only after it changed. What is taken up is removed from there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::admission::{Desk, examine};
use super::difference::between;
use super::source::{Source, Wanted};
use crate::audit::{Act, Acting, Log};
use crate::config::{DataDir, WRITABLE_BY_OTHERS, check_private};
use crate::failure::{Class, Failure};

/// How long an entry must be left alone. Test: `functional::plugins::incoming::what_is_still_being_written_is_left_alone`.
const SETTLE: Duration = Duration::from_secs(1);

/// Entries that are looked at; somebody who puts a million there by mistake keeps no server busy.
const MOST_ENTRIES: usize = 256;

/// The directory, and what is known of what is in it.
#[derive(Debug, Clone)]
pub struct Incoming {
    root: PathBuf,
    notes: PathBuf,
    lock: PathBuf,
}

/// An entry that was not taken up.
#[derive(Debug, Clone, Serialize)]
pub struct Waiting {
    pub entry: String,
    pub path: PathBuf,
    pub why: String,
    /// What to type.
    pub next: String,
}

/// What an entry looked like when it was examined, and what came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Note {
    stamp: String,
    why: String,
    next: String,
}

/// Tells whether an entry changed: the newest time and all sizes in it.
struct Stamp {
    text: String,
    newest: SystemTime,
}

impl Incoming {
    pub fn new(data: &DataDir) -> Incoming {
        let root = data.root();
        Incoming { root: data.plugins().join("incoming"), notes: root.join("incoming.json"), lock: root.join("incoming.lock") }
    }

    /// What is there, without looking into it.
    pub fn waiting(&self) -> Vec<Waiting> {
        let notes = self.read_notes();
        let told = self.entries().into_iter().map(|entry| self.told(entry, &notes));
        match check_private(&self.root, WRITABLE_BY_OTHERS) {
            Ok(()) => told.collect(),
            Err(unsafe_dir) => {
                let next = unsafe_dir.suggestion.clone().unwrap_or_default();
                told.map(|one| Waiting { why: unsafe_dir.message.clone(), next: next.clone(), ..one }).collect()
            }
        }
    }

    /// Takes up what can be. Returns whether anything was: then there is something new to read. Where nothing was ever put, this
    /// costs one look at a directory that is not there.
    pub async fn take_up(&self, desk: &Desk<'_>, audit: &Arc<Log>) -> bool {
        let entries = self.entries();
        let notes = self.read_notes();
        let is_new =
            |(name, stamp): &(String, Stamp)| stamp.is_settled() && notes.get(name).is_none_or(|note| note.stamp != stamp.text);
        // Where others can put something, it is not the owner who put it there.
        if !entries.iter().any(is_new) || check_private(&self.root, WRITABLE_BY_OTHERS).is_err() {
            return false;
        }
        // Another server is at it.
        let Some(_lock) = self.try_lock() else { return false };
        let mut kept: BTreeMap<String, Note> = BTreeMap::new();
        let mut took_any = false;
        for (name, stamp) in entries {
            if let Some(note) = notes.get(&name).filter(|note| note.stamp == stamp.text) {
                kept.insert(name, note.clone());
                continue;
            }
            if !stamp.is_settled() {
                continue;
            }
            let path = self.root.join(&name);
            match take_recorded(&path, &name, desk, audit).await {
                Ok(()) => {
                    tracing::info!(entry = name, "took up a plugin");
                    took_any = true;
                    self.clear(&path);
                }
                Err(failure) => {
                    tracing::warn!(entry = name, "a plugin waits in plugins/incoming: {failure}");
                    let next = failure.suggestion.unwrap_or_default();
                    kept.insert(name, Note { stamp: stamp.text, why: failure.message, next });
                }
            }
        }
        self.write_notes(&kept);
        took_any
    }

    fn told(&self, (entry, stamp): (String, Stamp), notes: &BTreeMap<String, Note>) -> Waiting {
        let path = self.root.join(&entry);
        match notes.get(&entry).filter(|note| note.stamp == stamp.text) {
            Some(note) => Waiting { why: note.why.clone(), next: note.next.clone(), entry, path },
            None => Waiting {
                why: "It was not looked at yet: a running server does that.".to_owned(),
                next: format!("Or add it now: zipfs plugin add {}", path.display()),
                entry,
                path,
            },
        }
    }

    fn entries(&self) -> Vec<(String, Stamp)> {
        let Ok(found) = std::fs::read_dir(&self.root) else { return Vec::new() };
        let mut entries: Vec<_> = found
            .flatten()
            .take(MOST_ENTRIES)
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, Stamp::of(&entry.path()).ok()?)))
            .filter(|(name, _)| !name.starts_with('.'))
            .collect();
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        entries
    }

    /// Out of the way in one step, so that it is not looked at again.
    fn clear(&self, path: &Path) {
        let aside = self.root.join(format!(".taken-{}", uuid::Uuid::new_v4().simple()));
        if std::fs::rename(path, &aside).is_ok() {
            let _ = if aside.is_dir() { std::fs::remove_dir_all(&aside) } else { std::fs::remove_file(&aside) };
        }
    }

    fn try_lock(&self) -> Option<File> {
        let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(&self.lock).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(file)
    }

    /// Notes that cannot be read cost another look.
    fn read_notes(&self) -> BTreeMap<String, Note> {
        std::fs::read(&self.notes).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn write_notes(&self, notes: &BTreeMap<String, Note>) {
        let aside = self.notes.with_extension("new");
        let written = serde_json::to_vec_pretty(notes)
            .map_err(io::Error::other)
            .and_then(|text| std::fs::write(&aside, text))
            .and_then(|()| std::fs::rename(&aside, &self.notes));
        if let Err(error) = written {
            tracing::debug!(%error, "what was found in plugins/incoming is not noted");
        }
    }
}

/// The same, written down like what a person does: nobody was there who typed a command.
async fn take_recorded(path: &Path, entry: &str, desk: &Desk<'_>, audit: &Arc<Log>) -> Result<(), Failure> {
    let entry: String = entry.chars().take(255).collect();
    let mut acting = Act::new("local", "incoming", "plugin-incoming").about("entry", entry).begin_in(audit)?;
    let taken = take(path, desk, &mut acting).await;
    acting.end(taken)
}

/// Adds a plugin, or updates one that is there, if nobody has to agree to anything.
async fn take(path: &Path, desk: &Desk<'_>, acting: &mut Acting) -> Result<(), Failure> {
    // What a link leads to can be exchanged, and may be anywhere.
    if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        return Err(Failure::new(Class::Forbidden, "PLUGIN_REFUSED", "It is a link.").suggest("Put the plugin itself there."));
    }
    let wanted = Wanted { settings: desk.settings, digest: None, allow_http: false, watch: &|_, _| {} };
    let fetched = Source::Path(path.to_owned()).fetch_ambient(&wanted).await?;
    let candidate = examine(fetched, desk.sandbox, desk.cache).await?;
    acting.learn("plugin", candidate.description.name.as_str());
    acting.learn("version", candidate.description.version.as_str());
    acting.learn("digest", candidate.digest.as_str());
    match desk.store.find(&candidate.description.name) {
        Ok(before) => {
            if before.digest == candidate.digest {
                return Ok(());
            }
            let difference = between(&before, &candidate.record(Some(&before)));
            if !difference.reasons.is_empty() {
                let next = format!("See it, and approve it: zipfs plugin update {} --from {}", before.name(), path.display());
                let message = format!("It would change what was agreed to. {}", difference.reasons.join(" "));
                return Err(Failure::new(Class::Forbidden, "UPDATE_HELD", message).suggest(next));
            }
            candidate.replace(desk, &before, Vec::new(), None).map(drop)
        }
        Err(_) => {
            let asks: Vec<_> = candidate.manifest.asks().into_iter().filter(|ask| !ask.optional).collect();
            if !asks.is_empty() {
                let what: Vec<&str> = asks.iter().map(|ask| ask.what.as_str()).collect();
                let flags: String = asks.iter().map(|ask| format!(" --grant {}", ask.flag)).collect();
                let message = format!("It asks for more than the workspace: {}.", what.join("; "));
                let next = format!("If you agree: zipfs plugin add {}{flags}", path.display());
                return Err(Failure::new(Class::Forbidden, "GRANT_NEEDED", message).suggest(next));
            }
            candidate.admit(desk, Vec::new(), None).map(drop)
        }
    }
}

impl Stamp {
    /// Of a file, or of a directory with the files right in it: a plugin has no more. Links are not followed.
    fn of(path: &Path) -> io::Result<Stamp> {
        let found = path.symlink_metadata()?;
        let mut newest = found.modified()?;
        let mut text = format!("{} {} {}", found.ino(), found.mtime(), found.mtime_nsec());
        if found.is_file() {
            text += &format!(" {}", found.len());
        }
        if found.is_dir() {
            let mut files: Vec<_> = std::fs::read_dir(path)?.flatten().take(MOST_ENTRIES).collect();
            files.sort_by_key(std::fs::DirEntry::file_name);
            for file in files {
                let found = file.metadata()?;
                newest = newest.max(found.modified()?);
                text += &format!(" {} {} {} {}", found.ino(), found.mtime(), found.mtime_nsec(), found.len());
            }
        }
        Ok(Stamp { text, newest })
    }

    /// A time in the future is no reason to wait for it.
    fn is_settled(&self) -> bool {
        self.newest.elapsed().is_ok_and(|since| since >= SETTLE) || self.newest > SystemTime::now() + SETTLE
    }
}
