//! The interface `secrets` in a unit test: those that the bench was given.

use super::stage;
use crate::bindings::plugin::zipfs::plugin::types::Error;

pub(crate) fn names() -> Vec<String> {
    stage::with(|stage| stage.secrets.iter().map(|(name, _)| name.clone()).collect()).unwrap_or_default()
}

pub(crate) fn reveal(name: &str) -> Result<Vec<u8>, Error> {
    let found = stage::with(|stage| {
        let declared = stage.capabilities.contains(&"secret");
        (declared, stage.secrets.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes.clone()))
    });
    match found {
        Some((true, Some(bytes))) => Ok(bytes),
        Some((true, None)) => Err(refused(format!("There is no secret '{name}' on this bench; see Bench::secret."))),
        Some((false, _)) => Err(refused("The tool does not declare that it uses 'secret'.".to_owned())),
        None => Err(refused("There are no secrets outside of a bench.".to_owned())),
    }
}

fn refused(message: String) -> Error {
    crate::Error::forbidden("SECRET_REFUSED", message).into()
}
