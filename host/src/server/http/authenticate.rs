//! Who sent a request. Whoever shows nothing is nobody, and nobody is refused.

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use hyper::http::request::Parts;

use super::origin::only;
use super::reply::{self, Reply};
use crate::gate::Principal;

/// Turns what a request shows into a principal.
#[derive(Debug)]
pub struct Authenticator {
    /// Whether a request without any credential is the local user's. Only ever set on a loopback address, by the person who
    /// starts the server.
    pub allow_local: bool,
}

impl Authenticator {
    /// The principal behind a request, or the refusal. The body has not been looked at.
    pub fn identify(&self, request: &Parts) -> Result<Principal, Reply> {
        let shown = only(&request.headers, AUTHORIZATION.as_str()).map_err(|()| self.refuse(Some("two Authorization headers")))?;
        match shown {
            None if self.allow_local => Ok(Principal::local()),
            None => Err(self.refuse(None)),
            Some(_) => Err(self.refuse(Some("the token is not known"))),
        }
    }

    /// 401, with what a client needs to know to do better. What was shown is repeated nowhere.
    fn refuse(&self, wrong: Option<&str>) -> Reply {
        let mut reply = reply::hang_up(StatusCode::UNAUTHORIZED, "Authentication is required");
        let challenge = match wrong {
            None => "Bearer".to_owned(),
            Some(why) => format!("Bearer error=\"invalid_token\", error_description=\"{why}\""),
        };
        if let Ok(challenge) = HeaderValue::from_str(&challenge) {
            reply.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        reply
    }
}
