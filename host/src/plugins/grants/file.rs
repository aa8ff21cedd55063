//! `grants.toml`: read strictly, and changed in one step under a lock, so that two people at once lose nothing.

use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;
use toml::{Table, Value};

use super::{Given, Grant};
use crate::config::{DataDir, WRITABLE_BY_OTHERS, check_private};
use crate::failure::Failure;

/// Larger than any list that a person made. Test: `tests::a_file_that_is_not_ours_grants_nothing`.
const MOST_BYTES: u64 = 1 << 20;

const HEAD: &str =
    "# What plugins may do beyond their workspace. Made by `zipfs plugin grant` and `revoke`; unknown keys are errors.\n\n";

/// The file of a data directory.
#[derive(Debug, Clone)]
pub struct GrantFile {
    path: PathBuf,
}

/// Tells versions of the file apart. Each change makes a new file; one that is edited in place, or lent to others by its mode, has
/// another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl GrantFile {
    pub fn new(data: &DataDir) -> GrantFile {
        GrantFile { path: data.grants_file() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which version is there now. One `stat`.
    pub fn stamp(&self) -> Option<Stamp> {
        let found = std::fs::metadata(&self.path).ok()?;
        Some(Stamp { inode: found.ino(), bytes: found.size(), changed: (found.ctime(), found.ctime_nsec()) })
    }

    /// All grants, those that expired included. No file means none; one that cannot be understood is an error, so that nobody is
    /// granted by half of it.
    pub fn read(&self) -> Result<Vec<Grant>, Failure> {
        let file = match std::fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.unreadable(error)),
        };
        check_private(&self.path, WRITABLE_BY_OTHERS)?;
        let mut text = String::new();
        file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| self.unreadable(error))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(self.wrong(&format!("it has more than {MOST_BYTES} bytes")));
        }
        parse(&text).map_err(|why| self.wrong(&why))
    }

    /// Changes the grants. Nobody reads half of a change, and nobody else's change is lost.
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Grant>) -> Result<T, Failure>) -> Result<T, Failure> {
        let failed = |error: io::Error| Failure::internal(format!("{} cannot be written: {error}.", self.path.display()));
        let lock = self.path.with_extension("lock");
        let lock = std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock).map_err(failed)?;
        retry_on_intr(|| flock(&lock, FlockOperation::LockExclusive)).map_err(|error| failed(error.into()))?;
        let mut grants = self.read()?;
        let before = grants.clone();
        let result = change(&mut grants)?;
        if grants != before {
            self.write(&grants).map_err(failed)?;
        }
        Ok(result)
    }

    /// Grants a plugin these things. Each takes the place of one like it.
    pub fn add(&self, plugin: &str, digest: &str, given: Vec<Given>, expires: Option<Timestamp>) -> Result<(), Failure> {
        let granted_at = now();
        self.change(|grants| {
            for given in given {
                grants.retain(|grant| !(grant.is_of(plugin, digest) && given.replaces(&grant.given)));
                grants.push(Grant { plugin: plugin.to_owned(), digest: digest.to_owned(), given, expires, granted_at });
            }
            Ok(())
        })
    }

    /// Takes away what a plugin has under any digest but these.
    pub fn keep_only(&self, plugin: &str, digests: &[&str]) -> Result<(), Failure> {
        self.change(|grants| {
            grants.retain(|grant| grant.plugin != plugin || digests.contains(&grant.digest.as_str()));
            Ok(())
        })
    }

    fn write(&self, grants: &[Grant]) -> io::Result<()> {
        let tables: Vec<Value> = grants.iter().map(|grant| to_table(grant).map(Value::Table)).collect::<io::Result<_>>()?;
        let mut whole = Table::new();
        if !tables.is_empty() {
            whole.insert("grant".into(), Value::Array(tables));
        }
        let text = HEAD.to_owned() + &toml::to_string_pretty(&whole).map_err(io::Error::other)?;
        let aside = self.path.with_extension(format!("{}.new", uuid::Uuid::new_v4().simple()));
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
        let put = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&aside, &self.path));
        if put.is_err() {
            let _ = std::fs::remove_file(&aside);
        }
        put?;
        // A revocation that a power cut undoes would be none.
        std::fs::File::open(self.path.parent().unwrap_or(Path::new("/")))?.sync_all()
    }

    fn unreadable(&self, error: io::Error) -> Failure {
        Failure::internal(format!("{} cannot be read: {error}.", self.path.display()))
    }

    fn wrong(&self, why: &str) -> Failure {
        Failure::new(
            crate::failure::Class::Forbidden,
            "GRANTS_UNREADABLE",
            format!("{} is not valid, so nothing is granted: {why}.", self.path.display()),
        )
        .suggest("Correct the file, or remove it and grant again.")
    }
}

/// Now, to the second, as the file has it.
pub fn now() -> Timestamp {
    Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default()
}

fn parse(text: &str) -> Result<Vec<Grant>, String> {
    let mut whole: Table = toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())?;
    let list = whole.remove("grant");
    if let Some(key) = whole.keys().next() {
        return Err(format!("there is no key `{key}`"));
    }
    let entries = match list {
        None => return Ok(Vec::new()),
        Some(Value::Array(entries)) => entries,
        Some(_) => return Err("`grant` is not a list of tables".into()),
    };
    let read = |(number, entry): (usize, Value)| match entry {
        Value::Table(table) => from_table(table).map_err(|why| format!("grant {}: {why}", number + 1)),
        _ => Err(format!("grant {} is not a table", number + 1)),
    };
    entries.into_iter().enumerate().map(read).collect()
}

fn from_table(mut table: Table) -> Result<Grant, String> {
    let text = |table: &mut Table, key: &str| match table.remove(key) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("`{key}` is not a text")),
        None => Err(format!("there is no `{key}`")),
    };
    let (plugin, digest) = (text(&mut table, "plugin")?, text(&mut table, "digest")?);
    let time = |table: &mut Table, key: &str| match table.remove(key) {
        None => Ok(None),
        Some(Value::Datetime(time)) => time
            .to_string()
            .parse::<Timestamp>()
            .map(Some)
            .map_err(|_| format!("`{key}` is not a time with its zone, as in 2030-01-31T12:00:00Z")),
        Some(_) => Err(format!("`{key}` is not a time")),
    };
    let expires = time(&mut table, "expires")?;
    let granted_at = time(&mut table, "granted_at")?.ok_or("there is no `granted_at`")?;
    let given: Given = Value::Table(table).try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    if matches!(&given, Given::Http { host: crate::sandbox::egress::HostPattern::Any, .. }) {
        return Err("`host` must name a host: every host cannot be granted".into());
    }
    Ok(Grant { plugin, digest, given, expires, granted_at })
}

fn to_table(grant: &Grant) -> io::Result<Table> {
    let mut table = Table::new();
    table.insert("plugin".into(), grant.plugin.clone().into());
    table.insert("digest".into(), grant.digest.clone().into());
    table.extend(Table::try_from(&grant.given).map_err(io::Error::other)?);
    let time = |time: Timestamp| time.to_string().parse().map(Value::Datetime).map_err(io::Error::other);
    if let Some(expires) = grant.expires {
        table.insert("expires".into(), time(expires)?);
    }
    table.insert("granted_at".into(), time(grant.granted_at)?);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::manifest::DirectoryAccess;
    use crate::sandbox::egress::Scheme;
    use std::os::unix::fs::PermissionsExt;

    fn file() -> (tempfile::TempDir, GrantFile) {
        let data = tempfile::tempdir().unwrap();
        let file = GrantFile::new(&DataDir::at(data.path()));
        (data, file)
    }

    fn all_kinds() -> Vec<Given> {
        vec![
            Given::Files {},
            Given::Sessions {},
            Given::Http {
                host: "api.example.com".to_owned().try_into().unwrap(),
                port: 443,
                scheme: Scheme::Https,
                methods: vec!["GET".into()],
                private: true,
            },
            Given::Directory { name: "docs".into(), path: "/srv/docs".into(), access: DirectoryAccess::Read },
            Given::Environment { name: "TZ".into(), value: "UTC".into() },
            Given::Secret { name: "key".into(), host: None, port: None, scheme: None },
            Given::Endpoint { name: "db".into(), address: "/run/db.sock".into(), ca: None },
            Given::Limits { memory_bytes: Some(1 << 28), cpu_ms: None, deadline_ms: None },
            Given::Root { path: Some("/srv".into()), access: DirectoryAccess::Write },
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        let (_data, file) = file();
        assert_eq!(file.read().unwrap(), []);
        let expires = Some("2030-12-01T00:00:00Z".parse().unwrap());
        file.add("weather", "abc", all_kinds(), expires).unwrap();
        let read = file.read().unwrap();
        assert_eq!(read.iter().map(|grant| grant.given.clone()).collect::<Vec<_>>(), all_kinds());
        assert!(read.iter().all(|grant| grant.is_of("weather", "abc") && grant.expires == expires));
        assert_eq!(std::fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
        // Twice is once; other digests and plugins are others.
        file.add("weather", "abc", all_kinds(), None).unwrap();
        assert_eq!(file.read().unwrap().len(), all_kinds().len());
        file.add("weather", "def", vec![Given::Files {}], None).unwrap();
        file.add("other", "abc", vec![Given::Files {}], None).unwrap();
        file.keep_only("weather", &["def"]).unwrap();
        assert_eq!(file.read().unwrap().len(), 2);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        let (_data, file) = file();
        let good = "plugin = \"a\"\ndigest = \"d\"\ngranted_at = 2026-01-01T00:00:00Z\n";
        let write = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
            file.read()
        };
        assert_eq!(write(&format!("[[grant]]\n{good}kind = \"files\"\n")).unwrap().len(), 1);
        for bad in [
            format!("[[grant]]\n{good}kind = \"files\"\nhost = \"x\"\n"),
            format!("[[grant]]\n{good}kind = \"everything\"\n"),
            format!("[[grant]]\n{good}"),
            format!("[[grant]]\n{good}kind = \"http\"\nhost = \"*\"\nport = 443\nscheme = \"https\"\nmethods = []\n"),
            format!(
                "[[grant]]\n{good}kind = \"http\"\nhost = \"a.example\"\nport = 443\nscheme = \"https\"\nmethods = []\nredirects = true\n"
            ),
            format!("[[grant]]\n{good}kind = \"directory\"\nname = \"d\"\naccess = \"read\"\n"),
            format!("[[grant]]\n{good}kind = \"files\"\nexpires = \"never\"\n"),
            format!("[[grant]]\n{good}kind = \"files\"\nexpires = 2030-01-01\n"),
            "[[grant]]\nkind = \"files\"\n".to_owned(),
            "[[grants]]\n".to_owned(),
            "grant = 1\n".to_owned(),
            "nonsense".to_owned(),
        ] {
            let failure = write(&bad).expect_err(&bad);
            assert_eq!(failure.code, "GRANTS_UNREADABLE", "{bad}");
        }
    }

    #[test]
    fn a_file_that_is_not_ours_grants_nothing() {
        let (_data, file) = file();
        file.add("a", "d", vec![Given::Files {}], None).unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(file.read().unwrap_err().code, "UNSAFE_DATA_DIR");
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(file.path(), "#".repeat(MOST_BYTES as usize + 1)).unwrap();
        assert_eq!(file.read().unwrap_err().code, "GRANTS_UNREADABLE");
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let (_data, file) = file();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let file = file.clone();
                scope.spawn(move || {
                    for variable in 0..8 {
                        let given = Given::Environment { name: format!("V{number}_{variable}"), value: String::new() };
                        file.add("a", "d", vec![given], None).unwrap();
                    }
                });
            }
        });
        assert_eq!(file.read().unwrap().len(), 64);
    }
}
