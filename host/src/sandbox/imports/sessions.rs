//! `sessions`: what the bundled tools do with sessions, passed on to [`archives`](crate::sandbox::archives).

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::{CancellationToken, DropGuard};
use wasmtime::Result;

use super::files::not_declared;
use crate::failure::{Class, Failure};
use crate::sandbox::Capability;
use crate::sandbox::archives::{SessionHost, blocking, close_session, info, open_archive, original_contents, sync_session, told};
use crate::sandbox::bindings::plugin::zipfs::plugin::sessions::{
    Changes, Closed, Host, Info, Opened, PruneChoice, Pruned, PrunedSession, Synced,
};
use crate::sandbox::bindings::types::Error;
use crate::sandbox::guest::Guest;
use crate::workspace::open::{Request, Source};
use crate::workspace::original::Originals;
use crate::workspace::prune::{self, Choice};
use crate::workspace::{Workspace, sync};

impl Guest {
    fn session_host(&self) -> Result<Arc<SessionHost>, Error> {
        match &self.call.sessions {
            Some(host) if self.has(Capability::Sessions) => Ok(host.clone()),
            _ => Err(not_declared(Capability::Sessions)),
        }
    }

    /// The same for what changes a session: refused to tools that are shown as read-only.
    fn session_control(&self) -> Result<Arc<SessionHost>, Error> {
        if self.call.read_only {
            let message = "A tool that is declared to change nothing may not open, sync or close a session.";
            return Err(Failure::new(Class::Forbidden, "CAPABILITY_REFUSED", message).into());
        }
        self.session_host()
    }

    /// What the archive holds, read once for a call that asks for many files.
    fn originals(&mut self) -> Result<&Originals, Error> {
        if self.originals.is_none() {
            let originals = Originals::of(self.session()?).map_err(|failure| self.told(failure))?;
            self.originals = Some(originals);
        }
        self.originals.as_ref().ok_or_else(no_session)
    }

    /// A failure in words that may reach the caller, who need not know where things are on the host.
    fn told(&self, failure: Failure) -> Error {
        let data = self.call.sessions.as_ref().and_then(|host| host.workspaces.path().parent());
        match data {
            Some(data) => self.call.owner.reach.hide(&[(data.to_owned(), "(the server's data)")], failure).into(),
            None => failure.into(),
        }
    }

    fn session(&mut self) -> Result<&mut Workspace, Error> {
        self.call.workspace.as_mut().ok_or_else(|| Failure::new(Class::NotFound, "NO_SESSIONS", "This call has no session.").into())
    }
}

impl Host for Guest {
    async fn open(&mut self, path: String, name: Option<String>) -> Result<Result<Opened, Error>> {
        let host = match self.session_control() {
            Ok(host) => host,
            Err(error) => return Ok(Err(error)),
        };
        let events = self.call.events.clone();
        let request = Request { archive: Source::Path(path), name, owner: self.call.owner.clone() };
        let opened = detached(move |cancel| open_archive(host, request, events, cancel)).await;
        Ok(opened.map_err(|failure| self.told(failure)))
    }

    async fn list_sessions(&mut self) -> Result<Result<Vec<Info>, Error>> {
        let listed = match self.session_host() {
            Ok(host) => host.workspaces.list(&self.call.owner.id).map_err(|failure| self.told(failure)),
            Err(error) => Err(error),
        };
        Ok(listed.map(|all| all.iter().map(|metadata| info(metadata, &self.call.owner)).collect()))
    }

    async fn path(&mut self) -> Result<Result<String, Error>> {
        if let Err(error) = self.session_host() {
            return Ok(Err(error));
        }
        if self.call.owner.reach.hides_paths() {
            let hidden =
                Failure::new(Class::Forbidden, "PATH_HIDDEN", "Where the files are on the server is not told to remote callers.");
            return Ok(Err(hidden.suggest("Work on them with the other tools, or download the archive.").into()));
        }
        Ok(self.session().map(|session| session.contents_path().display().to_string()))
    }

    async fn status(&mut self) -> Result<Result<Changes, Error>> {
        if let Err(error) = self.session_host() {
            return Ok(Err(error));
        }
        let session = match self.call.workspace.take() {
            Some(session) => session,
            None => return Ok(Err(no_session())),
        };
        let (session, compared) = blocking(move || {
            let compared = sync::compare_and_settle(&session);
            (session, compared)
        })
        .await?;
        self.call.workspace = Some(session);
        Ok(compared.map(|changes| told(&changes)).map_err(|failure| self.told(failure)))
    }

    async fn sync(&mut self, force: bool, dry_run: bool) -> Result<Result<Synced, Error>> {
        let (host, session) = match (self.session_control(), self.call.workspace.take()) {
            (Ok(host), Some(session)) => (host, session),
            (Err(error), _) => return Ok(Err(error)),
            (_, None) => return Ok(Err(no_session())),
        };
        self.originals = None;
        let (events, owner) = (self.call.events.clone(), self.call.owner.clone());
        let (session, synced) = detached_with(session, move |session, cancel| async move {
            let mut session = session;
            let synced = sync_session(&host, &owner, &mut session, force, dry_run, events, &cancel).await;
            (session, synced)
        })
        .await?;
        // Without a lock the guest must not go on with the files either.
        match session.lock.is_lost() {
            true => self.call.mount = None,
            false => self.call.workspace = Some(session),
        }
        Ok(synced.map_err(|failure| self.told(failure)))
    }

    async fn prune(&mut self, choice: PruneChoice, dry_run: bool) -> Result<Result<Pruned, Error>> {
        // To look is not to remove.
        let host = match if dry_run { self.session_host() } else { self.session_control() } {
            Ok(host) => host,
            Err(error) => return Ok(Err(error)),
        };
        let choice = match choice {
            PruneChoice::All => Choice::All,
            PruneChoice::UnusedFor(seconds) => Choice::UnusedFor(Duration::from_secs(seconds)),
        };
        let patience = Duration::from_millis(host.workspaces.settings().defaults.lock_timeout_ms);
        let owner = self.call.owner.clone();
        let pruned = blocking(move || prune::prune(&host.workspaces, &owner, choice, dry_run, patience)).await?;
        Ok(pruned.map(Pruned::from).map_err(|failure| self.told(failure)))
    }

    async fn original(&mut self, path: String, max_size: u64) -> Result<Result<Option<Vec<u8>>, Error>> {
        let host = match self.session_host() {
            Ok(host) => host,
            Err(error) => return Ok(Err(error)),
        };
        // What crosses into the guest has to fit there.
        let max_size = max_size.min(self.limits.memory_bytes as u64 / 4);
        let found = match self.originals() {
            Ok(originals) => originals.find(&path, max_size),
            Err(error) => return Ok(Err(error)),
        };
        let original = match found {
            Ok(Some(original)) => original,
            Ok(None) => return Ok(Ok(None)),
            Err(failure) => return Ok(Err(self.told(failure))),
        };
        let contents = detached(move |cancel| async move { original_contents(&host, original, &path, &cancel).await }).await;
        Ok(contents.map(Some).map_err(|failure| self.told(failure)))
    }

    async fn close(&mut self, sync: Option<bool>) -> Result<Result<Closed, Error>> {
        let (host, session) = match (self.session_control(), self.call.workspace.take()) {
            (Ok(host), Some(session)) => (host, session),
            (Err(error), _) => return Ok(Err(error)),
            (_, None) => return Ok(Err(no_session())),
        };
        let (events, owner) = (self.call.events.clone(), self.call.owner.clone());
        let (_, closed) = detached_with(session, move |session, cancel| async move {
            ((), close_session(&host, &owner, session, sync, events, &cancel).await)
        })
        .await?;
        Ok(closed.map_err(|failure| self.told(failure)))
    }
}

impl From<prune::Pruned> for Pruned {
    fn from(pruned: prune::Pruned) -> Pruned {
        let sessions = pruned.sessions.into_iter().map(|session| PrunedSession {
            id: session.id,
            name: session.name,
            unused_for: session.unused_for.as_secs(),
            discarded_changes: session.discarded_changes,
            kept_because: session.kept_because,
        });
        Pruned { sessions: sessions.collect(), freed_bytes: pruned.freed_bytes, remains: pruned.remains }
    }
}

/// Runs work that must end properly even if the caller goes away: it is told to stop, and cleans up after itself.
async fn detached<T: Send + 'static, W>(work: impl FnOnce(CancellationToken) -> W) -> Result<T, Failure>
where
    W: Future<Output = Result<T, Failure>> + Send + 'static,
{
    let cancel = CancellationToken::new();
    let task = tokio::spawn(work(cancel.clone()));
    let _stop_when_dropped: DropGuard = cancel.drop_guard();
    task.await.unwrap_or_else(|error| Err(Failure::internal(format!("The operation broke down: {error}."))))
}

/// The same for work on a session, which comes back with the result. It gets a thread of its own, since it waits for the disk.
async fn detached_with<S: Send + 'static, T: Send + 'static, W>(
    session: Workspace,
    work: impl FnOnce(Workspace, CancellationToken) -> W,
) -> Result<(S, T)>
where
    W: Future<Output = (S, T)> + Send + 'static,
{
    let cancel = CancellationToken::new();
    let (work, runtime) = (work(session, cancel.clone()), tokio::runtime::Handle::current());
    let task = tokio::task::spawn_blocking(move || runtime.block_on(work));
    let _stop_when_dropped: DropGuard = cancel.drop_guard();
    task.await.map_err(wasmtime::Error::new)
}

fn no_session() -> Error {
    Failure::new(Class::NotFound, "NO_SESSIONS", "This call has no session any more.").into()
}
