//! Which requests may go out: a request passes if the manifest asked for it and a grant allows it.

use super::hosts::{HostPattern, Scheme};

/// One line of a manifest or of the grants, in the same form, so that both are read in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub host: HostPattern,
    /// `None` for any, which only a manifest says that leaves the host to the grant.
    pub port: Option<u16>,
    pub scheme: Option<Scheme>,
    pub methods: Vec<String>,
    /// Requests besides GET and HEAD that change nothing, for tools that count as read-only. Only a manifest has them.
    pub reads: Vec<ReadPattern>,
    /// Whether the host may be at an address that is not public. Only a grant says so.
    pub private: bool,
}

/// `POST /api/*/search`: a method and a path in which `*` stands for one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPattern {
    method: String,
    segments: Vec<String>,
}

/// What a guest wants to send, in normal form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub method: String,
    pub scheme: Scheme,
    pub host: String,
    pub port: u16,
    pub path: String,
}

impl Rule {
    pub fn allows(&self, wanted: &Wanted) -> bool {
        self.reaches(wanted.scheme, &wanted.host, wanted.port) && self.methods.contains(&wanted.method)
    }

    /// The same without the method.
    pub fn reaches(&self, scheme: Scheme, host: &str, port: u16) -> bool {
        self.host.matches(host)
            && self.port.is_none_or(|allowed| allowed == port)
            && self.scheme.is_none_or(|allowed| allowed == scheme)
    }

    /// Whether everything that the other allows is allowed.
    pub fn covers(&self, other: &Rule) -> bool {
        self.host.covers(&other.host)
            && (self.port.is_none() || self.port == other.port)
            && (self.scheme.is_none() || self.scheme == other.scheme)
            && other.methods.iter().all(|method| self.methods.contains(method))
    }

    fn reads(&self, wanted: &Wanted) -> bool {
        self.allows(wanted) && (is_safe(&wanted.method) || self.reads.iter().any(|pattern| pattern.matches(wanted)))
    }
}

/// What a call's requests are measured by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    pub asked: Vec<Rule>,
    pub granted: Vec<Rule>,
    /// Whether only such requests go out that change nothing: the tool is shown as read-only, and that would be a lie otherwise.
    pub read_only: bool,
}

/// Which of the three does not agree to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objection {
    NotAsked,
    NotGranted,
    MayChange,
}

impl Rules {
    /// Finds the grant under which a request may go out.
    pub fn permit(&self, wanted: &Wanted) -> Result<&Rule, Objection> {
        if !self.asked.iter().any(|rule| rule.allows(wanted)) {
            return Err(Objection::NotAsked);
        }
        let granted = self.granted.iter().find(|rule| rule.allows(wanted)).ok_or(Objection::NotGranted)?;
        match self.read_only && !self.asked.iter().any(|rule| rule.reads(wanted)) {
            true => Err(Objection::MayChange),
            false => Ok(granted),
        }
    }
}

/// Methods that change nothing, by their definition. TRACE is not among them: it sends headers back that the host added.
fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

impl ReadPattern {
    pub fn parse(text: &str) -> Result<ReadPattern, String> {
        let wrong = || format!("{text:?} is not a method and a path, as in \"POST /search\"");
        let (method, path) = text.split_once(' ').ok_or_else(wrong)?;
        let path = path.strip_prefix('/').ok_or_else(wrong)?;
        if !is_method(method) || path.contains(['?', '#', '%', ' ']) {
            return Err(wrong());
        }
        Ok(ReadPattern { method: method.to_owned(), segments: path.split('/').map(str::to_owned).collect() })
    }

    /// Segment by segment. A path with dots or escapes in it could be read differently by the server, and does not match.
    fn matches(&self, wanted: &Wanted) -> bool {
        let path = wanted.path.split('?').next().unwrap_or_default();
        let Some(path) = path.strip_prefix('/') else { return false };
        let odd = |segment: &str| segment.is_empty() || segment.contains(['%', '\\', ';']) || segment == "." || segment == "..";
        let segments: Vec<&str> = path.split('/').collect();
        self.method == wanted.method
            && segments.len() == self.segments.len()
            && segments.iter().zip(&self.segments).all(|(found, meant)| !odd(found) && (meant == "*" || meant == found))
    }
}

/// Methods as they are sent: capital letters. CONNECT and TRACE are none of ours.
pub fn is_method(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
        && !matches!(text, "CONNECT" | "TRACE")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(host: &str, methods: &[&str], reads: &[&str]) -> Rule {
        Rule {
            host: host.to_owned().try_into().unwrap(),
            port: Some(443),
            scheme: Some(Scheme::Https),
            methods: methods.iter().map(|&method| method.into()).collect(),
            reads: reads.iter().map(|text| ReadPattern::parse(text).unwrap()).collect(),
            private: false,
        }
    }

    fn wanted(method: &str, host: &str, path: &str) -> Wanted {
        Wanted { method: method.into(), scheme: Scheme::Https, host: host.into(), port: 443, path: path.into() }
    }

    #[test]
    fn both_have_to_agree() {
        let asked = vec![rule("*.example.com", &["GET", "POST"], &[])];
        let rules = Rules { asked, granted: vec![rule("api.example.com", &["GET", "DELETE"], &[])], read_only: false };
        let api = wanted("GET", "api.example.com", "/");
        assert!(rules.permit(&api).is_ok());
        for (method, host, objection) in [
            ("POST", "api.example.com", Objection::NotGranted),
            ("GET", "www.example.com", Objection::NotGranted),
            ("DELETE", "api.example.com", Objection::NotAsked),
            ("GET", "example.org", Objection::NotAsked),
        ] {
            assert_eq!(rules.permit(&wanted(method, host, "/")), Err(objection), "{method} {host}");
        }
        assert!(Rules::default().permit(&api).is_err());
        assert!(rules.permit(&Wanted { port: 8443, ..api.clone() }).is_err());
        assert!(rules.permit(&Wanted { scheme: Scheme::Http, ..api }).is_err());
    }

    #[test]
    fn read_only_tools_only_read() {
        let asked = vec![rule("a.example", &["GET", "POST"], &["POST /api/*/search"])];
        let rules = Rules { asked, granted: vec![rule("a.example", &["GET", "POST"], &[])], read_only: true };
        let may = |method: &str, path: &str| rules.permit(&wanted(method, "a.example", path)).is_ok();
        assert!(may("GET", "/anything") && may("POST", "/api/things/search") && may("POST", "/api/things/search?q=1"));
        for path in
            ["/api/things", "/api/things/search/more", "/api/../search", "/api//search", "/api/%2e%2e/search", "/", "/api/x/delete"]
        {
            assert_eq!(rules.permit(&wanted("POST", "a.example", path)), Err(Objection::MayChange), "{path}");
        }
    }

    #[test]
    fn methods_are_what_is_sent() {
        assert!(is_method("GET") && is_method("PROPFIND"));
        for odd in ["", "get", "GET ", "CONNECT", "TRACE", "G\r\nET"] {
            assert!(!is_method(odd), "{odd:?}");
        }
    }
}
