//! The data directory and what is in it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::failure::{Class, Failure};

/// The directory that holds everything zipfs keeps: sessions, plugins, compiled code, configuration.
#[derive(Debug, Clone)]
pub struct DataDir(PathBuf);

impl DataDir {
    /// `$ZIPFS_DATA_DIR`, else `$XDG_DATA_HOME/zipfs`, else `~/.local/share/zipfs`.
    pub fn from_environment() -> Result<DataDir, Failure> {
        let (path, _) = Self::chosen().ok_or_else(|| {
            Failure::invalid("There is no place for data: neither ZIPFS_DATA_DIR nor HOME is set.")
                .suggest("Set ZIPFS_DATA_DIR to a directory of yours.")
        })?;
        let path = std::path::absolute(&path)
            .map_err(|error| Failure::invalid(format!("The data directory {} is not usable: {error}.", path.display())))?;
        Ok(DataDir(path))
    }

    /// The variable that decides where it is.
    pub fn variable() -> Option<&'static str> {
        Self::chosen().map(|(_, variable)| variable)
    }

    fn chosen() -> Option<(PathBuf, &'static str)> {
        [("ZIPFS_DATA_DIR", ""), ("XDG_DATA_HOME", "zipfs"), ("HOME", ".local/share/zipfs")].into_iter().find_map(
            |(name, below)| {
                let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
                let path = PathBuf::from(value);
                Some((if below.is_empty() { path } else { path.join(below) }, name))
            },
        )
    }

    /// Makes the directory if it is not there, and makes sure that nobody else can change what is in it: compiled code in it is
    /// run as it is, and sessions in it are written over archives.
    pub fn secure(&self) -> Result<(), Failure> {
        for directory in [self.0.clone(), self.workspaces(), self.plugins(), self.cache(), self.audit(), self.secrets()] {
            if directory == self.0 {
                std::os::unix::fs::DirBuilderExt::mode(std::fs::DirBuilder::new().recursive(true), 0o700)
                    .create(&directory)
                    .map_err(|error| {
                        Failure::internal(format!("The data directory {} cannot be made: {error}.", directory.display()))
                            .suggest("Set ZIPFS_DATA_DIR to a directory that you can write.")
                    })?;
            }
            check_private(&directory, WRITABLE_BY_OTHERS)?;
        }
        Ok(())
    }

    pub fn at(path: impl Into<PathBuf>) -> DataDir {
        DataDir(path.into())
    }

    pub fn root(&self) -> &Path {
        &self.0
    }

    pub fn config_file(&self) -> PathBuf {
        self.0.join("config.json")
    }

    /// One directory for each session.
    pub fn workspaces(&self) -> PathBuf {
        self.0.join("workspaces")
    }

    /// The components of added plugins.
    pub fn plugins(&self) -> PathBuf {
        self.0.join("plugins")
    }

    /// What was done, by whom. Can be set to be elsewhere.
    pub fn audit(&self) -> PathBuf {
        self.0.join("audit")
    }

    /// What plugins were granted.
    pub fn grants_file(&self) -> PathBuf {
        self.0.join("grants.toml")
    }

    /// Secrets of plugins, each in a file of its own.
    pub fn secrets(&self) -> PathBuf {
        self.0.join("secrets")
    }

    /// Compiled code and descriptions. Everything in it can be made again.
    pub fn cache(&self) -> PathBuf {
        self.0.join("cache")
    }
}

/// The bits with which others could change what is in a directory.
pub const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Complains of a wrong owner, or of bits that should not be set. What is not there cannot be wrong. A link is judged by what it
/// leads to: its owner made it, and nobody else can change it in a directory that passed.
pub fn check_private(path: &Path, forbidden: u32) -> Result<(), Failure> {
    let (shown, own) = (path.display(), rustix::process::geteuid().as_raw());
    let unsafe_dir = |message: String, next: String| Err(Failure::new(Class::Forbidden, "UNSAFE_DATA_DIR", message).suggest(next));
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => return Ok(()),
        Err(error) => return Err(Failure::internal(format!("{shown} cannot be looked at: {error}."))),
    };
    if found.uid() != own {
        let message = format!("{shown} belongs to user {}, and zipfs runs as user {own}.", found.uid());
        return unsafe_dir(
            message,
            format!("Correct the owner (chown -R {own} '{shown}'), or set ZIPFS_DATA_DIR to a directory of your own."),
        );
    }
    if found.mode() & forbidden != 0 {
        let message = format!("{shown} has mode {:04o}: others can change what is in it, or read it.", found.mode() & 0o7777);
        return unsafe_dir(message, format!("Correct the mode: chmod {:04o} '{shown}'", found.mode() & 0o7777 & !forbidden));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_directory_that_others_can_write_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let data = DataDir::at(temporary.path().join("data"));
        data.secure().unwrap();
        std::fs::create_dir(data.cache()).unwrap();
        std::fs::set_permissions(data.cache(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let refused = data.secure().unwrap_err();
        assert_eq!(refused.code, "UNSAFE_DATA_DIR");
        assert!(refused.sentence().contains("chmod 0755"), "{refused}");
        std::fs::set_permissions(data.cache(), std::fs::Permissions::from_mode(0o755)).unwrap();
        data.secure().unwrap();
    }
}
