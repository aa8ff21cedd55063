//! What the archive holds of a file that was changed since.

use std::fs::File;
use std::io;
use std::sync::Arc;

use cap_std::fs::Dir;

use super::baseline::Baseline;
use super::layout;
use super::listing::{Entry, Kind};
use super::open::open_source_ambient;
use super::store::Workspace;
use crate::failure::Failure;

/// A file of the archive, about to be extracted beside the workspace.
pub struct Original {
    /// The entry, under a name of its own: the file it describes may be a directory now.
    pub entry: Entry,
    pub archive: Arc<File>,
    /// Whether the archive is one that others can change.
    pub is_shared: bool,
    pub dir: Dir,
}

impl Original {
    /// Finds the file of that name. `None` if the archive has none. Blocks.
    pub fn find(workspace: &Workspace, path: &str, max_size: u64) -> Result<Option<Original>, Failure> {
        let unreadable = |error: io::Error| Failure::internal(format!("What the archive held is not known any more: {error}."));
        let baseline = Baseline::load(&workspace.dir).map_err(unreadable)?;
        let found = baseline.entries.into_iter().find(|known| known.entry.path == path && known.entry.kind == Kind::File);
        let Some(known) = found else { return Ok(None) };
        if known.entry.size > max_size {
            let message = format!("'{path}' has {} bytes in the archive; {max_size} are the most.", known.entry.size);
            return Err(Failure::limit(message));
        }
        // The private copy is the archive as it was opened. After a sync only the source has what counts.
        let is_shared = workspace.metadata.last_synced_at.is_some();
        let archive = match is_shared {
            false => workspace.dir.open(layout::ORIGINAL).map_err(unreadable)?.into_std(),
            true => open_source_ambient(&workspace.metadata.source_path)?,
        };
        let entry = Entry { path: format!("original-{}", uuid::Uuid::new_v4().simple()), ..known.entry };
        let dir = workspace.tmp().map_err(unreadable)?;
        Ok(Some(Original { entry, archive: Arc::new(archive), is_shared, dir }))
    }

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
