//! Names of hosts, in one form, and the patterns that manifests and grants are written in.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// Which hosts are meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum HostPattern {
    /// `*` in a manifest: whichever the grant names. Never in a grant.
    Any,
    /// `*.example.com`: every host below it, not itself.
    Below(String),
    /// One name or address.
    Exact(String),
}

impl HostPattern {
    pub fn matches(&self, host: &str) -> bool {
        match self {
            HostPattern::Any => true,
            HostPattern::Below(suffix) => {
                host.strip_suffix(suffix.as_str()).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
            }
            HostPattern::Exact(name) => name == host,
        }
    }

    /// Whether everything that the other means is meant.
    pub fn covers(&self, other: &HostPattern) -> bool {
        match (self, other) {
            (HostPattern::Any, _) => true,
            (HostPattern::Below(suffix), HostPattern::Below(below)) => suffix == below || self.matches(below),
            (_, HostPattern::Exact(name)) => self.matches(name),
            _ => false,
        }
    }

    /// The address, if one is named instead of a host.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            HostPattern::Exact(name) => name.parse().ok(),
            _ => None,
        }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = String;

    fn try_from(text: String) -> Result<HostPattern, String> {
        if text == "*" {
            return Ok(HostPattern::Any);
        }
        match text.strip_prefix("*.") {
            // `*.com` would be half of the internet.
            Some(suffix) if !suffix.contains('.') => {
                Err(format!("{text:?} means too many hosts; name at least two labels after `*.`"))
            }
            Some(suffix) => Ok(HostPattern::Below(normal_host(suffix)?)),
            None => Ok(HostPattern::Exact(normal_host(&text)?)),
        }
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> String {
        pattern.to_string()
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostPattern::Any => f.write_str("*"),
            HostPattern::Below(suffix) => write!(f, "*.{suffix}"),
            HostPattern::Exact(name) if name.contains(':') => write!(f, "[{name}]"),
            HostPattern::Exact(name) => f.write_str(name),
        }
    }
}

/// The one form in which hosts are compared: lower case, no final dot, addresses as the standard library writes them. Everything
/// that a resolver or a server might read differently than we do (percent signs, other alphabets, user names, spaces) is refused.
pub fn normal_host(raw: &str) -> Result<String, String> {
    let bare = raw.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(raw);
    if let Ok(address) = bare.parse::<Ipv6Addr>() {
        return Ok(address.to_string());
    }
    let fits = (1..=253).contains(&raw.len())
        && raw.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
                && !label.starts_with('-')
        });
    match fits {
        true => Ok(raw.to_ascii_lowercase()),
        false => Err(format!("{:?} is not the name of a host", raw.chars().take(80).collect::<String>())),
    }
}

/// `host`, `host:port`, `[v6]`, `[v6]:port`
pub fn split_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    let end = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[end..].rfind(':') {
        None => Ok((authority, None)),
        Some(at) => {
            let port = &authority[end + at + 1..];
            let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            let port = port.parse().ok().filter(|port| digits && *port != 0);
            Ok((&authority[..end + at], Some(port.ok_or_else(|| format!("{authority:?} has no port behind the colon"))?)))
        }
    }
}

/// The two that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> HostPattern {
        HostPattern::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn a_pattern_means_hosts_below_and_no_others() {
        let below = pattern("*.Example.com");
        assert!(below.matches("api.example.com") && below.matches("a.b.example.com"));
        for other in ["example.com", ".example.com", "evilexample.com", "example.com.evil.org", "api.example.org"] {
            assert!(!below.matches(other), "{other}");
        }
        assert!(below.covers(&pattern("x.example.com")) && below.covers(&pattern("*.eu.example.com")) && below.covers(&below));
        assert!(!below.covers(&pattern("*")) && !below.covers(&pattern("example.com")));
        assert!(!pattern("api.example.com").covers(&below));
    }

    #[test]
    fn hosts_have_one_form() {
        assert_eq!(normal_host("API.Example.COM").unwrap(), "api.example.com");
        assert_eq!(normal_host("[::0001]").unwrap(), "::1");
        assert_eq!(pattern("[::1]").to_string(), "[::1]");
        for odd in [
            "",
            ".",
            "a..b",
            "example.com.",
            "user@example.com",
            "exa%6dple.com",
            "éxample.com",
            "a b",
            "a:80",
            "-a.com",
            "[::1",
            "a/b",
        ] {
            assert!(normal_host(odd).is_err(), "{odd}");
        }
        assert!(HostPattern::try_from("*.com".to_owned()).is_err());
        assert!(HostPattern::try_from("api.*.com".to_owned()).is_err());
    }
}
