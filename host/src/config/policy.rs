//! `policy` in `config.json`: who may use which tool, over what the tools declare.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::plugins::Role;

/// Rules in order; the first that speaks of a tool and a caller decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Policy(pub Vec<Rule>);

/// `{"tools": ["zipfs_sync"], "principals": ["token:ci"], "require": "admin"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Documented or portable names; a `*` at the end stands for any ending.
    pub tools: Vec<String>,
    /// For callers of these roles only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// For callers with these ids only; a `*` at the end stands for any ending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub principals: Vec<String>,
    /// The role that is needed, in place of the one that the tool declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Role>,
    /// Whether the tool does not exist for these callers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hide: bool,
}

impl Policy {
    /// A rule that says nothing is a slip, and a slip here may be a door left open.
    pub fn check(&self) -> Result<(), Failure> {
        for (index, rule) in self.0.iter().enumerate() {
            if rule.tools.is_empty() {
                return Err(Failure::invalid(format!("policy[{index}] names no tools.")).suggest("For all of them write [\"*\"]."));
            }
            if rule.require.is_some() == rule.hide {
                return Err(Failure::invalid(format!("policy[{index}] must either `require` a role or `hide`.")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_say_nothing_are_refused() {
        for text in
            [r#"[{"tools": [], "hide": true}]"#, r#"[{"tools": ["a"]}]"#, r#"[{"tools": ["a"], "hide": true, "require": "admin"}]"#]
        {
            assert!(serde_json::from_str::<Policy>(text).unwrap().check().is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Policy>(r#"[{"tools": ["a"], "role": "admin"}]"#).is_err());
    }
}
