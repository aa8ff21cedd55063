//! Where things are and how large they may get: the data directory, `config.json`, and the environment over it.
//!
//! Every number that bounds something is in [`settings`], with its reason. Nothing below reads the environment.

mod auditing;
mod auth;
mod egress;
mod http;
mod paths;
mod policy;
mod settings;
mod sources;
mod tasking;
mod telemetry;

pub use auditing::{Audit, Flush, OnFailure, Paths};
pub use auth::{Auth, Issuer};
pub use egress::EgressLimits;
pub use http::{Http, PrincipalLimits};
pub use paths::{DataDir, WRITABLE_BY_OTHERS, check_private};
pub use policy::{Policy, Rule};
pub use settings::{CallLimits, CloseUnsaved, Defaults, Durability, PluginSettings, Security, Settings, ToolNames};
pub use sources::{Source, Sources, all_settings};
pub use tasking::Tasks;
pub use telemetry::{LogFormat, Telemetry};

use crate::failure::Failure;

/// All that a run of the program is configured with.
#[derive(Debug, Clone)]
pub struct Config {
    pub data: DataDir,
    pub settings: Settings,
    pub sources: Sources,
}

impl Config {
    /// Reads the environment and `config.json`. A file that is not there means defaults; a file or a variable that cannot be
    /// read as it should is an error, never ignored: a limit with a typing error must not become no limit.
    pub fn load() -> Result<Config, Failure> {
        let data = DataDir::from_environment()?;
        let wrong = |error: serde_json::Error| {
            Failure::invalid(format!("{} is not a valid configuration: {error}.", data.config_file().display()))
                .suggest("Correct the file, or remove it to use the defaults.")
        };
        let (mut settings, mut sources) = match std::fs::read(data.config_file()) {
            Ok(bytes) => {
                // Not by way of the value, so that an error still says in which line it is.
                let settings: Settings = serde_json::from_slice(&bytes).map_err(wrong)?;
                (settings, Sources::of_file(&serde_json::from_slice(&bytes).map_err(wrong)?))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Settings::default(), Sources::default()),
            Err(error) => {
                return Err(Failure::internal(format!("{} cannot be read: {error}.", data.config_file().display())));
            }
        };
        settings.apply_environment(|name| std::env::var_os(name), &mut sources)?;
        settings.check()?;
        Ok(Config { data, settings, sources })
    }

    /// A variable that a plugin's manifest names. Only for what a person granted: a manifest can name any.
    pub fn variable(&self, name: &str) -> Option<std::ffi::OsString> {
        std::env::var_os(name)
    }

    /// A configuration that nobody wrote.
    pub fn with(data: DataDir, settings: Settings) -> Config {
        Config { data, settings, sources: Sources::default() }
    }

    /// Where the audit log is.
    pub fn audit_directory(&self) -> std::path::PathBuf {
        self.settings.audit.directory.clone().unwrap_or_else(|| self.data.audit())
    }

    /// The option that goes over file and environment.
    pub fn set_max_size(&mut self, bytes: u64) {
        self.settings.security.max_extracted_size_bytes = bytes;
        self.sources.set("security.max_extracted_size_bytes", Source::Flag("--max-size"));
    }
}
