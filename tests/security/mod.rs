//! What cannot happen.

mod admission;
mod archives;
mod audit;
mod directories;
mod endpoints;
mod grants;
mod hostile;
mod http;
mod paths;
mod secrets;
mod serve;
mod tls;
mod typed;
mod wasmcp;
