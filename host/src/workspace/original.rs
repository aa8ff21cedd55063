//! What the archive holds of files that were changed since.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use cap_std::fs::Dir;

use super::layout;
use super::listing::{Entry, Kind};
use super::open::open_source_ambient;
use super::store::Workspace;
use crate::failure::Failure;

/// The files of the archive as they were last opened or synced. Good for as long as the session's lock is held.
pub struct Originals {
    files: HashMap<String, Entry>,
    archive: Arc<File>,
    /// Whether the archive is one that others can change.
    is_shared: bool,
    /// Where they are extracted, beside the workspace.
    dir: Dir,
}

/// One of them, about to be extracted.
pub struct Original {
    /// Under a name of its own: where the file was may be a directory now.
    pub entry: Entry,
    pub archive: Arc<File>,
    pub is_shared: bool,
    pub dir: Dir,
}

impl Originals {
    /// Reads what there is. Blocks.
    pub fn of(workspace: &Workspace) -> Result<Originals, Failure> {
        let unreadable = |error: io::Error| Failure::internal(format!("The session cannot be read: {error}."));
        let files = workspace.baseline()?.entries.into_iter().map(|known| known.entry).filter(|entry| entry.kind == Kind::File);
        let files = files.map(|entry| (entry.path.clone(), entry)).collect();
        // The private copy is the archive as it was opened. After a sync only the source has what counts.
        let is_shared = workspace.metadata.last_synced_at.is_some();
        let archive = match is_shared {
            false => workspace.dir.open(layout::ORIGINAL).map_err(unreadable)?.into_std(),
            true => open_source_ambient(&workspace.metadata.source_path)?,
        };
        Ok(Originals { files, archive: Arc::new(archive), is_shared, dir: workspace.tmp().map_err(unreadable)? })
    }

    /// The file of that name. `None` if the archive has none.
    pub fn find(&self, path: &str, max_size: u64) -> Result<Option<Original>, Failure> {
        let Some(entry) = self.files.get(path) else { return Ok(None) };
        if entry.size > max_size {
            let message = format!("'{path}' has {} bytes in the archive; {max_size} are the most.", entry.size);
            return Err(Failure::limit(message));
        }
        let entry = Entry { path: format!("original-{}", uuid::Uuid::new_v4().simple()), ..entry.clone() };
        let dir = self.dir.try_clone().map_err(|error| Failure::internal(format!("The workspace is gone: {error}.")))?;
        Ok(Some(Original { entry, archive: self.archive.clone(), is_shared: self.is_shared, dir }))
    }
}

impl Original {
    /// What was extracted. Blocks.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        self.dir.read(&self.entry.path)
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        // If nothing was extracted there is nothing to remove.
        let _ = self.dir.remove_file(&self.entry.path);
    }
}
