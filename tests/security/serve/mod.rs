//! The HTTP service against the network: wrong places, wrong people, wrong bytes, and patience.

mod accounts;
mod credentials;
mod issuers;
mod origin;
mod principals;
mod roles;
mod rpc;
mod signer;
mod slow;
mod stop;
mod transfer;
mod whereabouts;
mod wire;
