//! Ways out: what a call may ask of the network, and how it is sent. No other code of the sandbox opens a connection.

pub mod addresses;
pub mod body;
pub mod connect;
pub mod grpc;
pub mod hosts;
pub mod request;
pub mod rules;
pub mod send;
pub mod tls;

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::uses::Uses;
use crate::config::EgressLimits;
pub use hosts::{HostPattern, Scheme, normal_host, split_port};
pub use request::HeaderSecret;
pub use rules::{ReadPattern, Rule, Rules, Wanted, is_method};
pub use tls::Tls;

/// What all calls of a process share on their way out.
pub struct Network {
    pub limits: EgressLimits,
    pub tls: Tls,
    /// Lookups of names hold a thread each, for as long as the resolver takes.
    pub lookups: Arc<Semaphore>,
    /// Requests of all calls together.
    pub requests: Arc<Semaphore>,
}

/// Names that are looked up at the same time. Each holds a thread of the runtime's pool until the resolver answers.
const LOOKUPS: usize = 16;

impl Network {
    pub fn new(limits: EgressLimits) -> Network {
        Network {
            tls: Tls::new(limits.extra_roots.clone()),
            lookups: Arc::new(Semaphore::new(LOOKUPS)),
            requests: Arc::new(Semaphore::new(limits.total_requests as usize)),
            limits,
        }
    }
}

/// What one call may ask of the network by HTTP.
pub struct Egress {
    pub plugin: Arc<str>,
    pub rules: Rules,
    pub secrets: Vec<HeaderSecret>,
    pub network: Arc<Network>,
    pub uses: Arc<Uses>,
    /// Requests of this call that are on their way.
    own: Arc<Semaphore>,
}

impl Egress {
    pub fn new(plugin: Arc<str>, rules: Rules, secrets: Vec<HeaderSecret>, network: Arc<Network>, uses: Arc<Uses>) -> Egress {
        let own = Arc::new(Semaphore::new(network.limits.requests_per_call as usize));
        Egress { plugin, rules, secrets, network, uses, own }
    }
}
