//! Where plugins come from: a file, a directory, an address, a registry. Whatever it is, it ends as bytes in memory, at most so
//! many and with the digest that was asked for; nothing is kept until the plugin was admitted.

mod address;
mod credentials;
mod download;
mod local;
mod registry;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use oci_client::Reference;
use reqwest::Url;

use crate::config::PluginSettings;
use crate::failure::{Class, Failure};
use crate::plugins::store::digest_of;

/// A place to get a plugin from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A component, or a directory with one and its plugin.toml.
    Path(PathBuf),
    Address(Url),
    Registry(Reference),
}

/// A plugin as it came, of which nothing is known yet.
#[derive(Debug)]
pub struct Fetched {
    pub wasm: Vec<u8>,
    /// The plugin.toml that lay beside it.
    pub manifest: Option<String>,
    /// The signature that lay beside it.
    pub signature: Option<String>,
    /// What to call it before it says its name.
    pub label: String,
    /// Where it can be got again.
    pub source: String,
}

/// What is asked of a source.
pub struct Wanted<'a> {
    pub settings: &'a PluginSettings,
    /// SHA-256 that the component must have.
    pub digest: Option<&'a str>,
    /// Whether unencrypted connections may leave the machine.
    pub allow_http: bool,
    /// Hears how many bytes have come, of how many if that is known.
    pub watch: &'a (dyn Fn(u64, Option<u64>) + Send + Sync),
}

impl Source {
    /// `oci://…` and `https://…` are what they say; everything else is a path.
    pub fn parse_ambient(text: &str) -> Result<Source, Failure> {
        if let Some(reference) = text.strip_prefix("oci://") {
            return registry::parse(reference).map(Source::Registry);
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            return address::parse(text).map(Source::Address);
        }
        if let Some((scheme, _)) = text.split_once("://") {
            return Err(Failure::invalid(format!("There is no way to get a plugin by {scheme}://."))
                .suggest("Use a path, an https:// address or an oci:// reference."));
        }
        let path = std::path::absolute(text).map_err(|error| Failure::invalid(format!("{text:?} is no path: {error}.")))?;
        if !path.exists() && registry::looks_like_one(text) {
            return Err(local::not_readable(&path, &std::io::ErrorKind::NotFound.into())
                .suggest(format!("If a registry is meant, say so: oci://{text}")));
        }
        Ok(Source::Path(path))
    }

    /// Gets the plugin.
    pub async fn fetch_ambient(&self, wanted: &Wanted<'_>) -> Result<Fetched, Failure> {
        let deadline = Duration::from_millis(wanted.settings.download_timeout_ms);
        let fetching = async {
            match self {
                Source::Path(path) => local::read_ambient(path, wanted),
                Source::Address(url) => address::fetch(url, wanted).await,
                Source::Registry(reference) => registry::pull(reference, wanted).await,
            }
        };
        let fetched = tokio::time::timeout(deadline, fetching).await.map_err(|_| {
            Failure::new(
                Class::Timeout,
                "DOWNLOAD_TIMEOUT",
                format!("{self} did not come within {} ms.", wanted.settings.download_timeout_ms),
            )
            .suggest("Try again, or raise plugins.download_timeout_ms.")
        })??;
        let digest = digest_of(&fetched.wasm);
        match wanted.digest {
            Some(expected) if expected != digest => Err(wrong_digest(&self.to_string(), expected, &digest)),
            _ => Ok(fetched),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Path(path) => write!(f, "{}", path.display()),
            Source::Address(url) => write!(f, "{url}"),
            Source::Registry(reference) => write!(f, "oci://{reference}"),
        }
    }
}

/// A digest as people write it, `sha256:` in front or not.
pub fn parse_digest(text: &str) -> Result<String, Failure> {
    let digits = text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase();
    match digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(digits),
        false => {
            Err(Failure::invalid(format!("{text:?} is not a SHA-256.")).suggest("Write it as sha256: and 64 hexadecimal digits."))
        }
    }
}

fn wrong_digest(what: &str, expected: &str, found: &str) -> Failure {
    Failure::new(Class::Forbidden, "DIGEST_MISMATCH", format!("{what} has the digest sha256:{found}, and not sha256:{expected}."))
        .suggest("It was changed on the way, or the digest belongs to another version.")
}

/// Larger plugins are refused while they come.
fn too_large(what: &str, most: u64) -> Failure {
    Failure::limit(format!("{what} has more than {most} bytes, which is the most that a plugin may have."))
        .suggest("See plugins.max_component_bytes.")
}
