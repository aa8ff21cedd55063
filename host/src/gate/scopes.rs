//! Path scopes: `read:/notes/`, `write:/inbox/*`. What a principal may touch, by the paths it names.
//!
//! They narrow what an authorised caller may ask for. What a tool can reach at all is decided by handles, never here.

use std::fmt;

/// The scopes of one principal. Without any, nothing that has a path may be touched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

/// What is wanted of a path. To write includes to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    Read,
    Write,
}

/// How much below a path is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// The file, or the directory and what is directly in it.
    Itself,
    /// Everything below.
    Tree,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Scope {
    action: Action,
    components: Vec<String>,
    extent: Extent,
}

impl Scopes {
    /// Reads the words of a scope claim. Words that are no path scopes belong to somebody else and are passed over; a path scope
    /// that cannot be read grants nothing.
    pub fn parse(words: &str) -> Scopes {
        Scopes(words.split_ascii_whitespace().filter_map(Scope::parse).collect())
    }

    pub fn allow(&self, action: Action, path: &str, extent: Extent) -> bool {
        // A path that leads out names nothing. Whoever may touch everything hears that from the tool; for the others it is out of scope.
        let (wanted, extent) = components(path).map_or((Vec::new(), Extent::Tree), |wanted| (wanted, extent));
        self.0.iter().any(|scope| scope.covers(action, &wanted, extent))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether any of them is for writing.
    pub fn can_write(&self) -> bool {
        self.0.iter().any(|scope| scope.action == Action::Write)
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(Scope::to_string).collect();
        f.write_str(&words.join(" "))
    }
}

/// The scope to ask for, as clients are told: for `/notes/a.md` it is `write:/notes/`.
pub fn needed(action: Action, path: &str, extent: Extent) -> String {
    let mut components = components(path).unwrap_or_default();
    if extent == Extent::Itself {
        components.pop();
    }
    Scope { action, components, extent: Extent::Tree }.to_string()
}

impl Action {
    fn word(self) -> &'static str {
        match self {
            Action::Read => "read",
            Action::Write => "write",
        }
    }
}

impl Scope {
    /// `/x/` is the directory with everything below, `/x/*` the directory with what is directly in it. `/x` is a file or, if it is
    /// a directory, the same as `/x/`.
    fn parse(word: &str) -> Option<Scope> {
        let (action, path) = word.split_once(':')?;
        let action = match action {
            "read" => Action::Read,
            "write" => Action::Write,
            _ => return None,
        };
        if !path.starts_with('/') {
            return None;
        }
        let (path, extent) = match path.strip_suffix("/*") {
            Some(parent) => (parent, Extent::Itself),
            None => (path, Extent::Tree),
        };
        let components = components(path)?;
        // Anything else with a star would look like a pattern and be none.
        (!components.iter().any(|component| component.contains('*'))).then_some(Scope { action, components, extent })
    }

    fn covers(&self, action: Action, wanted: &[String], extent: Extent) -> bool {
        if self.action < action {
            return false;
        }
        // Component by component: `/work` has nothing to do with `/workfiles`.
        let Some(below) = wanted.strip_prefix(self.components.as_slice()) else { return false };
        match self.extent {
            Extent::Tree => true,
            Extent::Itself => below.len() <= 1 && extent == Extent::Itself,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:/{}", self.action.word(), self.components.join("/"))?;
        match (self.extent, self.components.is_empty()) {
            (Extent::Itself, true) => f.write_str("*"),
            (Extent::Itself, false) => f.write_str("/*"),
            (Extent::Tree, true) => Ok(()),
            (Extent::Tree, false) => f.write_str("/"),
        }
    }
}

/// The path from the root, without empty parts and `.`; `..` goes up. `None` if it leads out.
fn components(path: &str) -> Option<Vec<String>> {
    let mut components: Vec<String> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                components.pop()?;
            }
            part => components.push(part.to_owned()),
        }
    }
    Some(components)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(scopes: &str, action: Action, path: &str) -> bool {
        Scopes::parse(scopes).allow(action, path, Extent::Itself)
    }

    #[test]
    fn a_directory_does_not_open_its_neighbours() {
        for path in ["/work", "work", "/work/", "/work/a.md", "work/deep/b.md", "//work/./a.md", "/other/../work/a"] {
            assert!(allows("read:/work/", Action::Read, path), "{path}");
        }
        for path in ["/", "", "/workfiles/a.md", "/wor", "/Work/a.md", "/work/../secret", "../work/a", "/other"] {
            assert!(!allows("read:/work/", Action::Read, path), "{path}");
        }
    }

    #[test]
    fn a_star_is_one_level() {
        assert!(allows("write:/inbox/*", Action::Write, "/inbox/a"));
        assert!(allows("write:/inbox/*", Action::Write, "/inbox"));
        assert!(!allows("write:/inbox/*", Action::Write, "/inbox/deep/a"));
        assert!(!Scopes::parse("write:/inbox/*").allow(Action::Read, "/inbox", Extent::Tree));
        assert!(!allows("read:/in*/", Action::Read, "/inbox/a"), "other patterns grant nothing");
    }

    #[test]
    fn to_write_is_to_read_and_not_the_other_way_round() {
        assert!(allows("write:/a/", Action::Read, "/a/b"));
        assert!(!allows("read:/a/", Action::Write, "/a/b"));
    }

    #[test]
    fn nothing_is_allowed_by_default() {
        assert!(!allows("", Action::Read, "/"));
        assert!(!allows("openid profile read", Action::Read, "/"));
        assert!(!allows("read:notes", Action::Read, "/notes"));
        assert!(allows("read:/", Action::Read, "/"));
        assert!(Scopes::parse("read:/").allow(Action::Read, "", Extent::Tree));
    }

    #[test]
    fn scopes_are_written_as_they_are_read() {
        for word in ["read:/", "read:/*", "write:/a/b/", "write:/a/*"] {
            assert_eq!(Scopes::parse(word).to_string(), word);
        }
        assert_eq!(needed(Action::Write, "notes/a.md", Extent::Itself), "write:/notes/");
        assert_eq!(needed(Action::Read, "notes", Extent::Tree), "read:/notes/");
    }
}
