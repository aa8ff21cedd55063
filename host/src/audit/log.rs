//! The log in hand: makes sure of room before a call runs, and adds a line when it ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rustix::fs::FallocateFlags;
use serde_json::Map;

use super::head::{self, Head, Turn};
use super::line::{Line, MOST_BYTES, digest};
use super::reading::{self, file_name};
use crate::config::{Audit, Flush, OnFailure};
use crate::failure::{Class, Failure};

/// Disk space that is taken ahead of the lines, so that a disk that fills up does not stop the next hundred calls: those
/// with which somebody makes room again.
const AHEAD: u64 = 64 << 10;

/// How often a server flushes. Test: `functional::audit::lines_are_flushed`.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// The audit log of a data directory. Opened when it is first needed.
pub struct Log {
    directory: PathBuf,
    settings: Audit,
    opened: Mutex<Option<Opened>>,
    /// Calls that were let in and have no line yet.
    owed: AtomicU64,
    dirty: AtomicBool,
}

struct Opened {
    head: File,
    segment: u64,
    lines: File,
}

/// The right to a line. Room for it is there.
pub struct Owed(Arc<Log>);

impl Drop for Owed {
    fn drop(&mut self) {
        self.0.owed.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Log {
    pub fn new(directory: PathBuf, settings: Audit) -> Arc<Log> {
        Arc::new(Log { directory, settings, opened: Mutex::new(None), owed: AtomicU64::new(0), dirty: AtomicBool::new(false) })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn settings(&self) -> &Audit {
        &self.settings
    }

    /// Makes sure that a line can be written, before anything happens that should have one.
    pub fn admit(self: &Arc<Log>) -> Result<Owed, Failure> {
        let owed = Owed(self.clone());
        let lines = self.owed.fetch_add(1, Ordering::Relaxed) + 1;
        let mut opened = self.lock();
        let sure = self.open(&mut opened).and_then(|opened| reserve(&opened.lines, lines));
        if sure.is_err() {
            // Perhaps the directory came back, or another disk: begin anew the next time.
            *opened = None;
        }
        self.judge(sure)?;
        Ok(owed)
    }

    /// Adds a line.
    pub fn add(&self, line: &Line) -> Result<(), Failure> {
        let mut opened = self.lock();
        let added = self.open(&mut opened).and_then(|opened| self.append(opened, line));
        if added.is_err() {
            *opened = None;
        }
        self.judge(added)
    }

    /// Flushes now and then, for a server. The task lives as long as the log.
    pub fn flush_in_background(self: &Arc<Log>) {
        if self.settings.flush != Flush::Batch {
            return;
        }
        let log = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(FLUSH_EVERY).await;
                let Some(log) = log.upgrade() else { return };
                // A disk that takes its time must not keep calls waiting.
                let _ = tokio::task::spawn_blocking(move || log.flush()).await;
            }
        });
    }

    fn flush(&self) {
        if !self.dirty.swap(false, Ordering::Relaxed) {
            return;
        }
        let copies = match &*self.lock() {
            Some(opened) => opened.lines.try_clone().and_then(|lines| Ok((lines, opened.head.try_clone()?))),
            None => return,
        };
        let flushed = copies.and_then(|(lines, head)| {
            lines.sync_data()?;
            head.sync_data()
        });
        if let Err(error) = flushed {
            tracing::error!("the audit log cannot be flushed: {error}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Opened>> {
        self.opened.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn judge(&self, result: io::Result<()>) -> Result<(), Failure> {
        let Err(error) = result else { return Ok(()) };
        let what = format!("The audit log in {} cannot be written: {error}.", self.directory.display());
        tracing::error!("{what}");
        match self.settings.on_failure {
            OnFailure::Continue => Ok(()),
            OnFailure::Refuse => Err(Failure::new(Class::Internal, "AUDIT_UNAVAILABLE", what)
                .suggest("Calls are refused until it can be (audit.on_failure). Make room, or correct the directory.")),
        }
    }

    fn open<'a>(&self, opened: &'a mut Option<Opened>) -> io::Result<&'a mut Opened> {
        // A log that somebody removed is not written to any more: its lines would be seen by nobody.
        if let Some(known) = opened
            && known.head.metadata()?.nlink() == 0
        {
            *opened = None;
        }
        match opened {
            Some(opened) => Ok(opened),
            none => {
                std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
                let options = &mut OpenOptions::new();
                options.read(true).write(true).create(true).mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
                let head = options.open(self.directory.join(head::NAME))?;
                let turn = Turn::take(&head)?;
                let end = self.find_end(&head)?;
                let lines = self.open_lines(end.segment)?;
                drop(turn);
                Ok(none.insert(Opened { head, segment: end.segment, lines }))
            }
        }
    }

    fn open_lines(&self, segment: u64) -> io::Result<File> {
        let options = &mut OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
        options.open(self.directory.join(file_name(segment)))
    }

    /// The end of the log. If the head is gone or damaged, the lines themselves say it.
    fn find_end(&self, head: &File) -> io::Result<Head> {
        match Head::read(head) {
            Ok(Some(head)) => Ok(head),
            Ok(None) => {
                let end = reading::end_of_lines(&self.directory)?;
                end.write(head)?;
                Ok(end)
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let end = reading::end_of_lines(&self.directory)?;
                end.write(head)?;
                tracing::error!("{error}; going on after line {}", end.number);
                Ok(end)
            }
            Err(error) => Err(error),
        }
    }

    fn append(&self, opened: &mut Opened, line: &Line) -> io::Result<()> {
        let Opened { head, segment, lines } = opened;
        let turn = Turn::take(head)?;
        let mut end = self.find_end(head)?;
        if end.segment != *segment {
            *lines = self.open_lines(end.segment)?;
            *segment = end.segment;
        }
        let mut found = lines.metadata()?;
        if found.nlink() == 0 {
            *lines = self.open_lines(end.segment)?;
            found = lines.metadata()?;
        }
        if found.size() != end.length
            && let Some(note) = mend(lines, &mut end, found.size())?
        {
            write(lines, head, &mut end, &note)?;
        }
        if end.length > 0 && end.length + MOST_BYTES as u64 > self.settings.max_file_bytes {
            self.rotate(lines, &mut end, head)?;
            *segment = end.segment;
        }
        write(lines, head, &mut end, line)?;
        match self.settings.flush {
            Flush::Each => {
                lines.sync_data()?;
                head.sync_data()?;
            }
            Flush::Batch => self.dirty.store(true, Ordering::Relaxed),
            Flush::Never => {}
        }
        drop(turn);
        Ok(())
    }

    /// Begins another file, and lets go of the oldest. A disk too full for it is no reason to lose a line: the old file goes on.
    fn rotate(&self, lines: &mut File, end: &mut Head, head: &File) -> io::Result<()> {
        let segment = end.number + 1;
        let next = self.open_lines(segment)?;
        if reserve(&next, 1).is_err() {
            let _ = std::fs::remove_file(self.directory.join(file_name(segment)));
            return Ok(());
        }
        // Lines before it have to be on disk before the head points past them.
        if self.settings.flush != Flush::Never {
            lines.sync_data()?;
        }
        *lines = next;
        (end.segment, end.length) = (segment, 0);
        end.write(head)?;
        let files = reading::files(&self.directory)?;
        let surplus = files.len().saturating_sub(self.settings.keep_files.max(1) as usize);
        for pair in files.windows(2).take(surplus) {
            // The line comes first: if removing fails, the log says a little too much of itself, not too little.
            let last = pair[1].0 - 1;
            let mut note = said("retired");
            note.details = Map::from_iter([("through".to_owned(), last.into()), ("file".to_owned(), file_name(pair[0].0).into())]);
            write(lines, head, end, &note)?;
            std::fs::remove_file(&pair[0].1)?;
        }
        Ok(())
    }
}

/// A line that the log says of itself.
fn said(what: &str) -> Line {
    Line {
        timestamp: jiff::Timestamp::now().to_string(),
        kind: "log",
        principal: "zipfs".into(),
        transport: "none",
        tool_name: what.into(),
        outcome: "ok".into(),
        ..Line::default()
    }
}

/// Adds a line at the end, whole or not at all.
fn write(lines: &mut File, head: &File, end: &mut Head, line: &Line) -> io::Result<()> {
    let written = line.seal(end.number + 1, &end.hash);
    if let Err(error) = lines.write_all(&written.bytes) {
        // Half a line would break the chain for everybody.
        let _ = lines.set_len(end.length);
        return Err(error);
    }
    end.number += 1;
    end.length += written.bytes.len() as u64;
    end.hash = written.hash;
    end.write(head)
}

/// The file is not as long as the head says. A crash between the two leaves a line that the head does not know, which is taken in,
/// or half a line after a power cut, which is taken away and said. Lines that are missing are said, and stay missing.
fn mend(lines: &mut File, end: &mut Head, size: u64) -> io::Result<Option<Line>> {
    if size < end.length {
        let mut note = said("lines-missing");
        note.details = Map::from_iter([("bytes".to_owned(), (end.length - size).into())]);
        end.length = size;
        // What is left of a line that was cut in two must not take the next one with it.
        let mut last = [0];
        if size > 0 && lines.read_at(&mut last, size - 1)? == 1 && last != *b"\n" {
            lines.write_all(b"\n")?;
            end.length += 1;
        }
        return Ok(Some(note));
    }
    let mut tail = Vec::new();
    lines.seek(SeekFrom::Start(end.length))?;
    lines.take(size - end.length).read_to_end(&mut tail)?;
    let mut rest = tail.as_slice();
    while let Some(at) = rest.iter().position(|&byte| byte == b'\n') {
        let (line, after) = rest.split_at(at + 1);
        if reading::place_of(line) != Some((end.number + 1, end.hash.clone())) {
            break;
        }
        end.number += 1;
        end.length += line.len() as u64;
        end.hash = digest(line);
        rest = after;
    }
    if rest.is_empty() {
        return Ok(None);
    }
    let mut note = said("bytes-removed");
    note.details = Map::from_iter([("bytes".to_owned(), rest.len().into()), ("hash".to_owned(), digest(rest).into())]);
    lines.set_len(end.length)?;
    Ok(Some(note))
}

/// Takes disk space for that many lines, and for some more if there is any.
fn reserve(lines: &File, owed: u64) -> io::Result<()> {
    let found = lines.metadata()?;
    let needed = owed.saturating_mul(MOST_BYTES as u64);
    let room = (found.blocks() * 512).saturating_sub(found.size());
    if room >= needed + AHEAD / 2 {
        return Ok(());
    }
    let take = |bytes| rustix::fs::fallocate(lines, FallocateFlags::KEEP_SIZE, found.size(), bytes);
    match take(needed + AHEAD) {
        Ok(()) => Ok(()),
        Err(_) if room >= needed => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS | rustix::io::Errno::INVAL) => {
            let disk = rustix::fs::fstatvfs(lines)?;
            match disk.f_bavail.saturating_mul(disk.f_frsize) >= needed {
                true => Ok(()),
                false => Err(rustix::io::Errno::NOSPC.into()),
            }
        }
        Err(_) => Ok(take(needed)?),
    }
}
