//! Who may use which tool: what the tool declares, and what the configuration says over it.

use super::principal::Principal;
use crate::config::{Policy, Rule};
use crate::plugins::{Role, Tool};

/// What is asked of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    Role(Role),
    /// Nobody of its kind may know of the tool.
    Hidden,
}

/// What the first rule says that speaks of the tool and the caller; else what the tool declares.
pub fn demand(policy: &Policy, principal: &Principal, tool: &Tool) -> Demand {
    match policy.0.iter().find(|rule| is_about(rule, principal, tool)) {
        Some(rule) if rule.hide => Demand::Hidden,
        Some(rule) => Demand::Role(rule.require.unwrap_or(tool.access.role)),
        None => Demand::Role(tool.access.role),
    }
}

fn is_about(rule: &Rule, principal: &Principal, tool: &Tool) -> bool {
    let any_fits = |patterns: &[String], text: &str| patterns.iter().any(|pattern| fits(pattern, text));
    (any_fits(&rule.tools, &tool.name) || any_fits(&rule.tools, &tool.portable_name()))
        && (rule.roles.is_empty() || rule.roles.contains(&principal.role))
        && (rule.principals.is_empty() || any_fits(&rule.principals, &principal.id))
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => text == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::{Access, WorkspaceAccess};

    fn tool(name: &str, role: Role) -> Tool {
        let access = Access {
            workspace: WorkspaceAccess::None,
            capabilities: Vec::new(),
            role,
            destructive: false,
            idempotent: false,
            open_world: false,
            session_optional: false,
        };
        Tool {
            name: name.into(),
            title: None,
            description: String::new(),
            input_schema: Default::default(),
            output_schema: None,
            icons: Vec::new(),
            meta: None,
            access,
        }
    }

    #[test]
    fn rules_raise_lower_and_hide() {
        let policy: Policy = serde_json::from_str(
            r#"[{"tools": ["raid.delete"], "principals": ["token:ci*"], "hide": true},
                {"tools": ["raid.*"], "roles": ["operator"], "require": "admin"},
                {"tools": ["disk_list"], "require": "viewer"}]"#,
        )
        .unwrap();
        policy.check().unwrap();
        let local = Principal::local();
        let ci = Principal { id: "token:ci-7".into(), role: Role::Operator, ..local.clone() };
        assert_eq!(demand(&policy, &ci, &tool("raid.delete", Role::Admin)), Demand::Hidden);
        assert_eq!(demand(&policy, &ci, &tool("raid.list", Role::Viewer)), Demand::Role(Role::Admin));
        assert_eq!(demand(&policy, &local, &tool("raid.list", Role::Viewer)), Demand::Role(Role::Viewer));
        assert_eq!(demand(&policy, &ci, &tool("disk.list", Role::Operator)), Demand::Role(Role::Viewer));
    }
}
