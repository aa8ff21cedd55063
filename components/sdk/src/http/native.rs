//! Requests in a unit test: to the function that the bench was given.

use super::{Request, Response};
use crate::Error;
use crate::testing::stage;

pub(super) fn send(request: &Request) -> Result<Response, Error> {
    let found = stage::with(|stage| (stage.capabilities.contains(&"http"), stage.http.clone()));
    match found {
        Some((true, Some(answer))) => {
            let mut response = answer(request)?;
            response.url.clone_from(&request.url);
            Ok(response)
        }
        Some((true, None)) => {
            Err(Error::internal("HOST_NEEDED", "This bench was not told what answers requests; see Bench::http."))
        }
        Some((false, _)) => Err(Error::forbidden("HTTP_REFUSED", "The tool does not declare that it uses 'http'.")),
        None => Err(Error::internal("HOST_NEEDED", "There are no requests outside of a bench.")),
    }
}
