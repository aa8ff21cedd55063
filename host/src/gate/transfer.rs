//! Archives that come over the network, and go back the same way. What a tool call has to pass, these have to pass too.

use std::fs::File;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::authorise;
use super::calls::Refusal;
use super::open::Gate;
use super::origin::Origin;
use super::principal::Principal;
use super::record::Entry;
use super::scopes::{Action, Extent};
use super::turns::Turn;
use crate::failure::{Class, Failure};
use crate::sandbox::archives::open_archive;
use crate::workspace::lock::Mode;
use crate::workspace::open::{Request, Source};

/// The tools whose roles bringing and taking an archive need: they do the same.
const BRINGS: &str = "zipfs_open";
const TAKES: &str = "zipfs_read";

/// An upload that may go on. Counts as a running call.
pub struct Admission {
    gate: Arc<Gate>,
    principal: Principal,
    entry: Entry,
    _turn: Turn,
}

/// An archive on its way out.
pub struct Archive {
    pub file: File,
    pub size: u64,
    pub name: String,
}

impl Gate {
    /// Whether the principal may bring an archive. Asked before any of it is read.
    pub async fn admit_upload(self: &Arc<Gate>, principal: &Principal, origin: &Origin) -> Result<Admission, Failure> {
        let entry = self.record(principal, origin, "transfer", "archives/upload")?;
        let admitted = async {
            self.may_transfer(principal, BRINGS, Action::Write).await?;
            self.turns.take(principal)
        }
        .await;
        match admitted {
            Ok(turn) => Ok(Admission { gate: self.clone(), principal: principal.clone(), entry, _turn: turn }),
            Err(failure) => entry.end_read(Err(failure)),
        }
    }

    /// The archive of a session as it was last synced.
    pub async fn hand_out(&self, principal: &Principal, origin: &Origin, session: &str) -> Result<Archive, Failure> {
        let mut entry = self.record(principal, origin, "transfer", "archives/download")?;
        let taken = async {
            self.may_transfer(principal, TAKES, Action::Read).await?;
            let owner = self.owner(principal);
            let workspace = self.workspaces().enter(&owner.id, Some(session), Mode::Shared).await?;
            entry.of_session(&workspace.metadata.id);
            let source = &workspace.metadata.source_path;
            let name = source.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let file = match workspace.own_archive() {
                Some(opened) => opened,
                // What is elsewhere on the host has to be within reach still.
                None => owner.reach.open_ambient(&owner.reach.shown(source)).map(|(file, _)| file),
            }?;
            let size = file.metadata().map_err(|error| Failure::internal(format!("The archive cannot be read: {error}.")))?.len();
            Ok(Archive { file, size, name })
        }
        .await;
        let taken = entry.told(taken);
        entry.end_read(taken)
    }

    /// By the role of the tool that does the same; and since it is about the whole archive, by the whole of the scopes.
    async fn may_transfer(&self, principal: &Principal, like: &str, action: Action) -> Result<(), Failure> {
        let found = match self.find(like, None, principal).await {
            Ok(found) => found,
            Err(Refusal::Failed { failure, .. }) => return Err(failure),
            Err(Refusal::UnknownTool(_)) => {
                return Err(Failure::new(Class::Forbidden, "PERMISSION_DENIED", "You may not transfer archives here."));
            }
        };
        if let Some(scopes) = &principal.scopes
            && !scopes.allow(action, "", Extent::Tree)
        {
            return Err(authorise::out_of_scope(action, "", Extent::Tree));
        }
        let unscoped = Principal { scopes: None, ..principal.clone() };
        authorise::may_call(&self.config.settings.policy, &unscoped, &found, &Map::new()).map(drop)
    }
}

impl Admission {
    /// Where the bytes may be put until the archive is opened: a file without a name, which nothing can leave behind.
    pub fn place(&self) -> Result<File, Failure> {
        tempfile::tempfile_in(self.gate.config.data.root())
            .map_err(|error| Failure::internal(format!("There is no place for the archive: {error}.")))
            .map_err(|failure| self.gate.discretion(&self.principal).tell(failure))
    }

    /// Opens what was brought as a session of its own.
    pub async fn open(
        mut self,
        archive: File,
        file_name: String,
        name: Option<String>,
        cancel: CancellationToken,
    ) -> Result<Value, Failure> {
        let owner = self.gate.owner(&self.principal);
        let request = Request { archive: Source::Upload(archive, file_name), name, owner };
        let opened = open_archive(self.gate.sessions.clone(), request, None, cancel).await;
        let opened = self.entry.told(opened);
        if let Ok(opened) = &opened {
            self.entry.of_session(&opened.session.id);
        }
        let opened = self.entry.end_read(opened)?;
        Ok(json!({
            "session_id": opened.session.id,
            "name": opened.session.name,
            "file_count": opened.session.file_count,
            "extracted_size_bytes": opened.session.extracted_size_bytes,
            "warnings": opened.warnings,
            "skipped_symlinks": opened.skipped_symlinks,
        }))
    }
}
