//! Whether a principal may use a tool, and on the paths that it names.

use cap_std::fs::Dir;
use serde_json::{Map, Value, json};

use super::named::named;
use super::policy::{Demand, demand};
use super::principal::Principal;
use super::scopes::{Action, Extent, Scopes, needed};
use crate::config::Policy;
use crate::failure::{Class, Failure};
use crate::plugins::{Found, Role, Tool, WorkspaceAccess};
use crate::sandbox::guest::Mount;

/// Whether the tool exists for the principal at all.
pub fn may_know(policy: &Policy, principal: &Principal, found: &Found) -> bool {
    demand(policy, principal, found.tool()) != Demand::Hidden
}

/// Whether the tool is worth showing: it exists, and the role suffices.
pub fn may_use(policy: &Policy, principal: &Principal, found: &Found) -> bool {
    matches!(demand(policy, principal, found.tool()), Demand::Role(role) if principal.role >= role)
}

/// A path that a call names, and what it does there. Collected for principals that have scopes only.
#[derive(Debug)]
pub struct Touched {
    path: String,
    action: Action,
    extent: Extent,
}

impl Touched {
    /// A path that is read.
    pub fn read(path: String) -> Touched {
        Touched { path, action: Action::Read, extent: Extent::Itself }
    }
}

/// Checks the role, then the paths.
pub fn may_call(
    policy: &Policy,
    principal: &Principal,
    found: &Found,
    arguments: &Map<String, Value>,
) -> Result<Vec<Touched>, Failure> {
    let tool = found.tool();
    let role = match demand(policy, principal, tool) {
        Demand::Role(role) => role,
        // Hidden tools are not found; whoever gets here raced a change.
        Demand::Hidden => return Err(Failure::invalid(format!("There is no tool {:?}.", tool.name))),
    };
    if principal.role < role {
        let message = format!(
            "Tool '{}' requires role '{}'. Principal '{}' has role '{}'.",
            tool.name,
            role.name(),
            principal.name,
            principal.role.name()
        );
        return Err(Failure::new(Class::Forbidden, "PERMISSION_DENIED", message)
            .suggest("Ask whoever runs this server for that role, or use another tool.")
            .details(json!({"required_role": role.name()})));
    }
    match &principal.scopes {
        None => Ok(Vec::new()),
        Some(scopes) => may_touch(scopes, tool, arguments),
    }
}

/// Checks the scopes against every path among the arguments. A tool that works on files and names none works on all of them.
fn may_touch(scopes: &Scopes, tool: &Tool, arguments: &Map<String, Value>) -> Result<Vec<Touched>, Failure> {
    let action = match tool.access.workspace {
        WorkspaceAccess::Write => Action::Write,
        WorkspaceAccess::Read if tool.access.destructive || tool.access.role > Role::Viewer => Action::Write,
        WorkspaceAccess::Read => Action::Read,
        WorkspaceAccess::None => Action::Read,
    };
    let named = named(&tool.input_schema, arguments);
    let mut touched: Vec<Touched> = named
        .into_iter()
        .map(|one| Touched { path: one.path.unwrap_or_default().to_owned(), action, extent: one.extent })
        .collect();
    let works_on_files = tool.access.workspace != WorkspaceAccess::None;
    if touched.is_empty() && works_on_files {
        touched.push(Touched { path: String::new(), action, extent: Extent::Tree });
    }
    for Touched { path, action, extent } in &touched {
        if !scopes.allow(*action, path, *extent) {
            return Err(out_of_scope(*action, path, *extent));
        }
    }
    Ok(touched)
}

/// Checks the same paths again, now that there is a directory to follow them in: a link in it leads from a place that is in scope
/// to one that may not be.
pub fn may_follow(principal: &Principal, mount: Option<&Mount>, touched: &[Touched]) -> Result<(), Failure> {
    let (Some(scopes), Some(mount)) = (&principal.scopes, mount) else { return Ok(()) };
    for Touched { path, action, extent } in touched {
        let real = follow(&mount.dir, path);
        if !scopes.allow(*action, &real, *extent) {
            return Err(out_of_scope(*action, path, *extent));
        }
    }
    Ok(())
}

/// Where a path leads once the links on its way are followed. What does not exist yet has none.
fn follow(dir: &Dir, path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    for there in (1..=parts.len()).rev() {
        if let Ok(real) = dir.canonicalize(parts[..there].join("/")) {
            let rest = parts[there..].iter().map(std::path::Path::new);
            return real.components().as_path().join(rest.collect::<std::path::PathBuf>()).display().to_string();
        }
    }
    path.to_owned()
}

/// The refusal, with the scope that would be needed.
pub fn out_of_scope(action: Action, path: &str, extent: Extent) -> Failure {
    let scope = needed(action, path, extent);
    let shown = if path.is_empty() { "/" } else { path };
    Failure::new(Class::Forbidden, "INSUFFICIENT_SCOPE", format!("This caller's scopes do not cover {shown:?}."))
        .suggest(format!("It needs the scope {scope}."))
        .details(json!({"required_scope": scope}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_do_not_lead_out_of_scope() {
        let place = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(place.path(), cap_std::ambient_authority()).unwrap();
        dir.create_dir_all("notes").unwrap();
        dir.create_dir_all("secret").unwrap();
        dir.symlink("../secret", "notes/link").unwrap();
        assert_eq!(follow(&dir, "/notes/link/new/a.md"), "secret/new/a.md");
        assert_eq!(follow(&dir, "notes/a.md"), "notes/a.md");
        assert_eq!(follow(&dir, "elsewhere"), "elsewhere");
        assert_eq!(follow(&dir, ""), "");
    }
}
