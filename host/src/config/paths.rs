//! The data directory and what is in it.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

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

    /// One directory for each added plugin.
    pub fn plugins(&self) -> PathBuf {
        self.0.join("plugins")
    }

    /// Compiled code and descriptions. Everything in it can be made again.
    pub fn cache(&self) -> PathBuf {
        self.0.join("cache")
    }
}
