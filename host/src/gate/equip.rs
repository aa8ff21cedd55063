//! What was agreed on, as handles and values: directories opened, secrets read, rules made. Each call anew, so that what changes
//! outside takes effect with the next one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::{HeaderName, HeaderValue};

use super::agree::Agreed;
use super::open::Gate;
use crate::failure::{Class, Failure};
use crate::plugins::Found;
use crate::plugins::grants::Given;
use crate::plugins::manifest::{DirectoryAccess, EndpointKind, SecretAsk};
use crate::plugins::places;
use crate::plugins::secrets::Secret;
use crate::sandbox::Capability;
use crate::sandbox::egress::grpc::{Address, Service};
use crate::sandbox::egress::{Egress, HeaderSecret, Rules, Scheme};
use crate::sandbox::guest::{Directory, Equipment};
use crate::sandbox::imports::endpoints::Endpoints;
use crate::sandbox::imports::secrets::NamedSecret;
use crate::sandbox::uses::Uses;
use crate::workspace::quota::Allowance;

impl Gate {
    /// Turns grants into what a guest is given. Whatever is granted and not there is an error: half of it would be a surprise.
    pub(super) fn equip(&self, found: &Found, agreed: &Agreed, read_only: bool, uses: &Arc<Uses>) -> Result<Equipment, Failure> {
        let mut equipment = Equipment { environment: defaults(found, agreed), ..Equipment::default() };
        if agreed.grants.is_empty() {
            return Ok(equipment);
        }
        let manifest = &found.plugin.manifest;
        let plugin: Arc<str> = manifest.name.as_str().into();
        let (mut rules, mut headers) = (Vec::new(), Vec::new());
        let (mut unix, mut grpc) = (BTreeMap::new(), BTreeMap::new());
        for grant in &agreed.grants {
            match &grant.given {
                Given::Http { host, port, scheme, .. } => {
                    equipment.given.push(("http", format!("{}://{host}:{port}", scheme.name())));
                    rules.extend(grant.given.rule());
                }
                Given::Directory { name, path, access } => {
                    let Some(ask) = manifest.directory.iter().find(|ask| ask.name == *name) else { continue };
                    let dir = places::open_ambient(path, self.config.data.root())?;
                    let writes = ask.access.min(*access) == DirectoryAccess::Write && !read_only;
                    let calls = &self.config.settings.calls;
                    let allowance = writes.then(|| Allowance::fixed(calls.directory_bytes, calls.directory_files));
                    let allowance = allowance.map(|allowance| Arc::new(Mutex::new(allowance)));
                    equipment.given.push(("directory", ask.guest.clone()));
                    equipment.directories.push(Directory { dir, guest_path: ask.guest.clone(), allowance });
                }
                Given::Environment { name, value } => {
                    // It has it with its first breath: to be given it is to use it.
                    uses.note(Capability::Environment, name.clone());
                    equipment.given.push(("environment", name.clone()));
                    equipment.environment.push((name.clone(), value.clone()));
                }
                Given::Secret { name, host, port, scheme } => {
                    let Some(ask) = manifest.secret.iter().find(|ask| ask.name == *name) else { continue };
                    let secret = self.secrets.get(&manifest.name, name)?;
                    equipment.given.push(("secret", name.clone()));
                    let bytes = match &ask.header {
                        Some(header) => {
                            let host = host.clone().or_else(|| ask.host.clone());
                            let host = host.ok_or_else(|| unfit(ask, "it has no host"))?;
                            headers.push(HeaderSecret {
                                name: name.clone(),
                                host,
                                port: *port,
                                in_the_open: *scheme == Some(Scheme::Http),
                                header: name_of(ask, header)?,
                                value: value_of(ask, &secret)?,
                            });
                            None
                        }
                        None => Some(secret.expose().to_vec()),
                    };
                    equipment.secrets.push(NamedSecret { name: name.clone(), bytes });
                }
                Given::Endpoint { name, address, ca } => {
                    let Some(ask) = manifest.endpoint.iter().find(|ask| ask.name == *name) else { continue };
                    let address =
                        Address::parse(address).map_err(|why| Failure::invalid(format!("The endpoint {name}: {why}.")))?;
                    let service = Service { address, ca: ca.clone() };
                    equipment.given.push(("endpoint", name.clone()));
                    match ask.kind {
                        EndpointKind::Unix => unix.insert(name.clone(), service),
                        EndpointKind::Grpc => grpc.insert(name.clone(), service),
                    };
                }
                Given::Files {} => equipment.given.push(("files", "files".into())),
                Given::Sessions {} => equipment.given.push(("sessions", "sessions".into())),
                Given::Limits { .. } | Given::Root { .. } => {}
            }
        }
        if !rules.is_empty() {
            let asked = manifest.http.iter().map(|ask| ask.rule()).collect();
            let rules = Rules { asked, granted: rules, read_only };
            equipment.egress = Some(Arc::new(Egress::new(plugin, rules, headers, self.network.clone(), uses.clone())));
        }
        if !unix.is_empty() || !grpc.is_empty() {
            equipment.endpoints = Some(Arc::new(Endpoints::new(unix, grpc, self.network.clone())));
        }
        Ok(equipment)
    }
}

/// Variables that have a value of the manifest's, for a tool that declares that it uses some, unless another was granted.
fn defaults(found: &Found, agreed: &Agreed) -> Vec<(String, String)> {
    if !found.tool().access.capabilities.contains(&Capability::Environment) {
        return Vec::new();
    }
    let is_granted =
        |wanted: &str| agreed.grants.iter().any(|grant| matches!(&grant.given, Given::Environment { name, .. } if name == wanted));
    let asks = found.plugin.manifest.environment.iter().filter(|ask| !is_granted(&ask.name));
    asks.filter_map(|ask| Some((ask.name.clone(), ask.default.clone()?))).collect()
}

fn name_of(ask: &SecretAsk, header: &str) -> Result<HeaderName, Failure> {
    HeaderName::try_from(header).map_err(|_| unfit(ask, "its header has no such name"))
}

/// The header as it is sent. Nothing of the secret is in the error.
fn value_of(ask: &SecretAsk, secret: &Secret) -> Result<HeaderValue, Failure> {
    let format = ask.format.as_deref().unwrap_or("{}");
    let (before, after) = format.split_once("{}").unwrap_or((format, ""));
    let bytes = [before.as_bytes(), secret.expose(), after.as_bytes()].concat();
    let mut value = HeaderValue::from_bytes(&bytes).map_err(|_| unfit(ask, "what is stored cannot be sent in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn unfit(ask: &SecretAsk, why: &str) -> Failure {
    Failure::new(Class::Forbidden, "SECRET_UNFIT", format!("The secret {} cannot be used: {why}.", ask.name))
        .suggest("Store it again.")
}
