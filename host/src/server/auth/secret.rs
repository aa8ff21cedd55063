//! The secret of this installation, which signs the tokens of `zipfs token mint`. It is outside of everything that is served.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::config::DataDir;
use crate::failure::{Class, Failure};

/// As long as the hash: more adds nothing.
const BYTES: usize = 32;

/// Where the secret is. Nothing of it is kept in memory for longer than it is used.
#[derive(Debug, Clone)]
pub struct Secret(PathBuf);

impl Secret {
    pub fn of(data: &DataDir) -> Secret {
        Secret(data.root().join("token.key"))
    }

    /// The key, if one was ever made. Without one no token of this kind is accepted.
    pub fn key(&self) -> Result<Option<hmac::Key>, Failure> {
        let failed = |error: std::io::Error| Failure::internal(format!("{} cannot be read: {error}.", self.0.display()));
        let mut file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let found = file.metadata().map_err(failed)?;
        if found.mode() & 0o077 != 0 {
            let message = format!("{} has mode {:04o}: others can read it.", self.0.display(), found.mode() & 0o7777);
            return Err(Failure::new(Class::Forbidden, "UNSAFE_SECRET", message)
                .suggest("Remove it, and mint new tokens: whoever read it can make them."));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        match bytes.len() >= BYTES {
            true => Ok(Some(hmac::Key::new(hmac::HMAC_SHA256, &bytes))),
            false => Err(Failure::internal(format!("{} is too short to be a secret.", self.0.display()))),
        }
    }

    /// The key, made now if there was none.
    pub fn make(&self) -> Result<hmac::Key, Failure> {
        if let Some(key) = self.key()? {
            return Ok(key);
        }
        let failed = |error: std::io::Error| Failure::internal(format!("{} cannot be written: {error}.", self.0.display()));
        let mut bytes = [0; BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| Failure::internal("The system gives no random numbers."))?;
        // Complete before it has its name; whoever comes second takes the first one's.
        let directory = self.0.parent().unwrap_or(std::path::Path::new("/"));
        let staged = directory.join(format!(".token-{}", uuid::Uuid::new_v4()));
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&staged).map_err(failed)?;
        let written = file.write_all(&bytes).and_then(|()| file.sync_all()).and_then(|()| std::fs::hard_link(&staged, &self.0));
        let _ = std::fs::remove_file(&staged);
        match written {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => {}
        }
        self.key()?.ok_or_else(|| Failure::internal("The secret is gone again."))
    }
}
