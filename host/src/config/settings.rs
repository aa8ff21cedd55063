//! The settings of `config.json` with their defaults, and the variables that go over them.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::auditing::Audit;
use super::auth::Auth;
use super::egress::EgressLimits;
use super::http::Http;
use super::policy::Policy;
use super::sources::{Source, Sources};
use super::tasking::Tasks;
use super::telemetry::Telemetry;
use crate::failure::Failure;

/// The whole file. Unknown keys are errors.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub security: Security,
    pub defaults: Defaults,
    pub calls: CallLimits,
    pub egress: EgressLimits,
    pub plugins: PluginSettings,
    pub tool_names: ToolNames,
    pub durability: Durability,
    /// Who may use which tool, over what the tools declare.
    pub policy: Policy,
    pub http: Http,
    pub audit: Audit,
    pub auth: Auth,
    pub tasks: Tasks,
    pub telemetry: Telemetry,
}

/// What archives and sessions may ask of the machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Security {
    /// Bytes that one session may hold, at opening and later. Test: `limits::quota`.
    pub max_extracted_size_bytes: u64,
    /// Files and directories that one session may hold. Test: `limits::quota`.
    pub max_file_count: u64,
    /// Uncompressed to compressed, for each entry: deflate cannot do better than 1032, honest files rarely pass 100.
    pub max_compression_ratio: u64,
    /// Entries smaller than this are not held to the ratio. A few kilobytes of blanks compress 300 to 1.
    pub ratio_min_bytes: u64,
    /// Bytes on disk of all sessions together.
    pub max_total_disk_bytes: u64,
    pub max_sessions: u64,
    /// Whether links of an archive are extracted as links. Without it they are listed and stay in the archive; with it an archive
    /// with a link that leads out is refused. Programs outside follow links, so this is for archives that are trusted.
    pub allow_symlinks: bool,
    /// The directories whose archives the local user may open and sync; absent for all that the user can read. Other principals
    /// have roots of their own, and none by default.
    pub open_roots: Option<Vec<PathBuf>>,
    /// Wall clock of a search. Patterns are matched in linear time, so this is about how much is searched.
    /// Test: `limits::deadlines`.
    pub regex_timeout_ms: u64,
}

impl Default for Security {
    fn default() -> Self {
        Security {
            max_extracted_size_bytes: 1 << 30,
            max_file_count: 100_000,
            max_compression_ratio: 100,
            ratio_min_bytes: 0,
            max_total_disk_bytes: 10 << 30,
            max_sessions: 32,
            allow_symlinks: false,
            open_roots: None,
            regex_timeout_ms: 5_000,
        }
    }
}

/// How zipfs behaves where both ways are right.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Defaults {
    /// How many old versions of an archive are kept beside it.
    pub backup_rotation_depth: u32,
    /// What closing does with changes that were not synced, if the caller does not say.
    pub close_unsaved: CloseUnsaved,
    /// How long a command waits for a session that another one uses.
    pub lock_timeout_ms: u64,
}

impl Default for Defaults {
    fn default() -> Self {
        Defaults { backup_rotation_depth: 3, close_unsaved: CloseUnsaved::Discard, lock_timeout_ms: 10_000 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CloseUnsaved {
    Discard,
    Refuse,
}

/// What one call may use. A call that passes one of these ends, alone, with a coded error.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallLimits {
    /// Wall clock of a call. It also ends guests that wait in the host, which the processor limit cannot see.
    pub deadline_ms: u64,
    /// Wall clock of a call that opens, syncs or closes a session: an archive of gigabytes takes minutes on a slow disk.
    pub session_deadline_ms: u64,
    /// Processor time of the guest.
    pub cpu_ms: u64,
    /// Linear memory of the guest. Tools stream; 64 MiB is room for a large JSON text and its copy.
    pub memory_bytes: u64,
    /// Elements of all tables of the guest.
    pub table_elements: u64,
    /// Files, directories and streams that a guest holds open at once. The process has some thousand to share.
    pub handles: u32,
    /// What is kept of a guest's standard output, standard error and log lines.
    pub output_bytes: u64,
    /// The answer of a call, all parts together.
    pub result_bytes: u64,
    /// What a call may add to each directory that its plugin was granted for writing. Sessions have a quota of their own.
    /// Test: `security::directories::what_is_written_has_an_end`.
    pub directory_bytes: u64,
    /// The same in files and directories.
    pub directory_files: u64,
    /// Calls that run at the same time; more wait their turn.
    pub concurrent: u32,
    /// Check results against the tool's output schema, not only arguments against the input schema.
    pub validate_results: bool,
}

impl Default for CallLimits {
    fn default() -> Self {
        CallLimits {
            deadline_ms: 30_000,
            session_deadline_ms: 600_000,
            cpu_ms: 20_000,
            memory_bytes: 64 << 20,
            table_elements: 100_000,
            handles: 256,
            output_bytes: 1 << 20,
            result_bytes: 16 << 20,
            directory_bytes: 1 << 30,
            directory_files: 10_000,
            concurrent: 32,
            validate_results: cfg!(debug_assertions),
        }
    }
}

/// How plugins are taken in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginSettings {
    /// Refuse plugins without a signature by one of `trusted_keys`, when they are added and each time their code is loaded.
    pub require_signatures: bool,
    /// Public keys of minisign: the second lines of their `.pub` files.
    pub trusted_keys: Vec<String>,
    /// A component. Compiling takes seconds for each megabyte. Test: `functional::plugins::https`.
    pub max_component_bytes: u64,
    /// A download, from the first connection to the last byte. Test: `functional::plugins::https`.
    pub download_timeout_ms: u64,
    /// Whether a server takes up plugins that are put into `plugins/incoming`, if they need nothing beyond the workspace.
    pub take_up_incoming: bool,
}

impl Default for PluginSettings {
    fn default() -> Self {
        PluginSettings {
            require_signatures: false,
            trusted_keys: Vec::new(),
            max_component_bytes: 64 << 20,
            download_timeout_ms: 300_000,
            take_up_incoming: true,
        }
    }
}

/// What a power cut may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Everything is flushed to disk before anything relies on it: once a sync has reported success, the new archive is there
    /// after a power cut, and at every moment before that the old one is.
    #[default]
    Full,
    /// Nothing is flushed; the kernel writes when it likes, usually within half a minute. A crash of zipfs loses nothing, for the
    /// kernel lives on. A power cut or a crash of the kernel can lose syncs that reported success, and on filesystems that
    /// reorder writes leave an archive that is empty or damaged, its backups included. For archives that can be made again.
    Fast,
}

/// How tools are named in `tools/list`. Calls accept both forms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolNames {
    /// Letters, digits, `_` and `-` only. Several clients drop a whole server over one dot in a name.
    #[default]
    Portable,
    /// As the plugin says.
    Verbatim,
}

impl Settings {
    /// Applies the variables that go over the file.
    pub fn apply_environment(&mut self, variable: impl Fn(&str) -> Option<OsString>, sources: &mut Sources) -> Result<(), Failure> {
        let security = &mut self.security;
        let numbers = [
            ("ZIPFS_MAX_EXTRACTED_SIZE", "security.max_extracted_size_bytes", &mut security.max_extracted_size_bytes),
            ("ZIPFS_MAX_SESSIONS", "security.max_sessions", &mut security.max_sessions),
            ("ZIPFS_MAX_FILE_COUNT", "security.max_file_count", &mut security.max_file_count),
        ];
        for (name, key, setting) in numbers {
            let Some(value) = variable(name) else { continue };
            *setting = value
                .to_str()
                .and_then(|text| text.trim().parse().ok())
                .ok_or_else(|| Failure::invalid(format!("{name} is not a whole number: {}.", value.display())))?;
            sources.set(key, Source::Environment(name));
        }
        if let Some(value) = variable("OTEL_EXPORTER_OTLP_ENDPOINT").filter(|value| !value.is_empty()) {
            sources.set("telemetry.otlp_endpoint", Source::Environment("OTEL_EXPORTER_OTLP_ENDPOINT"));
            self.telemetry.otlp_endpoint = Some(value.to_string_lossy().into_owned());
        }
        if let Some(value) = variable("ZIPFS_ALLOW_SYMLINKS") {
            sources.set("security.allow_symlinks", Source::Environment("ZIPFS_ALLOW_SYMLINKS"));
            self.security.allow_symlinks = match value.to_str() {
                Some("1" | "true" | "yes") => true,
                Some("" | "0" | "false" | "no") => false,
                _ => return Err(Failure::invalid("ZIPFS_ALLOW_SYMLINKS is neither true nor false.")),
            };
        }
        Ok(())
    }

    /// The deadline that a tool has of its own, with the setting that says so.
    pub fn own_deadline(&self, tool: &str) -> Option<(u64, &'static str)> {
        match tool {
            "zipfs_grep" => Some((self.security.regex_timeout_ms, "security.regex_timeout_ms")),
            _ => None,
        }
    }

    /// Refuses values that would make every call fail or no limit hold.
    pub fn check(&self) -> Result<(), Failure> {
        let calls = &self.calls;
        let at_least = |name: &str, value: u64, least: u64| {
            if value >= least { Ok(()) } else { Err(Failure::invalid(format!("{name} is {value}, but must be at least {least}."))) }
        };
        at_least("calls.deadline_ms", calls.deadline_ms, 10)?;
        at_least("security.regex_timeout_ms", self.security.regex_timeout_ms, 10)?;
        at_least("calls.session_deadline_ms", calls.session_deadline_ms, 10)?;
        at_least("calls.cpu_ms", calls.cpu_ms, 10)?;
        at_least("calls.memory_bytes", calls.memory_bytes, 2 << 20)?;
        at_least("calls.table_elements", calls.table_elements, 1_000)?;
        at_least("calls.handles", calls.handles.into(), 16)?;
        at_least("calls.result_bytes", calls.result_bytes, 1 << 10)?;
        at_least("calls.concurrent", calls.concurrent.into(), 1)?;
        self.egress.check()?;
        at_least("security.max_compression_ratio", self.security.max_compression_ratio, 1)?;
        // Two lines at least.
        at_least("audit.max_file_bytes", self.audit.max_file_bytes, 16 << 10)?;
        at_least("audit.summary_ms", self.audit.summary_ms, 100)?;
        at_least("audit.keep_files", self.audit.keep_files.into(), 1)?;
        if let Some(odd) = self.security.open_roots.iter().flatten().find(|root| !root.is_absolute()) {
            return Err(Failure::invalid(format!("security.open_roots has {}, which is not absolute.", odd.display())));
        }
        at_least("tasks.ttl_ms", self.tasks.ttl_ms, 1_000)?;
        at_least("tasks.poll_ms", self.tasks.poll_ms, 10)?;
        self.policy.check()?;
        self.http.check()?;
        self.auth.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_refused() {
        assert!(serde_json::from_str::<Settings>(r#"{"security": {"max_file_cuont": 5}}"#).is_err());
        assert!(serde_json::from_str::<Settings>(r#"{"security": {"max_file_count": 5}}"#).is_ok());
    }

    #[test]
    fn the_environment_goes_over_the_file_and_is_read_strictly() {
        let (mut settings, mut sources) = (Settings::default(), Sources::default());
        let mut apply = |name: &str, value: &str| {
            settings.apply_environment(|asked| (asked == name).then(|| value.into()), &mut sources).map(|()| settings.clone())
        };
        assert_eq!(apply("ZIPFS_MAX_SESSIONS", "7").unwrap().security.max_sessions, 7);
        assert!(apply("ZIPFS_MAX_SESSIONS", "many").is_err());
        assert!(apply("ZIPFS_ALLOW_SYMLINKS", "maybe").is_err());
        assert_eq!(sources.of("security.max_sessions"), Source::Environment("ZIPFS_MAX_SESSIONS"));
        assert_eq!(sources.of("security.max_file_count"), Source::Default);
    }
}
