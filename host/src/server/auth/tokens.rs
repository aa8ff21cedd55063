//! Static tokens: made at the command line, shown once, kept as hashes in `tokens.toml`.

use std::fs::{File, Metadata};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::{DataDir, PrincipalLimits};
use crate::failure::{Class, Failure};
use crate::gate::scopes::Scopes;
use crate::gate::{Principal, PrincipalKind};
use crate::plugins::Role;
use crate::workspace::reach::{OpenRoot, Reach};

/// By which they are recognised, by people and by what looks for leaked secrets.
const PREFIX: &str = "zipfs_";

/// The tokens of a data directory. Read again when the file is another one, so that a removed token is refused at once.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    read: Mutex<Option<(Look, Arc<Vec<StoredToken>>)>>,
}

/// What is kept of a token. The token itself is not.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredToken {
    pub name: String,
    /// Of the token. It has 256 random bits, so nothing that slows guessing down is needed.
    pub sha256: String,
    pub role: Role,
    /// Path scopes; absent for all paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    pub created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<PrincipalLimits>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_roots: Vec<OpenRoot>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    #[serde(default)]
    token: Vec<StoredToken>,
}

/// What a file looked like when it was read. It is only ever replaced, so another file is another inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look(u64, u64, i64, i64, u64);

impl Look {
    fn of(file: &Metadata) -> Look {
        Look(file.dev(), file.ino(), file.ctime(), file.ctime_nsec(), file.len())
    }
}

impl Tokens {
    pub fn of(data: &DataDir) -> Tokens {
        Tokens { path: data.root().join("tokens.toml"), read: Mutex::new(None) }
    }

    /// The principal of a token, if it is known and has not expired.
    pub fn principal(&self, shown: &str, limits: PrincipalLimits) -> Result<Option<Principal>, Failure> {
        if !shown.starts_with(PREFIX) {
            return Ok(None);
        }
        let hash = hash_of(shown);
        let all = self.all()?;
        // All are compared, each to the end: how long it takes says nothing about what is kept.
        let found = all.iter().fold(None, |found, token| if is_same(&token.sha256, &hash) { Some(token) } else { found });
        Ok(found.filter(|token| !token.has_expired()).map(|token| token.principal(limits)))
    }

    /// All tokens, as they are now.
    pub fn all(&self) -> Result<Arc<Vec<StoredToken>>, Failure> {
        let unreadable = |error: &dyn std::fmt::Display| {
            Failure::internal(format!("{} cannot be read: {error}.", self.path.display()))
                .suggest("Correct the file, or remove it.")
        };
        let look = match std::fs::metadata(&self.path) {
            Ok(found) => Look::of(&found),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(unreadable(&error)),
        };
        let mut read = self.read.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((before, tokens)) = &*read
            && *before == look
        {
            return Ok(tokens.clone());
        }
        let mut file = File::open(&self.path).map_err(|error| unreadable(&error))?;
        let found = file.metadata().map_err(|error| unreadable(&error))?;
        if found.mode() & 0o077 != 0 {
            let message = format!("{} has mode {:04o}: others can read or change it.", self.path.display(), found.mode() & 0o7777);
            return Err(Failure::new(Class::Forbidden, "UNSAFE_TOKENS", message)
                .suggest(format!("Correct the mode: chmod 0600 '{}'", self.path.display())));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| unreadable(&error))?;
        let contents: Contents = toml::from_str(&text).map_err(|error| unreadable(&error.message().to_owned()))?;
        let tokens = Arc::new(contents.token);
        *read = Some((Look::of(&found), tokens.clone()));
        Ok(tokens)
    }

    /// Makes a token and returns it. It cannot be had again.
    pub fn add(&self, mut token: StoredToken) -> Result<String, Failure> {
        let mut random = [0; 32];
        SystemRandom::new().fill(&mut random).map_err(|_| Failure::internal("The system gives no random numbers."))?;
        let made = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random));
        token.sha256 = hash_of(&made);
        self.change(|tokens| {
            if tokens.iter().any(|known| known.name == token.name) {
                return Err(Failure::new(Class::Conflict, "TOKEN_EXISTS", format!("There is a token {:?} already.", token.name))
                    .suggest(format!("Choose another name, or remove it first: zipfs token remove {}", token.name)));
            }
            tokens.push(token);
            Ok(())
        })?;
        Ok(made)
    }

    pub fn remove(&self, name: &str) -> Result<(), Failure> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|token| token.name != name);
            match tokens.len() < before {
                true => Ok(()),
                false => Err(Failure::new(Class::NotFound, "TOKEN_NOT_FOUND", format!("There is no token {name:?}."))
                    .suggest("See them all: zipfs token list")),
            }
        })
    }

    /// Replaces the file by a changed one, alone.
    fn change(&self, change: impl FnOnce(&mut Vec<StoredToken>) -> Result<(), Failure>) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::internal(format!("{} cannot be written: {error}.", self.path.display()));
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        let lock = private(&directory.join("tokens.lock")).map_err(failed)?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
        let mut tokens = self.all()?.as_ref().clone();
        change(&mut tokens)?;
        let text = toml::to_string(&Contents { token: tokens })
            .map_err(|error| Failure::internal(format!("The tokens cannot be written: {error}.")))?;
        let mut file = tempfile::Builder::new().prefix(".tokens-").tempfile_in(directory).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&self.path).map_err(|error| failed(error.error))?;
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)
    }
}

impl StoredToken {
    fn has_expired(&self) -> bool {
        let Some(text) = &self.expires_at else { return false };
        // What cannot be read has expired.
        text.parse::<jiff::Timestamp>().map_or(true, |end| end <= jiff::Timestamp::now())
    }

    fn principal(&self, limits: PrincipalLimits) -> Principal {
        Principal {
            id: format!("token:{}", self.name).into(),
            name: self.name.as_str().into(),
            role: self.role,
            scopes: self.scope.as_deref().map(|scope| Arc::new(Scopes::parse(scope))),
            kind: PrincipalKind::Token,
            open_roots: Reach::Named(self.open_roots.as_slice().into()),
            limits: self.limits.unwrap_or(limits),
        }
    }
}

/// A file that only its owner can read.
fn private(path: &Path) -> std::io::Result<File> {
    File::options().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)
}

fn hash_of(token: &str) -> String {
    Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether two hashes are the same, in a time that does not depend on where they differ.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(name: &str) -> StoredToken {
        StoredToken {
            name: name.into(),
            sha256: String::new(),
            role: Role::Operator,
            scope: None,
            created_at: "2026-01-01T00:00:00Z".into(),
            expires_at: None,
            limits: None,
            open_roots: Vec::new(),
        }
    }

    #[test]
    fn tokens_are_known_until_they_are_removed_or_expire() {
        let place = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(&DataDir::at(place.path()));
        let who = |shown: &str| tokens.principal(shown, PrincipalLimits::NONE).unwrap().map(|found| found.id.to_string());
        let ci = tokens.add(token("ci")).unwrap();
        assert_eq!(who(&ci).as_deref(), Some("token:ci"));
        assert_eq!(tokens.add(token("ci")).unwrap_err().code, "TOKEN_EXISTS");
        for wrong in [&ci[..ci.len() - 1], &format!("{ci}x"), &ci.to_uppercase(), "zipfs_", "", &tokens.all().unwrap()[0].sha256] {
            assert_eq!(who(wrong), None, "{wrong}");
        }
        let text = std::fs::read_to_string(place.path().join("tokens.toml")).unwrap();
        assert!(!text.contains(&ci[PREFIX.len()..]), "the token is not kept");
        let old = tokens.add(StoredToken { expires_at: Some("2020-01-01T00:00:00Z".into()), ..token("old") }).unwrap();
        assert_eq!(who(&old), None);
        tokens.remove("ci").unwrap();
        assert_eq!(who(&ci), None);
        assert_eq!(tokens.remove("ci").unwrap_err().code, "TOKEN_NOT_FOUND");
    }

    #[test]
    fn a_file_that_others_can_read_is_not_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(&DataDir::at(place.path()));
        tokens.add(token("ci")).unwrap();
        std::fs::set_permissions(place.path().join("tokens.toml"), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(tokens.all().unwrap_err().code, "UNSAFE_TOKENS");
    }
}
