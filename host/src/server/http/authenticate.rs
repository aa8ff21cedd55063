//! Who sent a request. Whoever shows nothing is nobody, and nobody is refused.

use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HOST, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use serde_json::json;

use super::origin::only;
use super::refusal::Reason;
use super::reply::{self, Reply};
use crate::config::{Config, PrincipalLimits};
use crate::failure::Failure;
use crate::gate::Principal;
use crate::server::auth::{Jwts, Refused, Tokens};

/// Turns what a request shows into a principal.
#[derive(Debug)]
pub struct Authenticator {
    tokens: Tokens,
    jwts: Jwts,
    limits: PrincipalLimits,
    audience: Option<String>,
    scheme: &'static str,
    /// Whether a request without any credential is the local user's. Only ever set on a loopback address, by the person who
    /// starts the server.
    allow_local: bool,
}

impl Authenticator {
    pub fn of(config: &Config, is_tls: bool, allow_local: bool) -> Authenticator {
        Authenticator {
            tokens: Tokens::of(&config.data),
            jwts: Jwts::of(config),
            limits: config.settings.http.limits,
            audience: config.settings.auth.audience.clone(),
            scheme: if is_tls { "https" } else { "http" },
            allow_local,
        }
    }

    /// Whether anybody could show something that is accepted.
    pub fn is_possible(&self) -> Result<bool, Failure> {
        Ok(!self.tokens.all()?.is_empty() || self.jwts.is_possible())
    }

    /// The principal behind a request, or the refusal. The body has not been looked at.
    pub async fn identify(&self, request: &Parts) -> Result<Principal, Reply> {
        let refuse = |why| self.refuse(request, Some(why));
        let shown = only(&request.headers, AUTHORIZATION.as_str()).map_err(|()| refuse("there are two Authorization headers"))?;
        let Some(shown) = shown else {
            return if self.allow_local { Ok(Principal::local()) } else { Err(Reason::Anonymous.mark(self.refuse(request, None))) };
        };
        let token = shown.to_str().ok().and_then(bearer).ok_or_else(|| refuse("it is no bearer token"))?;
        match self.tokens.principal(token, self.limits) {
            Ok(Some(principal)) => return Ok(principal),
            Ok(None) => {}
            Err(failure) => {
                tracing::error!(%failure, "tokens cannot be checked");
                return Err(reply::hang_up(StatusCode::SERVICE_UNAVAILABLE, "Tokens cannot be checked now"));
            }
        }
        if !Jwts::is_one(token) {
            return Err(refuse("the token is not known"));
        }
        self.jwts.principal(token).await.map_err(|refused| match refused {
            Refused::Token(why) => refuse(why),
            Refused::Later { why, wait } => {
                let mut reply = reply::hang_up(StatusCode::SERVICE_UNAVAILABLE, why);
                reply.headers_mut().insert(RETRY_AFTER, wait.as_secs().max(1).into());
                reply
            }
        })
    }

    /// 401, with what a client needs to know to do better. What was shown is repeated nowhere.
    fn refuse(&self, request: &Parts, wrong: Option<&str>) -> Reply {
        let reply = reply::hang_up(StatusCode::UNAUTHORIZED, "Authentication is required");
        let wrong = wrong.map(|why| format!("error=\"invalid_token\", error_description=\"{why}\""));
        self.challenge(request, reply, wrong)
    }

    /// 403 for a principal that may not do this, with the scope that it would need.
    pub fn forbid(&self, request: &Parts, reply: Reply, scope: Option<&str>) -> Reply {
        let scope = scope.map(|scope| format!(", scope=\"{}\"", scope.replace(['"', '\\'], ""))).unwrap_or_default();
        self.challenge(request, reply, Some(format!("error=\"insufficient_scope\"{scope}")))
    }

    fn challenge(&self, request: &Parts, mut reply: Reply, more: Option<String>) -> Reply {
        let mut parts: Vec<String> = more.into_iter().collect();
        parts.push(format!(
            "resource_metadata=\"{}/.well-known/oauth-protected-resource{}\"",
            self.base(request),
            resource(request)
        ));
        // What is not fit for a header is left out rather than the challenge.
        let challenge = HeaderValue::from_str(&format!("Bearer {}", parts.join(", ")));
        reply.headers_mut().insert(WWW_AUTHENTICATE, challenge.unwrap_or(HeaderValue::from_static("Bearer")));
        reply
    }

    /// What this service is as a resource (RFC 9728): where tokens for it come from, and what they are made out to.
    pub fn describe(&self, request: &Parts) -> Reply {
        let path = request.uri.path().trim_start_matches("/.well-known/oauth-protected-resource");
        let path = if path.is_empty() { "/mcp" } else { path };
        let described = json!({
            "resource": self.audience.clone().unwrap_or_else(|| format!("{}{path}", self.base(request))),
            "authorization_servers": self.jwts.issuers(),
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["read:/", "write:/"],
            "resource_name": "zipfs",
        });
        reply::json(StatusCode::OK, &described)
    }

    /// The service as this client writes it. The header was compared with the names that are known.
    fn base(&self, request: &Parts) -> String {
        format!("{}://{}", self.scheme, request.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost"))
    }
}

/// The resource that a request is for, as the address of its description has it.
fn resource(request: &Parts) -> &str {
    let path = request.uri.path();
    if path == "/mcp" || path.starts_with("/mcp/") { path } else { "" }
}

/// The token, whatever the case of the scheme (RFC 9110). One space, and nothing else in it that would not be in a token.
fn bearer(shown: &str) -> Option<&str> {
    let (scheme, token) = shown.split_once(' ')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.bytes().all(plain)).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bearer_token_is_one() {
        for good in ["Bearer abc", "bearer abc", "BEARER a.b-c_d~e+f/g="] {
            assert!(bearer(good).is_some(), "{good}");
        }
        for bad in [
            "abc",
            "Bearer",
            "Bearer ",
            "Bearer  abc",
            "Bearer abc ",
            "Bearer a b",
            "Basic abc",
            "Bearer a\0",
            "Bearer\tabc",
            "Bearerabc",
        ] {
            assert!(bearer(bad).is_none(), "{bad}");
        }
    }
}
