//! Ending a session: out of sight in one step, then removed.

use super::backups;
use super::durable::flush_directory;
use super::layout;
use super::quota::{Ledger, Usage};
use super::store::{Workspace, Workspaces};
use crate::failure::Failure;

/// Removes a session whose exclusive lock is held. Blocks.
pub fn close(workspaces: &Workspaces, workspace: Workspace) -> Result<(), Failure> {
    let Some(directory) = workspace.path.file_name().and_then(|name| name.to_str()) else {
        return Err(Failure::internal("The workspace has no name."));
    };
    let used = Ledger::open(&workspace.dir, layout::USAGE, u64::MAX, u64::MAX).and_then(|ledger| ledger.used()).unwrap_or_default();
    let original = workspace.dir.metadata(layout::ORIGINAL).map_or(0, |original| original.len());
    let hidden = format!(".closing-{}", workspace.metadata.id);
    let root = workspaces.root();
    root.rename(directory, root, &hidden).map_err(|error| Failure::internal(format!("The session cannot be removed: {error}.")))?;
    // A power cut must not bring back a session of which half is removed.
    let _ = flush_directory(root, workspace.durability);
    // The session is gone for everybody. What cannot be removed now is removed by the next open.
    if let Err(error) = root.remove_dir_all(&hidden) {
        tracing::warn!(%error, "a closed workspace could not be removed completely");
    }
    // Of an archive that went with its session nobody needs to know which backups were ours.
    if workspace.holds_its_archive() {
        backups::forget(root, &workspace.metadata.source_path);
    }
    if let Ok(total) = workspaces.total() {
        let _ = total.give_back(Usage { bytes: used.bytes + original, files: used.files + 1 });
    }
    drop(workspace);
    Ok(())
}
