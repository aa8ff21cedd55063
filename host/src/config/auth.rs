//! Whose tokens the HTTP service accepts, under `auth` in `config.json`. Tokens that `zipfs token` makes need nothing of it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::http::PrincipalLimits;
use crate::failure::Failure;
use crate::plugins::Role;
use crate::workspace::reach::OpenRoot;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// What tokens of others must be made out to: the address of this service as its clients write it.
    pub audience: Option<String>,
    /// Whose signatures are trusted.
    pub issuers: Vec<Issuer>,
    /// How far the clocks of issuers may be off, in seconds.
    pub clock_skew_s: u64,
    /// How long the keys of an issuer are used before they are asked for again, in seconds. An issuer that withdraws a key expects
    /// clients to notice.
    pub keys_fresh_s: u64,
    /// How long must pass between two askings, in seconds: tokens that name made-up keys must not become requests to the issuer.
    /// Test: `security::serve::issuers::made_up_keys_do_not_become_requests`.
    pub keys_pause_s: u64,
}

/// Somebody who signs tokens with RS256 or ES256.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issuer {
    /// As the claim `iss` has it.
    pub issuer: String,
    /// Where its public keys are: an https address, or a file.
    #[serde(default)]
    pub jwks_url: Option<String>,
    #[serde(default)]
    pub jwks_file: Option<PathBuf>,
    /// Certificates (PEM) that vouch for that address, in place of the public ones.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// The claim that holds the role.
    #[serde(default = "role_claim")]
    pub role_claim: String,
    /// The role of whoever has none.
    #[serde(default = "default_role")]
    pub default_role: Role,
    /// The most that the claim can give.
    #[serde(default = "most_role")]
    pub most_role: Role,
    /// Which archives of this host its principals may open and sync.
    #[serde(default)]
    pub open_roots: Vec<OpenRoot>,
    /// What each of its principals may use; absent for `http.limits`.
    #[serde(default)]
    pub limits: Option<PrincipalLimits>,
}

fn role_claim() -> String {
    "role".to_owned()
}

fn default_role() -> Role {
    Role::Viewer
}

/// Somebody else's directory does not make administrators here, unless it is said that it may.
fn most_role() -> Role {
    Role::Operator
}

impl Default for Auth {
    fn default() -> Self {
        Auth { audience: None, issuers: Vec::new(), clock_skew_s: 60, keys_fresh_s: 600, keys_pause_s: 10 }
    }
}

/// With more, a token that was stolen long ago would still be good.
const MOST_SKEW_S: u64 = 300;

/// A key that was withdrawn is not good for longer than this while its issuer can be asked.
const MOST_FRESH_S: u64 = 3600;

/// With more, a new key would not be known for long.
const MOST_PAUSE_S: u64 = 300;

impl Auth {
    pub fn check(&self) -> Result<(), Failure> {
        if self.clock_skew_s > MOST_SKEW_S {
            return Err(Failure::invalid(format!("auth.clock_skew_s is {}, but may be {MOST_SKEW_S} at most.", self.clock_skew_s)));
        }
        if self.keys_fresh_s > MOST_FRESH_S {
            return Err(Failure::invalid(format!(
                "auth.keys_fresh_s is {}, but may be {MOST_FRESH_S} at most.",
                self.keys_fresh_s
            )));
        }
        if !(1..=MOST_PAUSE_S).contains(&self.keys_pause_s) {
            let message = format!("auth.keys_pause_s is {}, but must be 1 to {MOST_PAUSE_S}.", self.keys_pause_s);
            return Err(Failure::invalid(message).suggest("With none, whoever sends made-up tokens makes us send requests."));
        }
        if !self.issuers.is_empty() && self.audience.is_none() {
            return Err(Failure::invalid("auth.issuers without auth.audience would accept tokens that were made for others.")
                .suggest("Set auth.audience to the address of this service."));
        }
        for issuer in &self.issuers {
            let named = &issuer.issuer;
            if issuer.jwks_url.is_some() == issuer.jwks_file.is_some() {
                return Err(Failure::invalid(format!("auth.issuers: {named:?} needs either jwks_url or jwks_file.")));
            }
            // `http://127.0.0.1:80@evil.com/` is at evil.com.
            if let Some(url) = &issuer.jwks_url
                && ((!url.starts_with("https://") && !url.starts_with("http://127.0.0.1:")) || url.contains('@'))
            {
                return Err(Failure::invalid(format!("auth.issuers: the keys of {named:?} must come over https."))
                    .suggest("Whoever can change them on the way can sign tokens."));
            }
            if let Some(odd) = issuer.open_roots.iter().find(|root| !root.is_sound()) {
                return Err(Failure::invalid(format!("auth.issuers: {named:?} has an open root {:?}, which is none.", odd.name)));
            }
        }
        Ok(())
    }
}
