//! Secrets of plugins: one file each, readable by their owner only, in no workspace and in no message.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use super::manifest::check_plugin_name;
use crate::config::{DataDir, check_private};
use crate::failure::{Class, Failure};

/// Keys and tokens are short; a certificate chain is the longest that anybody has. Test: `security::secrets`.
pub const MOST_BYTES: u64 = 64 << 10;

/// Any bit for others is too much.
const ANY_FOR_OTHERS: u32 = 0o077;

/// The bytes of a secret. It has no way to be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// A line feed at the end comes from the editor or `echo`, not from whoever issued the secret.
    pub fn from_raw(mut bytes: Vec<u8>) -> Result<Secret, Failure> {
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        match bytes.len() as u64 {
            0 => Err(Failure::invalid("The secret is empty.")),
            long if long > MOST_BYTES => Err(Failure::limit(format!("A secret has at most {MOST_BYTES} bytes."))),
            _ => Ok(Secret(bytes)),
        }
    }

    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

/// The directory of secrets: `secrets/<plugin>/<name>`.
#[derive(Debug, Clone)]
pub struct Secrets {
    root: PathBuf,
}

impl Secrets {
    pub fn new(data: &DataDir) -> Secrets {
        Secrets { root: data.secrets() }
    }

    pub fn put(&self, plugin: &str, name: &str, secret: &Secret) -> Result<(), Failure> {
        let path = self.path(plugin, name)?;
        let put = || -> io::Result<()> {
            let parent = path.parent().unwrap_or(&self.root);
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            let aside = parent.join(format!(".{}", uuid::Uuid::new_v4().simple()));
            let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
            let done = file.write_all(&secret.0).and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&aside, &path));
            if done.is_err() {
                let _ = std::fs::remove_file(&aside);
            }
            done
        };
        put().map_err(|error| Failure::internal(format!("The secret {name} cannot be kept: {error}.")))
    }

    pub fn get(&self, plugin: &str, name: &str) -> Result<Secret, Failure> {
        let path = self.path(plugin, name)?;
        let missing = |why: String| {
            Failure::new(
                Class::Forbidden,
                "SECRET_MISSING",
                format!("The secret {name} of the plugin {plugin} is granted, but {why}."),
            )
            .suggest(format!("Store it: zipfs plugin grant {plugin} secret={name}"))
        };
        check_private(&self.root, ANY_FOR_OTHERS)?;
        check_private(&path, ANY_FOR_OTHERS)?;
        let mut bytes = Vec::new();
        let read = std::fs::File::open(&path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(|error| missing(format!("it cannot be read: {error}")))?;
        Secret::from_raw(bytes).map_err(|failure| missing(failure.message))
    }

    pub fn remove(&self, plugin: &str, name: &str) -> Result<(), Failure> {
        match std::fs::remove_file(self.path(plugin, name)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::internal(format!("The secret {name} cannot be removed: {error}.")))
            }
            _ => Ok(()),
        }
    }

    /// All secrets of a plugin that is no more.
    pub fn forget(&self, plugin: &str) -> Result<(), Failure> {
        check_plugin_name(plugin)?;
        match std::fs::remove_dir_all(self.root.join(plugin)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::internal(format!("The secrets of {plugin} cannot be removed: {error}.")))
            }
            _ => Ok(()),
        }
    }

    /// Both names are checked where they are made; here once more, since they become a path.
    fn path(&self, plugin: &str, name: &str) -> Result<PathBuf, Failure> {
        check_plugin_name(plugin)?;
        let fits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        match fits {
            true => Ok(self.root.join(plugin).join(name)),
            false => Err(Failure::invalid(format!("{name:?} cannot be the name of a secret."))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_kept_for_its_owner_and_never_shown() {
        let data = tempfile::tempdir().unwrap();
        let secrets = Secrets::new(&DataDir::at(data.path()));
        assert_eq!(secrets.get("weather", "key").unwrap_err().code, "SECRET_MISSING");
        let secret = Secret::from_raw(b"s3cr3t\r\n".to_vec()).unwrap();
        assert!(!format!("{secret:?}").contains("s3cr3t"));
        secrets.put("weather", "key", &secret).unwrap();
        assert_eq!(secrets.get("weather", "key").unwrap().expose(), b"s3cr3t");
        let path = data.path().join("secrets/weather/key");
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&data.path().join("secrets"))), (0o600, 0o700));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(secrets.get("weather", "key").unwrap_err().code, "UNSAFE_DATA_DIR");
        secrets.forget("weather").unwrap();
        assert!(!path.exists());
        for odd in ["../x", "", "a/b", "."] {
            assert!(secrets.put("weather", odd, &secret).is_err(), "{odd}");
        }
        assert!(Secret::from_raw(b"\n".to_vec()).is_err());
        assert!(Secret::from_raw(vec![b'x'; MOST_BYTES as usize + 1]).is_err());
    }
}
