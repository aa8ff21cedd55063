//! Names and passwords for registries, where `docker login` and its kin keep them.

use docker_credential::{CredentialRetrievalError, DockerCredential};
use oci_client::secrets::RegistryAuth;

use crate::failure::{Class, Failure};

/// Docker keeps those of its own registry under the address of its first version.
const DOCKER_HUB: (&str, &str) = ("index.docker.io", "https://index.docker.io/v1/");

/// `ZIPFS_REGISTRY_TOKEN`, else `ZIPFS_REGISTRY_USERNAME` with `ZIPFS_REGISTRY_PASSWORD`, else what Docker's configuration has for
/// the registry, helpers included. Nothing is as good as an answer: most registries let everybody read.
pub(super) async fn find_ambient(registry: &str) -> Result<RegistryAuth, Failure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(token) = variable("ZIPFS_REGISTRY_TOKEN") {
        return Ok(RegistryAuth::Bearer(token));
    }
    if let (Some(name), Some(password)) = (variable("ZIPFS_REGISTRY_USERNAME"), variable("ZIPFS_REGISTRY_PASSWORD")) {
        return Ok(RegistryAuth::Basic(name, password));
    }
    let server = if registry == DOCKER_HUB.0 { DOCKER_HUB.1 } else { registry }.to_owned();
    // A helper is a program that may ask a keyring, which may ask a person.
    let found = tokio::task::spawn_blocking(move || docker_credential::get_credential(&server))
        .await
        .map_err(|error| Failure::internal(format!("The credentials cannot be read: {error}.")))?;
    match found {
        Ok(DockerCredential::UsernamePassword(name, password)) => Ok(RegistryAuth::Basic(name, password)),
        Ok(DockerCredential::IdentityToken(_)) => Err(unusable(registry, "an identity token, which is not supported")),
        Err(
            CredentialRetrievalError::ConfigNotFound
            | CredentialRetrievalError::ConfigReadError
            | CredentialRetrievalError::NoCredentialConfigured,
        ) => Ok(RegistryAuth::Anonymous),
        // What a helper printed may hold a password.
        Err(CredentialRetrievalError::HelperFailure { helper, .. }) => {
            Err(unusable(registry, &format!("a helper, `{helper}`, which failed")))
        }
        Err(error) => Err(unusable(registry, &format!("what cannot be used ({error})"))),
    }
}

fn unusable(registry: &str, what: &str) -> Failure {
    Failure::new(Class::Forbidden, "NOT_AUTHORIZED", format!("Docker's configuration has for {registry} {what}."))
        .suggest("Set ZIPFS_REGISTRY_USERNAME and ZIPFS_REGISTRY_PASSWORD.")
}
