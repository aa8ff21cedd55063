//! Opens a connection. To be able to, it imports `wasi:sockets`, by which the host knows it before it runs.

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct Net;

impl Plugin for Net {
    fn about() -> About {
        About::new("net", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("net", "Opens a connection.", net), zipfs_guests::harmless("net_ok")]
    }
}

zipfs_sdk::export!(Net);

fn net(_: NoArguments) -> Result<Outcome, Error> {
    let connected = std::net::TcpStream::connect("127.0.0.1:80");
    let stream = connected.map_err(|error| Error::internal("NOT_CONNECTED", error.to_string()))?;
    Ok(Outcome::new().text(format!("Connected: {stream:?}")))
}
