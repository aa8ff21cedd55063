//! Plugins at an address: `https://example.com/notes.wasm`.

use reqwest::{StatusCode, Url};

use super::download::{body, client, may_go, refused, send};
use super::{Fetched, Wanted};
use crate::failure::Failure;

/// A signature is four lines.
const MOST_SIGNATURE: u64 = 4 << 10;

pub(super) fn parse(text: &str) -> Result<Url, Failure> {
    let url = Url::parse(text).map_err(|error| Failure::invalid(format!("{text:?} is not an address: {error}.")))?;
    // The address is kept, and shown.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Failure::invalid("The address holds a name or a password, which would be kept with the plugin.")
            .suggest("Download the file yourself, or publish it in a registry."));
    }
    Ok(url)
}

pub(super) async fn fetch(url: &Url, wanted: &Wanted<'_>) -> Result<Fetched, Failure> {
    may_go(url, wanted.allow_http)?;
    let client = client(wanted.allow_http)?;
    let response = send(client.get(url.clone())).await?;
    if response.status() != StatusCode::OK {
        return Err(refused(url.as_str(), response.status()));
    }
    let wasm = body(response, wanted.settings.max_component_bytes, url.as_str(), wanted).await?;
    let signature = match wanted.settings.trusted_keys.is_empty() {
        true => None,
        false => fetch_signature(&client, url, wanted).await?,
    };
    let file = url.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default();
    let label = file.strip_suffix(".wasm").unwrap_or("plugin").to_owned();
    Ok(Fetched { wasm, manifest: None, signature, label, source: url.to_string() })
}

/// The signature beside the file, as minisign names it. Many have none.
async fn fetch_signature(client: &reqwest::Client, url: &Url, wanted: &Wanted<'_>) -> Result<Option<String>, Failure> {
    let mut beside = url.clone();
    beside.set_path(&format!("{}.minisig", url.path()));
    let response = send(client.get(beside.clone())).await?;
    if response.status() != StatusCode::OK {
        return Ok(None);
    }
    let quiet = Wanted { watch: &|_, _| {}, ..*wanted };
    let text = body(response, MOST_SIGNATURE, beside.as_str(), &quiet).await?;
    Ok(String::from_utf8(text).ok())
}
