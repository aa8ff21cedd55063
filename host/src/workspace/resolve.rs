//! Which session a caller means: by name, by id, by the beginning of an id, or the only one there is.

use super::store::Known;
use crate::failure::{Class, Failure};

/// Finds the one session that `wanted` names, or the only one if nothing was given.
pub fn resolve<'a>(known: &[&'a Known], wanted: Option<&str>) -> Result<&'a Known, Failure> {
    let Some(wanted) = wanted else {
        return match known {
            [] => Err(Failure::new(Class::NotFound, "NO_SESSIONS", "No session is open.")
                .suggest("Open an archive first, with zipfs_open.")),
            [only] => Ok(*only),
            several => Err(ambiguous("Several sessions are open and `session` was not given", several.iter().copied())),
        };
    };
    if let Some(found) = known.iter().copied().find(|session| !session.name.is_empty() && session.name == wanted) {
        return Ok(found);
    }
    if let Some(found) = known.iter().copied().find(|session| session.id.eq_ignore_ascii_case(wanted)) {
        return Ok(found);
    }
    let wanted_lower = wanted.to_ascii_lowercase();
    let mut begins: Vec<&Known> = Vec::new();
    if wanted.len() >= 4 {
        begins.extend(known.iter().copied().filter(|session| session.id.starts_with(&wanted_lower)));
    }
    match begins[..] {
        [] => Err(Failure::new(Class::NotFound, "SESSION_NOT_FOUND", format!("There is no session {wanted:?}.")).suggest(
            match known {
                [] => "No session is open; open an archive with zipfs_open.".to_owned(),
                _ => format!("Open sessions: {}.", labels(known.iter().copied())),
            },
        )),
        [only] => Ok(only),
        _ => Err(ambiguous(&format!("{wanted:?} is the beginning of several session ids"), begins.into_iter())),
    }
}

fn ambiguous<'a>(what: &str, sessions: impl Iterator<Item = &'a Known>) -> Failure {
    Failure::new(Class::Invalid, "AMBIGUOUS_SESSION", format!("{what}: {}.", labels(sessions))).suggest("Name one with `session`.")
}

fn labels<'a>(sessions: impl Iterator<Item = &'a Known>) -> String {
    let each: Vec<String> = sessions
        .map(|session| match session.name.is_empty() {
            true => session.id.clone(),
            false => format!("{} ({})", session.name, session.id),
        })
        .collect();
    each.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str, name: &str) -> Known {
        Known { id: id.to_string(), name: name.to_string(), directory: id.to_string(), owner: "local".into() }
    }

    #[test]
    fn names_go_before_ids_and_ids_before_beginnings() {
        let (one, two) = (session("abcd1111-0000", "one"), session("abcd2222-0000", "abc"));
        let known = [&one, &two];
        assert_eq!(resolve(&known, Some("one")).unwrap().id, "abcd1111-0000");
        assert_eq!(resolve(&known, Some("ABCD2222-0000")).unwrap().name, "abc");
        assert_eq!(resolve(&known, Some("abcd2")).unwrap().name, "abc");
        assert_eq!(resolve(&known, Some("abcd")).unwrap_err().code, "AMBIGUOUS_SESSION");
        assert_eq!(resolve(&known, Some("abx")).unwrap_err().code, "SESSION_NOT_FOUND");
        assert_eq!(resolve(&known, None).unwrap_err().code, "AMBIGUOUS_SESSION");
        assert!(resolve(&known, None).unwrap_err().message.contains("one (abcd1111-0000)"));
        assert_eq!(resolve(&[], None).unwrap_err().code, "NO_SESSIONS");
        assert_eq!(resolve(&known[..1], None).unwrap().name, "one");
        assert_eq!(resolve(&known[..1], Some("")).unwrap_err().code, "SESSION_NOT_FOUND");
    }
}
