//! Which files of the host somebody may open as archives and write back, and under which names they are spoken of.
//!
//! Whether a file is inside a root is decided by opening it from the root's handle, which cannot leave it; names only say which
//! root is meant.

use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::open::open_source_ambient;
use crate::failure::{Class, Failure};

/// What an owner reaches.
#[derive(Debug, Clone)]
pub enum Reach {
    Everything,
    /// What is in these directories, by its path on the host. For the local user, whom nothing is hidden from.
    Within(Arc<[PathBuf]>),
    /// What is in these, by the names that they were given. The host's own paths are not shown.
    Named(Arc<[OpenRoot]>),
}

/// A directory of the host that somebody sees under a name: `/inbox/report.zip` is `report.zip` in the root `inbox`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenRoot {
    pub name: String,
    pub path: PathBuf,
    /// Whether archives in it may be opened but not written back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

impl OpenRoot {
    /// Reads `inbox=/srv/inbox`, or `inbox=/srv/inbox:read`.
    pub fn parse(text: &str) -> Result<OpenRoot, Failure> {
        let wrong =
            || Failure::invalid(format!("{text:?} is no root.")).suggest("Write NAME=/ABSOLUTE/PATH, or NAME=/ABSOLUTE/PATH:read.");
        let (name, path) = text.split_once('=').ok_or_else(wrong)?;
        let (path, read_only) = match path.strip_suffix(":read") {
            Some(path) => (path, true),
            None => (path, false),
        };
        let root = OpenRoot { name: name.to_owned(), path: path.into(), read_only };
        if root.is_sound() { Ok(root) } else { Err(wrong()) }
    }

    /// Whether the name can be the first part of a path, and the directory needs no other to be found.
    pub fn is_sound(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let is_name = (1..=64).contains(&self.name.len()) && self.name.bytes().all(plain) && !self.name.starts_with('.');
        is_name && self.path.is_absolute()
    }
}

impl Reach {
    pub fn nothing() -> Reach {
        Reach::Named(Arc::new([]))
    }

    /// Whether paths of the host are to be kept from the owner.
    pub fn hides_paths(&self) -> bool {
        matches!(self, Reach::Named(_))
    }

    /// Opens an archive that was asked for. Returns it with its path on the host.
    pub fn open_ambient(&self, path: &str) -> Result<(File, PathBuf), Failure> {
        match self {
            Reach::Everything => open_source_ambient(Path::new(path)).map(|file| (file, path.into())),
            Reach::Within(roots) => {
                let path = Path::new(path);
                let root = roots.iter().find_map(|root| Some((root, path.strip_prefix(root).ok()?)));
                let (root, below) = root.ok_or_else(|| self.out_of_reach(&path.display().to_string()))?;
                open_in(root, below, path.to_str().unwrap_or_default()).map(|file| (file, path.to_owned()))
            }
            Reach::Named(roots) => {
                let (name, below) = path.trim_start_matches('/').split_once('/').unwrap_or((path, ""));
                let root = roots.iter().find(|root| root.name == name).ok_or_else(|| self.out_of_reach(path))?;
                let below = Path::new(below);
                open_in(&root.path, below, path).map(|file| (file, root.path.join(below)))
            }
        }
    }

    /// Refuses to write an archive back that is not within reach, or not any more: what was granted at opening may have been taken
    /// away since, and a directory on the way may have become a link.
    pub fn check_write_back_ambient(&self, source: &Path) -> Result<(), Failure> {
        let roots: Vec<(&Path, bool)> = match self {
            Reach::Everything => return Ok(()),
            Reach::Within(roots) => roots.iter().map(|root| (root.as_path(), false)).collect(),
            Reach::Named(roots) => roots.iter().map(|root| (root.path.as_path(), root.read_only)).collect(),
        };
        let refused = || {
            Failure::new(Class::Forbidden, "SYNC_NOT_ALLOWED", format!("You may not write {}.", self.shown(source)))
                .suggest("The changes stay in the session. Ask whoever runs this server for access, or download what you need.")
        };
        let (root, read_only) = roots.into_iter().find(|(root, _)| source.starts_with(root)).ok_or_else(refused)?;
        let parent = source.parent().ok_or_else(refused)?;
        let below = parent.strip_prefix(root).map_err(|_| refused())?;
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let inside = Dir::open_ambient_dir(root, ambient_authority()).and_then(|root| root.open_dir(below)?.dir_metadata());
        let there = Dir::open_ambient_dir(parent, ambient_authority()).and_then(|parent| parent.dir_metadata());
        match (inside, there) {
            (Ok(inside), Ok(there)) if !read_only && (inside.dev(), inside.ino()) == (there.dev(), there.ino()) => Ok(()),
            _ => Err(refused()),
        }
    }

    /// A path of the host as the owner may see it.
    pub fn shown(&self, path: &Path) -> String {
        let Reach::Named(roots) = self else { return path.display().to_string() };
        let named = roots.iter().find_map(|root| Some((root, path.strip_prefix(&root.path).ok()?)));
        match named {
            Some((root, below)) => format!("/{}/{}", root.name, below.display()),
            // An archive that was uploaded has no place of its own; its name is all there is to say.
            None => path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        }
    }

    /// Takes the host's paths out of words that the host wrote: those of the roots, and others that are given with what to call them.
    pub fn hide(&self, others: &[(PathBuf, &str)], failure: Failure) -> Failure {
        let Reach::Named(roots) = self else { return failure };
        // These repeat what the caller wrote. If a path in them got another name, a guess would be known to be right.
        let is_echo = match &*failure.code {
            "OPEN_NOT_ALLOWED" | "SESSION_NOT_FOUND" | "INVALID_PARAMS" => true,
            "ZIP_NOT_FOUND" => roots.iter().any(|root| {
                let below = failure.message.trim_start_matches('/').strip_prefix(&*root.name);
                below.is_some_and(|below| below.starts_with('/') || below.starts_with(' '))
            }),
            _ => false,
        };
        let roots = roots.iter().map(|root| (root.path.clone(), format!("/{}", root.name)));
        let others = others.iter().map(|(path, name)| (path.clone(), (*name).to_owned()));
        // Under each name that it has: a message may speak of where a link leads.
        let all = roots.chain(others).flat_map(|(path, name)| {
            let real = path.canonicalize().ok();
            std::iter::once(path).chain(real).map(move |path| (path.display().to_string(), name.clone()))
        });
        let mut names: Vec<(String, String)> = all.filter(|(path, _)| path.len() > 1).collect();
        // What is inside another one first.
        names.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        let hidden = |text: String| names.iter().fold(text, |text, (path, name)| renamed(&text, path.trim_end_matches('/'), name));
        Failure {
            message: if is_echo { failure.message } else { hidden(failure.message) },
            suggestion: failure.suggestion.map(&hidden),
            details: failure.details.map(|details| hidden_in(details, &hidden)),
            ..failure
        }
    }

    fn out_of_reach(&self, path: &str) -> Failure {
        let failure = Failure::new(Class::Forbidden, "OPEN_NOT_ALLOWED", format!("You may not open {path}."));
        let places: Vec<String> = match self {
            Reach::Everything => Vec::new(),
            Reach::Within(roots) => roots.iter().map(|root| format!("{}/", root.display())).collect(),
            Reach::Named(roots) => roots.iter().map(|root| format!("/{}/", root.name)).collect(),
        };
        failure.suggest(match places.is_empty() {
            true => "No archive of this server is open to you. Send one: POST /archives.".to_owned(),
            false => format!("You may open archives in {}.", places.join(", ")),
        })
    }
}

/// A text with a path under another name, but not where the path is only the beginning of a longer name.
fn renamed(text: &str, path: &str, name: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, found) = rest.split_at(at);
        let after = &found[path.len()..];
        let goes_on = after.chars().next().is_some_and(|next| next.is_alphanumeric() || matches!(next, '-' | '_'));
        made.push_str(before);
        made.push_str(if goes_on { path } else { name });
        rest = after;
    }
    made + rest
}

fn hidden_in(value: Value, hidden: &impl Fn(String) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(hidden(text)),
        Value::Array(items) => items.into_iter().map(|item| hidden_in(item, hidden)).collect(),
        Value::Object(members) => members.into_iter().map(|(key, value)| (key, hidden_in(value, hidden))).collect(),
        other => other,
    }
}

/// Opens a regular file below a directory. A path that leads out of it names nothing.
fn open_in(root: &Path, below: &Path, named: &str) -> Result<File, Failure> {
    let not_found = |why: &str| {
        Failure::new(Class::NotFound, "ZIP_NOT_FOUND", format!("{named} {why}."))
            .suggest("Check the path; it must name a zip file.")
    };
    if !below.components().all(|component| matches!(component, Component::Normal(_))) || below.as_os_str().is_empty() {
        return Err(not_found("does not exist"));
    }
    let mut options = OpenOptions::new();
    // Not through a link in its last component, and not held by a pipe: the same as for any other archive.
    options.read(true).follow(FollowSymlinks::No).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
    let file = Dir::open_ambient_dir(root, ambient_authority())
        .and_then(|root| root.open_with(below, &options))
        .map_err(|_| not_found("does not exist or may not be read"))?;
    match file.metadata() {
        Ok(found) if found.is_file() => Ok(file.into_std()),
        _ => Err(not_found("is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, Reach) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap();
        for file in ["in/a.zip", "in/deep/b.zip", "in-evil/c.zip", "secret.zip"] {
            std::fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
            std::fs::write(path.join(file), file).unwrap();
        }
        std::os::unix::fs::symlink("../secret.zip", path.join("in/out.zip")).unwrap();
        std::os::unix::fs::symlink("a.zip", path.join("in/link.zip")).unwrap();
        std::os::unix::fs::symlink("..", path.join("in/up")).unwrap();
        let root = OpenRoot { name: "in".into(), path: path.join("in"), read_only: false };
        (place, Reach::Named(Arc::new([root])))
    }

    #[test]
    fn nothing_outside_a_root_can_be_opened() {
        let (place, reach) = place();
        for good in ["/in/a.zip", "in/a.zip", "/in/deep/b.zip"] {
            assert!(reach.open_ambient(good).is_ok(), "{good}");
        }
        let absolute = place.path().join("in/a.zip").display().to_string();
        for bad in [
            "/in/../secret.zip",
            "/in/up/secret.zip",
            "/in/out.zip",
            "/in/link.zip",
            "/in-evil/c.zip",
            "/inx/c.zip",
            "/in",
            "/in/",
            "/",
            "",
            "/in/deep",
            "/in//etc/passwd",
            "/etc/passwd",
            &absolute,
        ] {
            let refused = reach.open_ambient(bad).unwrap_err();
            assert!(matches!(&*refused.code, "OPEN_NOT_ALLOWED" | "ZIP_NOT_FOUND"), "{bad}: {refused}");
        }
    }

    #[test]
    fn what_was_taken_away_cannot_be_written_back() {
        let (place, reach) = place();
        let path = place.path().canonicalize().unwrap();
        assert!(reach.check_write_back_ambient(&path.join("in/deep/b.zip")).is_ok());
        assert!(reach.check_write_back_ambient(&path.join("in-evil/c.zip")).is_err());
        assert!(reach.check_write_back_ambient(&path.join("in/up/secret.zip")).is_err());
        assert!(Reach::nothing().check_write_back_ambient(&path.join("in/a.zip")).is_err());
        std::fs::rename(path.join("in/deep"), path.join("deep")).unwrap();
        std::os::unix::fs::symlink("../deep", path.join("in/deep")).unwrap();
        assert!(reach.check_write_back_ambient(&path.join("in/deep/b.zip")).is_err(), "a link leads out now");
    }

    #[test]
    fn paths_of_the_host_are_not_told() {
        let (place, reach) = place();
        let path = place.path().canonicalize().unwrap();
        assert_eq!(reach.shown(&path.join("in/deep/b.zip")), "/in/deep/b.zip");
        assert_eq!(reach.shown(&path.join("secret.zip")), "secret.zip");
        let failure = Failure::internal(format!("{} is gone.", path.join("in/a.zip").display()))
            .suggest(format!("See {}.", path.join("data/workspaces/x").display()));
        let failure = failure.details(serde_json::json!({"at": [path.join("in").display().to_string()]}));
        let hidden = reach.hide(&[(path.join("data"), "(data)")], failure);
        let told = format!("{} {:?}", hidden.sentence(), hidden.details);
        assert!(!told.contains(path.to_str().unwrap()) && told.contains("/in/a.zip") && told.contains("(data)/"), "{told}");
        assert_eq!(renamed("/srv/in/a /srv/in: /srv/in-evil/a", "/srv/in", "/x"), "/x/a /x: /srv/in-evil/a");
    }

    #[test]
    fn roots_are_read_strictly() {
        assert!(OpenRoot::parse("in=/srv/in").is_ok_and(|root| !root.read_only));
        assert!(OpenRoot::parse("in=/srv/in:read").is_ok_and(|root| root.read_only));
        for wrong in ["in", "in=srv", "=/srv", "../x=/srv", "a b=/srv"] {
            assert!(OpenRoot::parse(wrong).is_err(), "{wrong}");
        }
    }
}
