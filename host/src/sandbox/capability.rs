//! What a tool can use beyond WASI and its workspace, by kind.

/// A kind of thing that a plugin can be granted and a tool can declare. Manifests, grants and tools name it by the same word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// Replacing files of the workspace in one step, and their modes.
    Files,
    /// The sessions of the host.
    Sessions,
    /// Requests to named hosts.
    Http,
    /// Directories of the host besides the workspace.
    Directory,
    /// Variables of the environment.
    Environment,
    /// Secrets, held by the host or given to the guest.
    Secret,
    /// Unix sockets and gRPC services by name.
    Endpoint,
}

impl Capability {
    pub const ALL: [Capability; 7] = [
        Capability::Files,
        Capability::Sessions,
        Capability::Http,
        Capability::Directory,
        Capability::Environment,
        Capability::Secret,
        Capability::Endpoint,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Capability::Files => "files",
            Capability::Sessions => "sessions",
            Capability::Http => "http",
            Capability::Directory => "directory",
            Capability::Environment => "environment",
            Capability::Secret => "secret",
            Capability::Endpoint => "endpoint",
        }
    }

    pub fn by_name(name: &str) -> Option<Capability> {
        Capability::ALL.into_iter().find(|capability| capability.name() == name)
    }

    /// The capability without which an interface of a component's imports is of no use. `None` for those that need none.
    pub fn behind_import(name: &str) -> Option<Capability> {
        if name.starts_with("wasi:http/") {
            return Some(Capability::Http);
        }
        match name.strip_prefix("zipfs:plugin/")?.split('@').next()? {
            "files" => Some(Capability::Files),
            "sessions" => Some(Capability::Sessions),
            "secrets" => Some(Capability::Secret),
            "endpoints" => Some(Capability::Endpoint),
            _ => None,
        }
    }
}
