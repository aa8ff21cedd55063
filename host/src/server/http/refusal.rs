//! Why a request does not become a call: for those who look after the service, as a number and as a line now and then.

use hyper::StatusCode;

use super::reply::Reply;

/// Marked on an answer. There are few, and no client can make up more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Sent to a name that is not ours.
    Host,
    /// From a page that may not call.
    Origin,
    /// Without any credential, as clients begin that look for a way to get one.
    Anonymous,
    /// With one that is not good.
    Credentials,
    /// With one that cannot be checked now.
    Unchecked,
    /// For something that is not a tool and needs another role.
    Role,
    /// More often than the principal may.
    Rate,
    /// All connections are busy.
    Connections,
    /// More than is read.
    Size,
    /// Slower than is waited for.
    Pace,
    /// No HTTP, or no message.
    Malformed,
    /// In a transport session that there is not, or is another's.
    Session,
    /// At an address where nothing is, or for a method that is not known.
    Address,
    /// In a way that the protocol does not allow.
    Protocol,
}

impl Reason {
    /// For Prometheus.
    pub fn label(self) -> &'static str {
        match self {
            Reason::Host => "host",
            Reason::Origin => "origin",
            Reason::Anonymous => "no_credentials",
            Reason::Credentials => "bad_credentials",
            Reason::Unchecked => "credentials_unchecked",
            Reason::Role => "role",
            Reason::Rate => "rate",
            Reason::Connections => "connections",
            Reason::Size => "size",
            Reason::Pace => "pace",
            Reason::Malformed => "malformed",
            Reason::Session => "session",
            Reason::Address => "address",
            Reason::Protocol => "protocol",
        }
    }

    /// For the audit log, in the form of the codes of calls.
    pub fn code(self) -> &'static str {
        match self {
            Reason::Host => "HOST_REFUSED",
            Reason::Origin => "ORIGIN_REFUSED",
            Reason::Anonymous => "NO_CREDENTIALS",
            Reason::Credentials => "BAD_CREDENTIALS",
            Reason::Unchecked => "CREDENTIALS_UNCHECKED",
            Reason::Role => "PERMISSION_DENIED",
            Reason::Rate => "TOO_MANY_REQUESTS",
            Reason::Connections => "TOO_MANY_CONNECTIONS",
            Reason::Size => "BODY_TOO_LARGE",
            Reason::Pace => "BODY_TOO_SLOW",
            Reason::Malformed => "MALFORMED",
            Reason::Session => "NO_SUCH_TRANSPORT_SESSION",
            Reason::Address => "NOT_FOUND",
            Reason::Protocol => "PROTOCOL_ERROR",
        }
    }

    /// What an answer says that is not marked; nothing if it says that all is well.
    pub fn of(reply: &Reply) -> Option<Reason> {
        let marked = reply.extensions().get::<Reason>().copied();
        marked.or_else(|| match reply.status() {
            StatusCode::UNAUTHORIZED => Some(Reason::Credentials),
            StatusCode::FORBIDDEN => Some(Reason::Role),
            StatusCode::NOT_FOUND => Some(Reason::Address),
            StatusCode::REQUEST_TIMEOUT => Some(Reason::Pace),
            StatusCode::PAYLOAD_TOO_LARGE => Some(Reason::Size),
            StatusCode::TOO_MANY_REQUESTS => Some(Reason::Rate),
            StatusCode::BAD_REQUEST => Some(Reason::Malformed),
            StatusCode::SERVICE_UNAVAILABLE => Some(Reason::Unchecked),
            status if status.is_client_error() || status.is_server_error() => Some(Reason::Protocol),
            _ => None,
        })
    }

    pub fn mark(self, mut reply: Reply) -> Reply {
        reply.extensions_mut().insert(self);
        reply
    }
}
