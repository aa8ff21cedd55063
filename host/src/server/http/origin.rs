//! Where a request wants to go and where it comes from.
//!
//! A web page can make the browser of its visitor send requests to a service on the visitor's own machine, under a name that its
//! author controls and lets point there (DNS rebinding), or straight. The first shows in `Host`, the second in `Origin`. Both are
//! compared whole: `localhost.evil.com` begins like a friend.

use std::net::{IpAddr, SocketAddr};

use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::{StatusCode, Version};

use super::refusal::Reason;
use super::reply::{self, Reply};
use crate::config::Http;

/// The names under which the service is reached, and the pages that may call it.
#[derive(Debug)]
pub struct Places {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Places {
    /// What follows from the address that is listened on, and what the configuration adds.
    pub fn of(address: SocketAddr, is_tls: bool, settings: &Http) -> Places {
        let port = address.port();
        let (scheme, usual) = if is_tls { ("https", 443) } else { ("http", 80) };
        let mut names: Vec<String> = Vec::new();
        let ip = address.ip();
        if ip.is_loopback() || ip.is_unspecified() {
            names.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        }
        // A literal address is no name that somebody could let point elsewhere.
        if !ip.is_unspecified() {
            names.push(literal(ip));
        }
        let mut places = Places { hosts: Vec::new(), origins: Vec::new() };
        for name in names {
            if port == usual {
                places.origins.push(format!("{scheme}://{name}"));
                places.hosts.push(name.clone());
            }
            places.origins.push(format!("{scheme}://{name}:{port}"));
            places.hosts.push(format!("{name}:{port}"));
        }
        for host in &settings.allowed_hosts {
            let host = host.to_ascii_lowercase();
            // Without a port: behind something that listens on the usual one, or reached directly.
            if !has_port(&host) {
                places.hosts.push(format!("{host}:{port}"));
            }
            places.hosts.push(host);
        }
        places.origins.extend(settings.allowed_origins.iter().cloned());
        places
    }

    /// Refuses what was not sent to us, or comes from a page that is not known. No body has been read by then.
    pub fn check(&self, request: &Parts) -> Result<(), Reply> {
        // `GET http://elsewhere/ HTTP/1.1` is spoken to proxies, and names two hosts.
        if request.uri.authority().is_some() || request.version < Version::HTTP_11 {
            return Err(reply::hang_up(StatusCode::BAD_REQUEST, "Send the path alone, and HTTP/1.1"));
        }
        let host = only(&request.headers, HOST.as_str())
            .map_err(|()| reply::hang_up(StatusCode::BAD_REQUEST, "There must be one Host header"))?
            .ok_or_else(|| reply::hang_up(StatusCode::BAD_REQUEST, "There is no Host header"))?;
        let host = host.to_str().unwrap_or_default().to_ascii_lowercase();
        if !self.hosts.contains(&host) {
            tracing::warn!(host, "refused a request for another host");
            let refused = reply::hang_up(StatusCode::FORBIDDEN, "This host name is not served here (http.allowed_hosts)");
            return Err(Reason::Host.mark(refused));
        }
        let origin = only(&request.headers, ORIGIN.as_str())
            .map_err(|()| reply::hang_up(StatusCode::FORBIDDEN, "There must be one Origin header at most"))
            .map_err(|refused| Reason::Origin.mark(refused))?;
        match origin {
            Some(origin) if !self.knows(origin) => {
                tracing::warn!(?origin, "refused a request from another origin");
                let refused = reply::hang_up(StatusCode::FORBIDDEN, "This origin may not call (http.allowed_origins)");
                Err(Reason::Origin.mark(refused))
            }
            _ => Ok(()),
        }
    }

    fn knows(&self, origin: &HeaderValue) -> bool {
        self.origins.iter().any(|known| known.as_bytes() == origin.as_bytes())
    }
}

/// The one value of a header, if there is any. Two could be read differently by two readers.
pub fn only<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a HeaderValue>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        _ => Err(()),
    }
}

fn literal(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(before, port)| port.bytes().all(|byte| byte.is_ascii_digit()) && !before.ends_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(settings: &Http) -> Places {
        Places::of("127.0.0.1:9999".parse().unwrap(), false, settings)
    }

    fn verdict(places: &Places, host: &str, origin: Option<&str>) -> u16 {
        let mut request = hyper::Request::builder().uri("/mcp").header("host", host);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        places.check(&parts).map_or_else(|reply| reply.status().as_u16(), |()| 200)
    }

    #[test]
    fn hosts_are_compared_whole() {
        let places = places(&Http { allowed_hosts: vec!["Zip.Example.com".into()], ..Http::default() });
        for good in ["localhost:9999", "LOCALHOST:9999", "127.0.0.1:9999", "[::1]:9999", "zip.example.com", "zip.example.com:9999"]
        {
            assert_eq!(verdict(&places, good, None), 200, "{good}");
        }
        for bad in [
            "evil.com",
            "localhost",
            "localhost:1",
            "localhost.evil.com:9999",
            "127.0.0.1.evil.com:9999",
            "localhost.:9999",
            "evil.zip.example.com",
            "zip.example.com.",
            "zip.example.com:1",
            "",
            "127.1:9999",
            "2130706433:9999",
            "0.0.0.0:9999",
        ] {
            assert_eq!(verdict(&places, bad, None), 403, "{bad}");
        }
    }

    #[test]
    fn origins_are_compared_byte_for_byte() {
        let places = places(&Http { allowed_origins: vec!["https://app.example.com".into()], ..Http::default() });
        let from = |origin: &str| verdict(&places, "localhost:9999", Some(origin));
        for good in ["http://localhost:9999", "http://127.0.0.1:9999", "http://[::1]:9999", "https://app.example.com"] {
            assert_eq!(from(good), 200, "{good}");
        }
        for bad in [
            "http://evil.com",
            "null",
            "http://localhost.evil.com",
            "http://localhost:1",
            "https://localhost:9999",
            "HTTP://localhost:9999",
            "http://Localhost:9999",
            "http://localhost.:9999",
            "http://[::2]:9999",
            "http://localhost:9999/",
            "https://app.example.com:443",
            "https://app.example.com.evil.com",
            "",
            " ",
        ] {
            assert_eq!(from(bad), 403, "{bad}");
        }
    }
}
