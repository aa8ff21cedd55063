//! Whether a principal may use a tool, and on the paths that it names.

use cap_std::fs::Dir;
use serde_json::{Map, Value, json};

use super::named::referred;
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
    let mut named = Vec::new();
    let (schema, arguments) = (Value::Object(tool.input_schema.clone()), Value::Object(arguments.clone()));
    paths_in(&tool.input_schema, &schema, Some(&arguments), 0, &mut named);
    let works_on_files = tool.access.workspace != WorkspaceAccess::None;
    if named.is_empty() && works_on_files {
        named.push((String::new(), Extent::Tree));
    }
    let touched: Vec<Touched> = named.into_iter().map(|(path, extent)| Touched { path, action, extent }).collect();
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

/// Deeper schemas than this have no path arguments. Admission bounds them as well.
const DEEPEST: usize = 16;

/// Collects what stands where the schema marks a path. One that is marked and missing means the root: that is what tools take it
/// for.
fn paths_in(root: &Map<String, Value>, schema: &Value, value: Option<&Value>, depth: usize, into: &mut Vec<(String, Extent)>) {
    if depth > DEEPEST {
        return;
    }
    let referred = schema["$ref"].as_str().and_then(|to| referred(root, to));
    if let Some(target) = referred {
        paths_in(root, &Value::Object(target.clone()), value, depth + 1, into);
    }
    let extent = match &schema["x-zipfs-path"] {
        Value::Bool(true) => Some(Extent::Itself),
        Value::String(word) if word == "tree" => Some(Extent::Tree),
        _ => None,
    };
    if let Some(extent) = extent {
        match value {
            // A directory that is not named is taken with all that is in it.
            None | Some(Value::Null) => into.push((String::new(), Extent::Tree)),
            Some(Value::String(path)) => into.push((path.clone(), extent)),
            Some(Value::Array(several)) => {
                into.extend(several.iter().filter_map(Value::as_str).map(|path| (path.to_owned(), extent)));
            }
            // The schema refuses it later.
            Some(_) => {}
        }
        return;
    }
    if let Value::Object(properties) = &schema["properties"] {
        for (name, property) in properties {
            let inner = value.and_then(|value| value.get(name));
            // What is inside an object that is not there is not there either.
            if inner.is_some() || property.get("x-zipfs-path").is_some() {
                paths_in(root, property, inner, depth + 1, into);
            }
        }
    }
    if let (Some(others @ Value::Object(_)), Some(Value::Object(members))) = (schema.get("additionalProperties"), value) {
        for (_, member) in members.iter().filter(|(name, _)| schema["properties"].get(name.as_str()).is_none()) {
            paths_in(root, others, Some(member), depth + 1, into);
        }
    }
    if let (Some(items), Some(Value::Array(values))) = (schema.get("items"), value) {
        for value in values {
            paths_in(root, items, Some(value), depth + 1, into);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for branch in schema[keyword].as_array().into_iter().flatten() {
            if value.is_some() {
                paths_in(root, branch, value, depth + 1, into);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(schema: Value, arguments: Value) -> Vec<(String, Extent)> {
        let mut into = Vec::new();
        paths_in(schema.as_object().unwrap(), &schema, Some(&arguments), 0, &mut into);
        into.sort();
        into
    }

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

    #[test]
    fn paths_are_found_where_the_schema_marks_them() {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string", "x-zipfs-path": true},
            "root": {"type": "string", "x-zipfs-path": "tree"},
            "content": {"type": "string"},
            "moves": {"type": "array", "items": {"type": "object", "properties": {"to": {"x-zipfs-path": true}}}},
            "from": {"anyOf": [{"type": "string", "x-zipfs-path": true}, {"type": "null"}]},
        }});
        let arguments =
            json!({"path": "/a", "root": "r", "content": "/not/a/path", "moves": [{"to": "b"}, {"to": "c"}], "from": "d"});
        let itself = |path: &str| (path.to_owned(), Extent::Itself);
        let expected = [itself("/a"), itself("b"), itself("c"), itself("d"), ("r".to_owned(), Extent::Tree)];
        assert_eq!(found(schema.clone(), arguments), expected);
        assert_eq!(found(schema, json!({"path": "a"})), [(String::new(), Extent::Tree), itself("a")], "what is missing is all");
    }
}
