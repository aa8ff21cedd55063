//! Where things are and how large they may get: the data directory, `config.json`, and the environment over it.
//!
//! Every number that bounds something is in [`settings`], with its reason. Nothing below reads the environment.

mod paths;
mod settings;

pub use paths::DataDir;
pub use settings::{CallLimits, CloseUnsaved, Defaults, Durability, Security, Settings, ToolNames};

use crate::failure::Failure;

/// All that a run of the program is configured with.
#[derive(Debug, Clone)]
pub struct Config {
    pub data: DataDir,
    pub settings: Settings,
}

impl Config {
    /// Reads the environment and `config.json`. A file that is not there means defaults; a file or a variable that cannot be
    /// read as it should is an error, never ignored: a limit with a typing error must not become no limit.
    pub fn load() -> Result<Config, Failure> {
        let data = DataDir::from_environment()?;
        let mut settings = match std::fs::read(data.config_file()) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                Failure::invalid(format!("{} is not a valid configuration: {error}.", data.config_file().display()))
                    .suggest("Correct the file, or remove it to use the defaults.")
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Settings::default(),
            Err(error) => {
                return Err(Failure::internal(format!("{} cannot be read: {error}.", data.config_file().display())));
            }
        };
        settings.apply_environment(|name| std::env::var_os(name))?;
        settings.check()?;
        Ok(Config { data, settings })
    }
}
