//! A guest's request, read in one way only and written anew: what cannot be read without doubt does not go out.

use std::net::IpAddr;

use http::header::{HOST, HeaderName, HeaderValue};
use http::{Request, Uri};

use super::hosts::{HostPattern, Scheme, normal_host, split_port};
use super::rules::{Wanted, is_method};

/// A header that the host puts into the requests to a host, so that the guest never holds what is in it.
#[derive(Clone)]
pub struct HeaderSecret {
    pub name: String,
    pub host: HostPattern,
    pub port: Option<u16>,
    /// Whether the grant says that it may go out unencrypted.
    pub in_the_open: bool,
    pub header: HeaderName,
    /// Marked as sensitive.
    pub value: HeaderValue,
}

impl HeaderSecret {
    /// Whether it goes with this request.
    pub fn goes_with(&self, wanted: &Wanted) -> bool {
        self.host.matches(&wanted.host) && self.port.is_none_or(|port| port == wanted.port)
    }

    /// Whether everybody on the way could read it: the request is not encrypted, leaves this machine, and nobody agreed to that.
    pub fn would_be_read(&self, wanted: &Wanted) -> bool {
        self.goes_with(wanted) && wanted.scheme == Scheme::Http && !self.in_the_open && !is_this_machine(&wanted.host)
    }
}

/// Whether a host is this machine by its name alone, whatever a resolver says.
fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// The longest target that is sent. Servers take 8 KiB as a rule.
const MOST_TARGET: usize = 16 << 10;

/// What a request asks for, in normal form; or why it cannot be told.
pub fn read<B>(request: &Request<B>) -> Result<Wanted, String> {
    let uri = request.uri();
    let scheme = match uri.scheme_str() {
        Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        other => return Err(format!("{:?} is not a scheme that can be used", other.unwrap_or_default())),
    };
    let authority = uri.authority().ok_or("it has no host")?.as_str();
    // `https://api.example.com@evil.example/` is at evil.example, and looks as if it were not.
    if authority.contains('@') {
        return Err("it has a user name before its host".to_owned());
    }
    let (host, port) = split_port(authority)?;
    let method = request.method().as_str();
    if !is_method(method) {
        return Err(format!("{method:?} is not a method that can be used"));
    }
    let path = target(uri)?;
    Ok(Wanted { method: method.to_owned(), scheme, host: normal_host(host)?, port: port.unwrap_or(scheme.default_port()), path })
}

/// Path and query as they go into the first line. Never a whole address: a server or proxy would take its host from there.
fn target(uri: &Uri) -> Result<String, String> {
    let raw = uri.path_and_query().map_or("/", |target| target.as_str());
    let target = if raw.is_empty() || raw.starts_with('?') { format!("/{raw}") } else { raw.to_owned() };
    match target.starts_with('/') && target.len() <= MOST_TARGET {
        true => Ok(target),
        false => Err("its path does not begin with a slash, or is too long".to_owned()),
    }
}

/// Writes it anew: the target without host, one `Host` that is the one that was checked, and the host's own headers over the
/// guest's.
pub fn write<B>(request: &mut Request<B>, wanted: &Wanted, secrets: &[HeaderSecret]) -> Result<(), String> {
    *request.uri_mut() = wanted.path.parse().map_err(|_| "its path cannot be sent".to_owned())?;
    *request.version_mut() = http::Version::HTTP_11;
    let host = HostPattern::Exact(wanted.host.clone());
    let named = match wanted.port == wanted.scheme.default_port() {
        true => host.to_string(),
        false => format!("{host}:{}", wanted.port),
    };
    let named = HeaderValue::try_from(named).map_err(|_| "its host cannot be sent".to_owned())?;
    request.headers_mut().insert(HOST, named);
    for secret in secrets {
        if secret.goes_with(wanted) {
            request.headers_mut().insert(secret.header.clone(), secret.value.clone());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &str) -> Request<()> {
        Request::builder().uri(uri).body(()).unwrap()
    }

    #[test]
    fn requests_are_read_in_one_way() {
        let wanted = read(&request("https://API.example.com/a?b=c")).unwrap();
        assert_eq!((wanted.host.as_str(), wanted.port, wanted.path.as_str()), ("api.example.com", 443, "/a?b=c"));
        assert_eq!(read(&request("http://[::1]:8080")).unwrap().host, "::1");
        for odd in [
            "https://user@example.com/",
            "https://example.com:80@evil.example/",
            "https://example.com:/",
            "https://example.com:0/",
            "https://example.com:99999/",
            "https://example.com./",
            "ftp://example.com/",
            "/no/host",
            "https://exam_ple..com/",
        ] {
            assert!(Uri::try_from(odd).is_err() || read(&request(odd)).is_err(), "{odd}");
        }
        for method in ["CONNECT", "TRACE", "get"] {
            let mut request = request("https://example.com/");
            *request.method_mut() = method.parse().unwrap();
            assert!(read(&request).is_err(), "{method}");
        }
    }

    #[test]
    fn what_is_sent_names_the_host_that_was_checked() {
        let mut request = request("https://api.example.com:8443/a");
        request.headers_mut().append(HOST, "evil.example".parse().unwrap());
        request.headers_mut().append(HOST, "worse.example".parse().unwrap());
        request.headers_mut().append("x-key", "mine".parse().unwrap());
        request.headers_mut().append("x-key", "also mine".parse().unwrap());
        let wanted = read(&request).unwrap();
        let secret = |host: &str| HeaderSecret {
            name: "key".into(),
            host: host.to_owned().try_into().unwrap(),
            port: None,
            in_the_open: false,
            header: HeaderName::from_static("x-key"),
            value: HeaderValue::from_static("the host's"),
        };
        write(&mut request, &wanted, &[secret("other.example")]).unwrap();
        assert_eq!(request.headers().get_all("x-key").iter().count(), 2);
        write(&mut request, &wanted, &[secret("api.example.com")]).unwrap();
        assert_eq!(request.uri().to_string(), "/a");
        assert_eq!(request.headers().get_all(HOST).iter().collect::<Vec<_>>(), ["api.example.com:8443"]);
        assert_eq!(request.headers().get_all("x-key").iter().collect::<Vec<_>>(), ["the host's"]);
    }

    #[test]
    fn a_secret_is_not_read_on_the_way() {
        let wanted = |url: &str| read(&request(url)).unwrap();
        let mut secret = HeaderSecret {
            name: "key".into(),
            host: "*.example.com".to_owned().try_into().unwrap(),
            port: None,
            in_the_open: false,
            header: HeaderName::from_static("x-key"),
            value: HeaderValue::from_static("the host's"),
        };
        assert!(secret.would_be_read(&wanted("http://api.example.com/")));
        assert!(!secret.would_be_read(&wanted("https://api.example.com/")));
        assert!(!secret.would_be_read(&wanted("http://example.org/")), "it does not go there at all");
        secret.in_the_open = true;
        assert!(!secret.would_be_read(&wanted("http://api.example.com/")));
        for (host, is_safe) in
            [("127.0.0.1", true), ("127.8.8.8", true), ("[::1]", true), ("[::ffff:127.0.0.1]", true), ("localhost", true)]
                .into_iter()
                .chain([("127.1", false), ("10.0.0.1", false), ("localhost.evil.example", false), ("[::]", false)])
        {
            let wanted = wanted(&format!("http://{host}/"));
            let own = HeaderSecret { host: HostPattern::Exact(wanted.host.clone()), in_the_open: false, ..secret.clone() };
            assert_eq!(own.would_be_read(&wanted), !is_safe, "{host}");
        }
    }
}
