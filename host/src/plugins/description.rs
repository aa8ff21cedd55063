//! What a plugin says about itself, as the host keeps it: checked once, then trusted to be well-formed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::sandbox::Capability;

/// A described plugin.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Description {
    pub name: String,
    pub version: String,
    pub title: Option<String>,
    pub instructions: Option<String>,
    pub tools: Vec<Tool>,
    pub has_resources: bool,
    pub has_prompts: bool,
    pub has_completions: bool,
}

/// A described tool. The schemas are as the plugin wrote them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub input_schema: Map<String, Value>,
    pub output_schema: Option<Map<String, Value>>,
    pub icons: Vec<Icon>,
    pub meta: Option<Map<String, Value>>,
    pub access: Access,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Icon {
    pub src: String,
    pub mime_type: Option<String>,
    pub sizes: Vec<String>,
}

/// What a tool touches. Enforced when it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    pub workspace: WorkspaceAccess,
    pub capabilities: Vec<Capability>,
    pub role: Role,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
    /// Whether it also runs where no session is open, without a directory: what it touches was concluded and not declared, and most
    /// likely is nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub session_optional: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkspaceAccess {
    #[default]
    None,
    Read,
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Viewer,
    Operator,
    Admin,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }

    pub fn by_name(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl Access {
    /// Whether nothing can change through the tool. It cannot be a false claim, since it is what is enforced: such a tool gets its
    /// workspace and directories mounted read-only, sends no request that changes anything, and is refused whatever opens, syncs or
    /// closes sessions. What is said to an endpoint nobody can judge, so a tool that uses one does not count.
    pub fn is_read_only(&self) -> bool {
        let opaque = self.capabilities.contains(&Capability::Endpoint);
        self.workspace != WorkspaceAccess::Write && !self.destructive && self.role == Role::Viewer && !opaque
    }

    /// Whether something that was there before can be gone afterwards. Whoever may write may overwrite and delete.
    pub fn may_destroy(&self) -> bool {
        self.destructive || self.workspace == WorkspaceAccess::Write
    }
}

impl Tool {
    /// The name that every client accepts: at most 64 letters, digits, `_` and `-`.
    pub fn portable_name(&self) -> String {
        self.name.replace('.', "_")
    }
}
