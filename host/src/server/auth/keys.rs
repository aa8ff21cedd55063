//! The keys of one issuer in hand: when they are asked for, how often at most, and what is done while nobody answers.
//!
//! A token names its key before anything of it is proved. So a made-up name must not become a request to the issuer each time, a
//! slow answer must not hold up tokens whose key is known, and whoever hangs up must not end the asking that others wait for.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::fetch;
use super::jwks::{Jwks, MOST_BYTES};
use super::refused::Refused;
use crate::config::{Auth, Issuer};

/// How long keys are used on when the issuer cannot be asked. An outage of a night is survived; a key that was withdrawn is not
/// good for ever because somebody keeps us from hearing of it.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// The keys of one issuer.
#[derive(Debug)]
pub struct Keys(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    place: Place,
    fresh: Duration,
    pause: Duration,
    known: Mutex<Known>,
}

#[derive(Debug)]
enum Place {
    Url { url: String, ca_file: Option<PathBuf> },
    File(PathBuf),
}

#[derive(Debug, Default)]
struct Known {
    keys: Option<(Arc<Jwks>, Instant)>,
    /// When the issuer was asked last, and whether that failed.
    asked: Option<Instant>,
    failed: bool,
    /// The end of an asking that goes on.
    asking: Option<watch::Receiver<()>>,
}

impl Keys {
    pub fn of(issuer: &Issuer, settings: &Auth) -> Keys {
        let place = match (&issuer.jwks_url, &issuer.jwks_file) {
            (Some(url), _) => Place::Url { url: url.clone(), ca_file: issuer.ca_file.clone() },
            (None, file) => Place::File(file.clone().unwrap_or_default()),
        };
        let (fresh, pause) = (Duration::from_secs(settings.keys_fresh_s), Duration::from_secs(settings.keys_pause_s));
        Keys(Arc::new(Shared { place, fresh, pause, known: Mutex::default() }))
    }

    /// Checks a signature with the key that the token names. The key must be of the algorithm's kind.
    pub async fn verify(&self, algorithm: &str, kid: Option<&str>, signed: &[u8], signature: &[u8]) -> Result<(), Refused> {
        self.renew().await;
        // If it is missing, the issuer may have a new one.
        for again in [false, true] {
            if let Some(keys) = self.usable()
                && let Some(key) = keys.find(algorithm, kid)?
            {
                return Ok(key.verify(algorithm, signed, signature)?);
            }
            if !again && let Some(asking) = self.ask() {
                ended(asking).await;
            }
        }
        match self.known().failed {
            true => Err(Refused::Later { why: "The keys of the token's issuer cannot be had now", wait: self.0.pause }),
            false => Err(Refused::Token("the token is signed by an unknown key")),
        }
    }

    /// Asks again if what is known is old. It is waited for only if there is reason to think that an answer will come.
    async fn renew(&self) {
        if let Place::File(path) = &self.0.place {
            let read = tokio::task::block_in_place(|| std::fs::read(path)).map_err(|error| error.to_string());
            return self.0.note(read);
        }
        let (is_fresh, failed) = {
            let known = self.known();
            (known.keys.as_ref().is_some_and(|(_, read)| read.elapsed() <= self.0.fresh), known.failed)
        };
        let asking = if is_fresh { None } else { self.ask() };
        if let Some(asking) = asking
            && !(failed && self.usable().is_some())
        {
            ended(asking).await;
        }
    }

    fn usable(&self) -> Option<Arc<Jwks>> {
        self.known().keys.as_ref().filter(|(_, read)| read.elapsed() <= KEPT).map(|(keys, _)| keys.clone())
    }

    /// Asks the issuer, or joins those who wait for its answer. Nothing if it was asked just now, or cannot be.
    fn ask(&self) -> Option<watch::Receiver<()>> {
        let Place::Url { url, ca_file } = &self.0.place else { return None };
        let mut known = self.known();
        if let Some(asking) = known.asking.as_ref().filter(|asking| asking.has_changed().is_ok()) {
            return Some(asking.clone());
        }
        if known.asked.is_some_and(|asked| asked.elapsed() < self.0.pause) {
            return None;
        }
        let (done, asking) = watch::channel(());
        (known.asked, known.asking) = (Some(Instant::now()), Some(asking.clone()));
        let (shared, url, ca_file) = (self.0.clone(), url.clone(), ca_file.clone());
        // By itself: the request that began it may be gone before the answer comes.
        tokio::spawn(async move {
            let fetched = fetch::get(&url, ca_file.as_deref(), MOST_BYTES).await;
            shared.note(fetched);
            drop(done);
        });
        Some(asking)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known()
    }
}

impl Shared {
    /// What was read takes the place of what is known; what could not be read does not.
    fn note(&self, read: Result<Vec<u8>, String>) {
        let parsed = read.and_then(|bytes| Jwks::parse(&bytes));
        let mut known = self.known();
        known.failed = parsed.is_err();
        match parsed {
            Ok(keys) => known.keys = Some((Arc::new(keys), Instant::now())),
            Err(why) => tracing::error!(place = ?self.place, why, "the keys of an issuer cannot be read"),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Waits until an asking is over, however it ended: its other end is dropped then.
async fn ended(mut asking: watch::Receiver<()>) {
    while asking.changed().await.is_ok() {}
}
