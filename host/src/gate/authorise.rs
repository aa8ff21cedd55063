//! Whether a principal may use a tool.

use super::calls::Principal;
use crate::failure::{Class, Failure};
use crate::plugins::{Found, Role};

pub fn may_call(principal: &Principal, found: &Found) -> Result<(), Failure> {
    let needed = found.tool().access.role;
    if principal.role >= needed {
        return Ok(());
    }
    let role = match needed {
        Role::Viewer => "viewer",
        Role::Operator => "operator",
        Role::Admin => "admin",
    };
    Err(Failure::new(
        Class::Forbidden,
        "FORBIDDEN",
        format!("{} may not call {}: it needs the role {role}.", principal.name, found.tool().name),
    ))
}
