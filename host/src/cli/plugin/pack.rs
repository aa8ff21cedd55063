//! `zipfs plugin pack`, `sign` and `keygen`: one file to hand on, and who stands behind it.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::console::Console;
use crate::config::PluginSettings;
use crate::failure::{Class, Failure};
use crate::plugins::anatomy::{dissect, with_manifest};
use crate::plugins::manifest::Manifest;
use crate::plugins::signing::{needs_password, new_key, sign};
use crate::plugins::source::{Source, Wanted};
use crate::plugins::store::digest_of;

#[derive(Debug, clap::Args)]
pub struct PackArgs {
    /// A directory with plugin.toml and one .wasm file.
    pub directory: PathBuf,
    /// Where to write the packed plugin. By default its name and version, here.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Sign it with this secret key.
    #[arg(long, value_name = "FILE")]
    pub sign: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct SignArgs {
    /// A packed plugin, or a component.
    pub file: PathBuf,
    /// The secret key, of `zipfs plugin keygen` or of minisign.
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
}

#[derive(Debug, clap::Args)]
pub struct KeygenArgs {
    /// Where to write the secret key. The public one is written beside it, with `.pub` behind its name.
    pub file: PathBuf,
}

pub async fn pack(console: &Console, args: &PackArgs) -> Result<(), Failure> {
    let settings = PluginSettings::default();
    let wanted = Wanted { settings: &settings, digest: None, allow_http: false, watch: &|_, _| {} };
    let fetched = Source::Path(args.directory.clone()).fetch_ambient(&wanted).await?;
    let Some(text) = fetched.manifest else {
        return Err(Failure::invalid(format!(
            "{} is not a directory with plugin.toml and one .wasm file.",
            args.directory.display()
        )));
    };
    let manifest = Manifest::parse(&text)?;
    let mut packed = with_manifest(&fetched.wasm, &text)?;
    let mut key = None;
    if let Some(file) = &args.sign {
        let (signed, id) = sign_with(&packed, file)?;
        (packed, key) = (signed, Some(id));
    }
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}-{}.wasm", manifest.name, manifest.version)));
    write(&output, &packed, 0o644)?;
    let digest = digest_of(&packed);
    let result = json!({"packed": manifest.name, "version": manifest.version, "file": output, "digest": digest,
                        "bytes": packed.len(), "key": key});
    console.confirm(&result, |_| {
        let by = key.as_ref().map(|key| format!(", signed by {key}")).unwrap_or_default();
        format!("Packed {} {} as {}{by}.\nsha256:{digest}\n", manifest.name, manifest.version, output.display())
    })
}

pub async fn sign_file(console: &Console, args: &SignArgs) -> Result<(), Failure> {
    let wasm = std::fs::read(&args.file).map_err(|error| unreadable(&args.file, &error))?;
    let (signed, key) = sign_with(&wasm, &args.key)?;
    write(&args.file, &signed, 0o644)?;
    let digest = digest_of(&signed);
    let covers = dissect(&signed)?.manifest.is_some();
    let result = json!({"signed": args.file, "key": key, "digest": digest, "manifest": covers});
    console.confirm(&result, |_| format!("Signed {} with the key {key}.\nsha256:{digest}\n", args.file.display()))
}

pub async fn keygen(console: &Console, args: &KeygenArgs) -> Result<(), Failure> {
    let key = new_key()?;
    let public = PathBuf::from(format!("{}.pub", args.file.display()));
    // A key that is lost cannot be made again, so none is overwritten.
    for (path, text, mode) in [(&args.file, &key.secret, 0o600), (&public, &key.public, 0o644)] {
        let created = std::fs::File::options().write(true).create_new(true).mode(mode).open(path);
        created.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| unwritable(path, &error))?;
    }
    let result = json!({"key": key.id, "secret": args.file, "public": public, "trusted_key": key.line});
    console.confirm(&result, |_| {
        format!(
            "Made the key {}. Keep {} secret; it has no password.\nWho trusts it puts this into plugins.trusted_keys:\n{}\n",
            key.id,
            args.file.display(),
            key.line
        )
    })
}

/// The password of a key that has one is asked for by nobody: a command that waits for a person is none for scripts.
fn sign_with(wasm: &[u8], key: &Path) -> Result<(Vec<u8>, String), Failure> {
    let text = std::fs::read_to_string(key).map_err(|error| unreadable(key, &error))?;
    let password = match needs_password(&text) {
        true => std::env::var("ZIPFS_KEY_PASSWORD").ok(),
        false => None,
    };
    sign(wasm, &text, password)
}

/// Beside it first, so that nobody finds half of it.
fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let aside = PathBuf::from(format!("{}.new", path.display()));
    let written = std::fs::File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&aside)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| std::fs::rename(&aside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&aside);
    }
    written.map_err(|error| unwritable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Class::NotFound, "FILE_NOT_FOUND", format!("{} cannot be read: {error}.", path.display()))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Class::Conflict, "FILE_NOT_WRITTEN", format!("{} cannot be written: {error}.", path.display()))
        .suggest("Nothing that was there before was changed.")
}
