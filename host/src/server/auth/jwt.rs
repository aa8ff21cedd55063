//! Signed tokens (JWT, RFC 7519): HS256 by the secret of this installation, RS256 and ES256 by issuers that the configuration names.
//!
//! The algorithm is never chosen by the token: HS256 is only ever checked with the local secret, the others only ever with public
//! keys of their own kind. `none`, and a public key used as a shared secret, have nowhere to go.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::keys::Keys;
use super::refused::Refused;
use super::secret::Secret;
use crate::config::{Auth, Config, Issuer, PrincipalLimits};
use crate::failure::Failure;
use crate::gate::scopes::Scopes;
use crate::gate::{Principal, PrincipalKind};
use crate::plugins::Role;
use crate::workspace::reach::Reach;

/// Longer tokens than this are not looked at. Test: `security::serve::credentials`.
const MOST_BYTES: usize = 8 << 10;

/// Who signs the tokens of `zipfs token mint`, and whom they are for.
const OURS: &str = "zipfs";

/// Everything that signed tokens are checked with.
#[derive(Debug)]
pub struct Jwts {
    secret: Secret,
    settings: Auth,
    limits: PrincipalLimits,
    issuers: Vec<(Issuer, Keys)>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    typ: Option<String>,
    #[serde(default)]
    kid: Option<String>,
    /// Extensions that must be understood. We understand none.
    #[serde(default)]
    crit: Option<Value>,
}

/// What a token says. Unknown claims are for others.
#[derive(Debug, Serialize, Deserialize)]
pub struct Claims {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iss: Option<String>,
    pub sub: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aud: Option<Audience>,
    pub exp: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iat: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    fn includes(&self, wanted: &str) -> bool {
        match self {
            Audience::One(one) => one == wanted,
            Audience::Several(several) => several.iter().any(|one| one == wanted),
        }
    }
}

impl Jwts {
    pub fn of(config: &Config) -> Jwts {
        let settings = config.settings.auth.clone();
        let issuers = settings.issuers.iter().map(|issuer| (issuer.clone(), Keys::of(issuer, &settings))).collect();
        Jwts { secret: Secret::of(&config.data), settings, limits: config.settings.http.limits, issuers }
    }

    /// Whether any such token could be accepted.
    pub fn is_possible(&self) -> bool {
        !self.issuers.is_empty() || matches!(self.secret.key(), Ok(Some(_)))
    }

    /// The issuers, for clients that look for somebody to get a token from.
    pub fn issuers(&self) -> Vec<&str> {
        self.issuers.iter().map(|(issuer, _)| issuer.issuer.as_str()).collect()
    }

    /// Whether it has the form of such a token.
    pub fn is_one(shown: &str) -> bool {
        shown.split('.').count() == 3
    }

    /// The principal that a token speaks of, if all of it holds.
    pub async fn principal(&self, token: &str) -> Result<Principal, Refused> {
        const MALFORMED: &str = "the token is malformed";
        if token.len() > MOST_BYTES {
            return Err(MALFORMED.into());
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(MALFORMED)?;
        let (header, claims) = signed.split_once('.').ok_or(MALFORMED)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| MALFORMED);
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| MALFORMED)?;
        let signature = decode(signature)?;
        if header.crit.is_some() || header.typ.as_deref().is_some_and(|typ| !is_token_type(typ)) {
            return Err("the token is of a kind that is not accepted".into());
        }
        let claims = decode(claims)?;
        // Before the signature is checked, only to know whose it should be.
        let claims: Claims =
            serde_json::from_slice(&claims).map_err(|_| "the token lacks `sub` or `exp`, or a claim is malformed")?;
        let issuer = match header.alg.as_str() {
            "HS256" => {
                let key = self.secret.key().map_err(|failure| {
                    tracing::error!(%failure, "tokens of this installation cannot be checked");
                    "the token cannot be checked"
                })?;
                let key = key.ok_or("the signature is not valid")?;
                hmac::verify(&key, signed.as_bytes(), &signature).map_err(|_| "the signature is not valid")?;
                None
            }
            algorithm @ ("RS256" | "ES256") => {
                let named = claims.iss.as_deref().ok_or("the token names no issuer")?;
                let (issuer, keys) =
                    self.issuers.iter().find(|(issuer, _)| issuer.issuer == named).ok_or("the issuer is not trusted here")?;
                keys.verify(algorithm, header.kid.as_deref(), signed.as_bytes(), &signature).await?;
                Some(issuer)
            }
            _ => return Err("the algorithm is not accepted".into()),
        };
        self.check_claims(&claims, issuer)?;
        Ok(self.principal_of(&claims, issuer))
    }

    fn check_claims(&self, claims: &Claims, issuer: Option<&Issuer>) -> Result<(), &'static str> {
        let now = jiff::Timestamp::now().as_second().max(0) as u64;
        let skew = self.settings.clock_skew_s;
        if claims.exp.saturating_add(skew) <= now {
            return Err("the token has expired");
        }
        let is_future = |time: Option<u64>| time.is_some_and(|time| time > now.saturating_add(skew));
        if is_future(claims.nbf) || is_future(claims.iat) {
            return Err("the token is not valid yet");
        }
        let wanted = self.settings.audience.as_deref();
        let fits = match (issuer, &claims.aud) {
            // Nobody else has the secret, so a token without an audience cannot have been meant for somebody else.
            (None, None) => claims.iss.as_deref().is_none_or(|iss| iss == OURS),
            (None, Some(audience)) => {
                claims.iss.as_deref().is_none_or(|iss| iss == OURS)
                    && (audience.includes(OURS) || wanted.is_some_and(|wanted| audience.includes(wanted)))
            }
            (Some(_), Some(audience)) => wanted.is_some_and(|wanted| audience.includes(wanted)),
            (Some(_), None) => false,
        };
        if !fits {
            return Err("the token was made for somebody else");
        }
        if claims.sub.is_empty() || claims.sub.len() > 256 || claims.sub.chars().any(char::is_control) {
            return Err("`sub` names nobody");
        }
        Ok(())
    }

    fn principal_of(&self, claims: &Claims, issuer: Option<&Issuer>) -> Principal {
        let scopes = Scopes::parse(claims.scope.as_deref().unwrap_or_default());
        let (claim, default, most) = match issuer {
            Some(issuer) => (issuer.role_claim.as_str(), issuer.default_role, issuer.most_role),
            // A scope to write would be worth nothing to a viewer.
            None => ("role", if scopes.can_write() { Role::Operator } else { Role::Viewer }, Role::Admin),
        };
        let role = claims.others.get(claim).and_then(Value::as_str).and_then(Role::by_name).unwrap_or(default).min(most);
        let id = match issuer {
            Some(issuer) => format!("jwt:{}#{}", issuer.issuer, claims.sub),
            None => format!("jwt:{}", claims.sub),
        };
        Principal {
            id: id.into(),
            name: claims.sub.as_str().into(),
            role,
            scopes: Some(Arc::new(scopes)),
            kind: PrincipalKind::Jwt,
            open_roots: issuer.map_or_else(Reach::nothing, |issuer| Reach::Named(issuer.open_roots.as_slice().into())),
            limits: issuer.and_then(|issuer| issuer.limits).unwrap_or(self.limits),
        }
    }
}

impl Claims {
    /// The token that says this, signed by the secret of this installation.
    pub fn sign(mut self, secret: &Secret) -> Result<String, Failure> {
        (self.iss, self.aud) = (Some(OURS.into()), Some(Audience::One(OURS.into())));
        let key = secret.make()?;
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({"alg": "HS256", "typ": "JWT"})), part(&json!(self)));
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, signed.as_bytes()));
        Ok(format!("{signed}.{signature}"))
    }
}

/// An identity token, or one that encrypts something, is signed by the same key and says something else.
fn is_token_type(typ: &str) -> bool {
    let typ = typ.to_ascii_lowercase();
    matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt")
}
