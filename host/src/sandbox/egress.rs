//! Ways out: what is asked of the network, by whom, and where it may go.

pub mod addresses;
pub mod hosts;
pub mod request;
pub mod rules;

pub use hosts::{HostPattern, Scheme, normal_host, split_port};
pub use request::HeaderSecret;
pub use rules::{ReadPattern, Rule, Wanted, is_method, permit};
