//! What a call is given: the session's directory, and the capabilities that manifest, grants and tool all agree on.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::agree::Agreed;
use super::calls::Audience;
use super::open::Gate;
use super::watch::Held;
use crate::failure::Failure;
use crate::plugins::grants::{Given, Grant};
use crate::plugins::manifest::LimitsAsk;
use crate::plugins::{Found, Plugin, WorkspaceAccess};
use crate::sandbox::Capability;
use crate::sandbox::exports::Visit;
use crate::sandbox::guest::{CallContext, Changes, Mount};
use crate::sandbox::limits::Limits;
use crate::sandbox::parallel::Crew;
use crate::sandbox::run::cancelled;
use crate::sandbox::uses::Uses;
use crate::workspace::lock::Mode;
use crate::workspace::owner::Share;
use crate::workspace::quota::Allowance;
use crate::workspace::{Owner, Workspace};

impl Gate {
    /// Prepares a call of a tool: resolves and locks the session, and opens what the tool declares.
    pub(super) async fn grant<'a>(
        &'a self,
        found: &Found,
        agreed: Agreed,
        owner: Owner,
        session: Option<&str>,
        audience: Audience,
        cancel: &'a CancellationToken,
    ) -> Result<Visit<'a>, Failure> {
        let access = &found.tool().access;
        let uses = Arc::new(Uses::default());
        let equipment = self.equip(found, &agreed, access.is_read_only(), &uses)?;
        let Agreed { capabilities, grants } = agreed;
        let level = access.workspace.min(found.plugin.manifest.workspace.access);
        let root = self.root(&found.plugin, &grants)?;
        let workspace = match level {
            WorkspaceAccess::None => None,
            _ if root.is_some() => None,
            // Waiting for a session that another one uses can take seconds; the caller may not want to.
            WorkspaceAccess::Read | WorkspaceAccess::Write => tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled()),
                entered = self.workspaces().enter(&owner.id, session, Mode::Shared) => match entered {
                    Err(failure) if access.session_optional && failure.code == "NO_SESSIONS" => None,
                    entered => Some(entered?),
                },
            },
        };
        let mount = match (&workspace, &root) {
            (Some(workspace), _) => Some(self.mount(workspace, &owner, level)?),
            (None, Some(root)) if level != WorkspaceAccess::None => Some(self.mount_root(root, level)?),
            (None, _) => None,
        };
        let mut limits = Limits::of_call(&self.config.settings.calls, capabilities.contains(&Capability::Sessions));
        raise(&mut limits, found.plugin.manifest.limits.as_ref(), &grants);
        if let Some((own, setting)) = self.config.settings.own_deadline(&found.tool().name) {
            (limits.deadline, limits.deadline_setting) = (limits.deadline.min(Duration::from_millis(own)), setting);
        }
        let compiled = found.plugin.compiled(&self.sandbox, &self.cache)?;
        let label: Arc<str> = found.plugin.description.name.as_str().into();
        let crew = compiled.parts.is_some().then(|| Crew {
            sandbox: self.sandbox.clone(),
            compiled: compiled.clone(),
            tool: found.tool().name.clone(),
            label: label.clone(),
        });
        let context = CallContext {
            mount,
            equipment,
            uses,
            capabilities,
            read_only: access.is_read_only(),
            owner,
            workspace,
            sessions: Some(self.sessions.clone()),
            events: audience.events,
            crew,
            client: audience.client,
            changes: Some(Changes { plugin: label.clone(), listeners: self.changes.clone() }),
            label,
            timings: Default::default(),
            witness: self.witness.get().cloned(),
        };
        Ok(Visit { sandbox: &self.sandbox, compiled, context, limits, cancel })
    }

    /// Watches the grants of a call while it runs, if it has any.
    pub(super) fn hold(&self, found: &Found, agreed: &Agreed, cancel: &CancellationToken) -> Option<Arc<Held>> {
        (!agreed.grants.is_empty()).then(|| self.grants.hold(&found.plugin, agreed.grants.clone(), cancel))
    }

    /// Prepares a read of a resource or prompt: the plugin's own directory read-only, if it is bound to one; else the only session, if
    /// it works on workspaces and there is one.
    pub(super) async fn grant_reading(&self, plugin: &Plugin, owner: Owner) -> Result<CallContext, Failure> {
        let root = match plugin.manifest.root {
            None => None,
            Some(_) => self.root(plugin, &self.grants.of(plugin)?)?,
        };
        let workspace = match plugin.manifest.workspace.access {
            WorkspaceAccess::None => None,
            _ if root.is_some() => None,
            _ => self.workspaces().enter(&owner.id, None, Mode::Shared).await.ok(),
        };
        let mount = match (&workspace, &root) {
            (Some(workspace), _) => Some(self.mount(workspace, &owner, WorkspaceAccess::Read)?),
            (None, Some(root)) => Some(self.mount_root(root, WorkspaceAccess::Read)?),
            (None, None) => None,
        };
        let label = plugin.description.name.as_str().into();
        Ok(CallContext { mount, owner, workspace, label, read_only: true, ..CallContext::default() })
    }

    fn mount(&self, workspace: &Workspace, owner: &Owner, level: WorkspaceAccess) -> Result<Mount, Failure> {
        let open = || -> std::io::Result<Mount> {
            let dir = workspace.contents.try_clone()?;
            if level != WorkspaceAccess::Write {
                return Ok(Mount::read_only(dir));
            }
            let tmp = workspace.tmp()?;
            let settings = &self.config.settings;
            let (session, total) = (workspace.ledger(settings)?, self.workspaces().total()?);
            let (contents, root) = (workspace.contents.try_clone()?, self.workspaces().root().try_clone()?);
            let share = Share::of(self.workspaces(), owner);
            let allowance = Allowance::from_accounts(session, total, contents, root, share);
            Ok(Mount::writable(dir, Some(tmp), allowance))
        };
        open().map_err(|error| Failure::internal(format!("The workspace cannot be opened: {error}.")))
    }
}

/// Raises what both the manifest and a grant raise, and lowers nothing.
fn raise(limits: &mut Limits, asked: Option<&LimitsAsk>, grants: &[Grant]) {
    let granted = grants.iter().find_map(|grant| match &grant.given {
        Given::Limits { memory_bytes, cpu_ms, deadline_ms } => Some((memory_bytes, cpu_ms, deadline_ms)),
        _ => None,
    });
    let (Some(asked), Some((memory_bytes, cpu_ms, deadline_ms))) = (asked, granted) else { return };
    let both = |asked: Option<u64>, granted: &Option<u64>| asked.zip(*granted).map(|(asked, granted)| asked.min(granted));
    if let Some(bytes) = both(asked.memory_bytes, memory_bytes) {
        limits.memory_bytes = limits.memory_bytes.max(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    if let Some(ms) = both(asked.cpu_ms, cpu_ms) {
        limits.cpu = limits.cpu.max(Duration::from_millis(ms));
    }
    if let Some(ms) = both(asked.deadline_ms, deadline_ms) {
        limits.deadline = limits.deadline.max(Duration::from_millis(ms));
    }
}
