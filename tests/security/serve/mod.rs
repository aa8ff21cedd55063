//! The HTTP service against the network: wrong places, wrong people, wrong bytes, and patience.

mod credentials;
mod origin;
mod principals;
mod roles;
mod rpc;
mod slow;
mod stop;
mod transfer;
mod wire;
