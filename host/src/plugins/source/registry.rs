//! Plugins in an OCI registry: `oci://ghcr.io/someone/notes:1.2.0`, as `wkg oci push` and others publish components.
//!
//! The client library knows references, manifests and how to get a token. The two downloads are our own, since they must end: it
//! reads a manifest of any size into memory.

use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::manifest::{OciDescriptor, OciImageIndex, OciImageManifest, OciManifest};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client as TokenClient, Reference, RegistryOperation};
use reqwest::header::{ACCEPT, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode, Url};

use super::download::{body, client, is_loopback, may_go, refused, send};
use super::{Fetched, Wanted, credentials, too_large, wrong_digest};
use crate::failure::{Class, Failure};
use crate::plugins::store::digest_of;

/// A manifest names a few layers.
const MOST_MANIFEST: u64 = 1 << 20;

const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";

/// Layers that are components: what the field publishes now, and what it published before.
const COMPONENTS: [&str; 3] =
    ["application/wasm", "application/vnd.wasm.content.layer.v1+wasm", "application/vnd.module.wasm.content.layer.v1+wasm"];

pub(super) fn parse(text: &str) -> Result<Reference, Failure> {
    let reference: Reference = text.parse().map_err(|error| {
        Failure::invalid(format!("oci://{text} is not a reference: {error}."))
            .suggest("Write it as oci://registry/name:tag, with @sha256:… for one that cannot change.")
    })?;
    match reference.digest() {
        Some(digest) if !digest.starts_with("sha256:") => {
            Err(Failure::invalid(format!("oci://{text} has a digest that is not a SHA-256.")))
        }
        // The library takes them, registries do not.
        _ if reference.repository().bytes().any(|byte| byte.is_ascii_uppercase()) => {
            Err(Failure::invalid(format!("oci://{text} is not a reference: names in a registry are lower case.")))
        }
        _ => Ok(reference),
    }
}

/// `ghcr.io/someone/notes:1.2.0`, which could also be a path, if there were one.
pub(super) fn looks_like_one(text: &str) -> bool {
    let Some((host, _)) = text.split_once('/') else { return false };
    !host.starts_with('.') && !host.is_empty() && host.contains(['.', ':']) && text.parse::<Reference>().is_ok()
}

pub(super) async fn pull(reference: &Reference, wanted: &Wanted<'_>) -> Result<Fetched, Failure> {
    let visit = Visit::begin(reference, wanted).await?;
    let manifest = visit.manifest().await?;
    let layer = the_component(reference, &manifest)?;
    let wasm = visit.blob(layer).await?;
    let label = reference.repository().rsplit('/').next().unwrap_or("plugin").to_owned();
    Ok(Fetched { wasm, manifest: None, signature: None, label, source: format!("oci://{reference}") })
}

/// One conversation with a registry.
struct Visit<'a> {
    reference: &'a Reference,
    wanted: &'a Wanted<'a>,
    client: Client,
    base: String,
    auth: RegistryAuth,
}

impl<'a> Visit<'a> {
    /// Finds out whether the registry wants to know who asks. Credentials are looked for, and sent, only if it does.
    async fn begin(reference: &'a Reference, wanted: &'a Wanted<'a>) -> Result<Visit<'a>, Failure> {
        let registry = reference.resolve_registry();
        let host = registry.rsplit_once(':').map_or(registry, |(host, _)| host);
        let scheme = if wanted.allow_http || is_loopback(host) { "http" } else { "https" };
        let base = format!("{scheme}://{registry}/v2/{}", reference.repository());
        let mut visit = Visit { reference, wanted, client: client(wanted.allow_http)?, base, auth: RegistryAuth::Anonymous };
        let version = reference.digest().or(reference.tag()).unwrap_or("latest");
        let response = visit.get(&format!("manifests/{version}")).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            visit.auth = visit.authenticate(&response, registry, scheme).await?;
        }
        Ok(visit)
    }

    async fn authenticate(&self, response: &Response, registry: &str, scheme: &str) -> Result<RegistryAuth, Failure> {
        let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        // A registry may send us elsewhere for a token. A password does not go there unencrypted.
        if let Some(realm) = challenge.split("realm=\"").nth(1).and_then(|rest| rest.split('"').next())
            && let Ok(realm) = Url::parse(realm)
        {
            may_go(&realm, self.wanted.allow_http)?;
        }
        let found = credentials::find_ambient(registry).await?;
        let protocol = if scheme == "http" { ClientProtocol::Http } else { ClientProtocol::Https };
        let tokens = TokenClient::new(ClientConfig { protocol, ..ClientConfig::default() });
        match tokens.auth(self.reference, &found, RegistryOperation::Pull).await {
            Ok(Some(token)) => Ok(RegistryAuth::Bearer(token)),
            Ok(None) => Ok(found),
            Err(OciDistributionError::AuthenticationFailure(_)) => Err(not_authorized(self.reference, &found)),
            Err(error) => Err(Failure::new(Class::Internal, "DOWNLOAD_FAILED", format!("{registry} gives no token: {error}."))),
        }
    }

    async fn get(&self, what: &str) -> Result<Response, Failure> {
        let request = self.client.get(format!("{}/{what}", self.base)).header(ACCEPT, MANIFESTS);
        send(match &self.auth {
            RegistryAuth::Anonymous => request,
            RegistryAuth::Basic(name, password) => request.basic_auth(name, Some(password)),
            RegistryAuth::Bearer(token) => request.bearer_auth(token),
        })
        .await
    }

    async fn manifest(&self) -> Result<OciImageManifest, Failure> {
        let version = self.reference.digest().or(self.reference.tag()).unwrap_or("latest");
        match self.manifest_by(version).await? {
            OciManifest::Image(manifest) => Ok(manifest),
            OciManifest::ImageIndex(index) => match self.manifest_by(the_image(self.reference, &index)?).await? {
                OciManifest::Image(manifest) => Ok(manifest),
                OciManifest::ImageIndex(_) => Err(invalid(self.reference, "its index names another index")),
            },
        }
    }

    async fn manifest_by(&self, version: &str) -> Result<OciManifest, Failure> {
        let what = format!("oci://{} ({version})", self.reference);
        let response = self.get(&format!("manifests/{version}")).await?;
        if response.status() == StatusCode::UNAUTHORIZED || response.status() == StatusCode::FORBIDDEN {
            return Err(not_authorized(self.reference, &self.auth));
        }
        if response.status() != StatusCode::OK {
            return Err(refused(&what, response.status()));
        }
        let bytes = body(response, MOST_MANIFEST, &what, &Wanted { watch: &|_, _| {}, ..*self.wanted }).await?;
        // What was asked for by digest is what it is, whoever answers.
        if let Some(expected) = version.strip_prefix("sha256:")
            && digest_of(&bytes) != expected
        {
            return Err(wrong_digest(&what, expected, &digest_of(&bytes)));
        }
        serde_json::from_slice(&bytes).map_err(|error| invalid(self.reference, &format!("its manifest cannot be read ({error})")))
    }

    async fn blob(&self, layer: &OciDescriptor) -> Result<Vec<u8>, Failure> {
        let what = format!("oci://{} ({})", self.reference, layer.digest);
        let most = self.wanted.settings.max_component_bytes;
        if u64::try_from(layer.size).is_ok_and(|size| size > most) {
            return Err(too_large(&what, most));
        }
        let expected = layer
            .digest
            .strip_prefix("sha256:")
            .ok_or_else(|| invalid(self.reference, "its component has a digest that is not a SHA-256"))?;
        let response = self.get(&format!("blobs/{}", layer.digest)).await?;
        if response.status() != StatusCode::OK {
            return Err(refused(&what, response.status()));
        }
        let bytes = body(response, most, &what, self.wanted).await?;
        let found = digest_of(&bytes);
        match found == expected {
            true => Ok(bytes),
            false => Err(wrong_digest(&what, expected, &found)),
        }
    }
}

/// The one layer that is a component.
fn the_component<'a>(reference: &Reference, manifest: &'a OciImageManifest) -> Result<&'a OciDescriptor, Failure> {
    let mut layers = manifest.layers.iter().filter(|layer| COMPONENTS.contains(&layer.media_type.as_str()));
    match (layers.next(), layers.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(invalid(reference, "none of its layers is a WebAssembly component")),
        (Some(_), Some(_)) => Err(invalid(reference, "more than one of its layers is a WebAssembly component")),
    }
}

/// The one image of an index, or the one of it that is for WebAssembly.
fn the_image<'a>(reference: &Reference, index: &'a OciImageIndex) -> Result<&'a str, Failure> {
    let for_wasm = |entry: &&oci_client::manifest::ImageIndexEntry| {
        entry.platform.as_ref().is_some_and(|platform| platform.architecture.to_string().starts_with("wasm"))
    };
    match index.manifests.as_slice() {
        [only] => Ok(&only.digest),
        several => {
            let mut fitting = several.iter().filter(for_wasm);
            match (fitting.next(), fitting.next()) {
                (Some(only), None) => Ok(&only.digest),
                _ => Err(invalid(reference, "it is an index of several images, not one of which is for WebAssembly")),
            }
        }
    }
}

fn invalid(reference: &Reference, why: &str) -> Failure {
    Failure::new(Class::Invalid, "PLUGIN_INVALID", format!("oci://{reference} is not a plugin: {why}."))
        .suggest("Publish the component with wkg oci push, or with another tool that writes a layer of type application/wasm.")
}

fn not_authorized(reference: &Reference, with: &RegistryAuth) -> Failure {
    let registry = reference.resolve_registry();
    let why = match with {
        RegistryAuth::Anonymous => "wants to know who asks, and there are no credentials for it",
        RegistryAuth::Basic(..) | RegistryAuth::Bearer(_) => "does not accept the credentials that are there for it",
    };
    Failure::new(Class::Forbidden, "NOT_AUTHORIZED", format!("oci://{reference} cannot be read: {registry} {why}."))
        .suggest(format!("Log in with docker login {registry}, or set ZIPFS_REGISTRY_USERNAME and ZIPFS_REGISTRY_PASSWORD."))
}
