//! `zipfs serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::output::{print, remark};
use crate::config::Config;
use crate::failure::Failure;
use crate::gate::Gate;
use crate::sandbox::Shape;
use crate::server::http::{Certificate, Serving, serve_http};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address and port. Port 0 takes any that is free. Without it 127.0.0.1:9999, or the port that the plugin served alone is known by.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// Serve one plugin, under its own name and with its own names of tools.
    #[arg(long, value_name = "PLUGIN")]
    pub only: Option<String>,
    /// Speak TLS with this certificate chain (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The key of that certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Take whoever reaches the port without a token for the local user, who may do everything. Only on a loopback address.
    #[arg(long)]
    pub allow_local: bool,
}

pub async fn run(config: Config, args: &Args) -> Result<(), Failure> {
    let gate = Gate::open(config, Shape::Server).await?;
    if args.allow_local {
        remark(
            "WARNING: --allow-local: every program and every user of this machine can do through this port what you can do, \
             without a token.",
        );
    }
    let certificate = args.tls_cert.clone().zip(args.tls_key.clone()).map(|(chain, key)| Certificate { chain, key });
    let scheme = if certificate.is_some() { "https" } else { "http" };
    if let Some(only) = &args.only {
        gate.prepare_root(only)?;
    }
    let listen = args.listen.unwrap_or_else(|| usual_place(&gate, args.only.as_deref()));
    let serving = Serving { listen, only: args.only.clone(), allow_local: args.allow_local, certificate };
    serve_http(gate, serving, |address| {
        let _ = print(&format!("zipfs serves on {scheme}://{address}\n"));
    })
    .await
}

/// Where it listens where nobody says: on this machine only.
fn usual_place(gate: &Gate, only: Option<&str>) -> SocketAddr {
    const PORT: u16 = 9999;
    let registry = gate.registry();
    let alone = registry.plugins.iter().find(|plugin| Some(&*plugin.description.name) == only);
    let port = alone.and_then(|plugin| plugin.manifest.identity.as_ref()?.port).unwrap_or(PORT);
    SocketAddr::from(([127, 0, 0, 1], port))
}
