//! nginx, a server that none of us wrote, with two hosts on one port: what it makes of a request is what the world makes of it.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{have, skipped};

/// A running nginx. It ends with the test.
pub struct Nginx {
    child: Child,
    place: tempfile::TempDir,
    pub address: SocketAddr,
}

impl Nginx {
    /// Starts it with these locations for whoever names no other host, and with a host `other.example` that says "other". Nothing if
    /// there is no nginx, which is said loudly.
    pub fn start(locations: &str, for_what: &str) -> Option<Nginx> {
        if !have("nginx", for_what) {
            return None;
        }
        // Another process may take the port in between; then there is another one.
        for _ in 0..5 {
            let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
            if let Some(nginx) = Nginx::on(address, locations) {
                return Some(nginx);
            }
        }
        skipped(&format!("nginx does not start here, so nothing shows that {for_what}"));
        None
    }

    fn on(address: SocketAddr, locations: &str) -> Option<Nginx> {
        let place = tempfile::tempdir().expect("a directory");
        let at = place.path().display();
        let config = format!(
            "daemon off; master_process off; worker_processes 1; pid {at}/pid; error_log {at}/error.log;
             events {{ worker_connections 64; }}
             http {{
               log_format seen '$request|$http_host|$host|$status'; access_log {at}/access.log seen;
               client_body_temp_path {at}/b; proxy_temp_path {at}/p; fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;
               default_type text/plain;
               server {{ listen {address} default_server; server_name granted.example; {locations} }}
               server {{ listen {address}; server_name other.example; location / {{ return 200 \"other\"; }} }}
             }}"
        );
        let file = place.path().join("nginx.conf");
        std::fs::write(&file, config).expect("the configuration");
        let mut child = Command::new("nginx")
            .args(["-e", "stderr", "-p"])
            .arg(place.path())
            .arg("-c")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
            if TcpStream::connect(address).is_ok() {
                return Some(Nginx { child, place, address });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let _ = child.wait();
        None
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Each request that it saw: its first line, the header `Host`, the host that nginx took it for, and the status.
    pub fn seen(&self) -> Vec<[String; 4]> {
        let log = read(self.place.path());
        let fields = |line: &str| {
            let mut fields = line.rsplitn(4, '|').map(str::to_owned);
            let (status, host, named) = (fields.next()?, fields.next()?, fields.next()?);
            Some([fields.next()?, named, host, status])
        };
        log.lines().filter_map(fields).collect()
    }
}

/// The log is written when a request is over, a moment after its answer was read.
fn read(place: &Path) -> String {
    std::thread::sleep(Duration::from_millis(200));
    std::fs::read_to_string(place.join("access.log")).unwrap_or_default()
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
