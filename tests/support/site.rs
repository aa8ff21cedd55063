//! A web site on this machine, well-behaved or not, encrypted or not.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// What was asked.
#[derive(Debug, Clone)]
pub struct Request {
    pub path: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What is answered.
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub manner: Manner,
}

/// How it is sent.
pub enum Manner {
    Whole,
    /// The connection is closed in the middle of what was announced.
    Truncated,
    /// A byte at a time, with a pause after each.
    Slow(Duration),
    /// Without end, and without saying how much.
    Endless,
}

impl Answer {
    pub fn ok(body: impl Into<Vec<u8>>) -> Answer {
        Answer { status: 200, headers: Vec::new(), body: body.into(), manner: Manner::Whole }
    }

    pub fn status(status: u16) -> Answer {
        Answer { status, ..Answer::ok("") }
    }

    pub fn redirect(to: &str) -> Answer {
        Answer::status(302).header("location", to)
    }

    pub fn header(mut self, name: &str, value: &str) -> Answer {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn manner(self, manner: Manner) -> Answer {
        Answer { manner, ..self }
    }
}

pub struct Site {
    pub port: u16,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Site {
    pub fn serve(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Site {
        Site::start(None, answer)
    }

    /// With a certificate that [`certificates`] vouches for.
    pub fn encrypted(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Site {
        Site::start(Some(authority().server.clone()), answer)
    }

    pub fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn encrypted_address(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Request> {
        self.asked.lock().expect("no handler failed").clone()
    }

    fn start(tls: Option<Arc<rustls::ServerConfig>>, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answer, noted) = (Arc::new(answer), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, noted, tls) = (answer.clone(), noted.clone(), tls.clone());
                std::thread::spawn(move || {
                    let _ = match tls {
                        None => converse(stream, &*answer, &noted),
                        Some(tls) => rustls::ServerConnection::new(tls)
                            .map_err(io::Error::other)
                            .and_then(|connection| converse(rustls::StreamOwned::new(connection, stream), &*answer, &noted)),
                    };
                });
            }
        });
        Site { port, asked }
    }
}

/// One request for each connection.
fn converse(stream: impl Read + Write, answer: &dyn Fn(&Request) -> Answer, noted: &Mutex<Vec<Request>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let request = Request { path, headers };
    noted.lock().expect("no handler failed").push(request.clone());
    let Answer { status, headers, body, manner } = answer(&request);
    let stream = reader.get_mut();
    let mut head = format!("HTTP/1.1 {status} It\r\nconnection: close\r\n");
    if !matches!(manner, Manner::Endless) {
        head += &format!("content-length: {}\r\n", body.len());
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    match manner {
        Manner::Whole => stream.write_all(&body)?,
        Manner::Truncated => stream.write_all(&body[..body.len() / 2])?,
        Manner::Slow(pause) => {
            for byte in body {
                stream.write_all(&[byte])?;
                stream.flush()?;
                std::thread::sleep(pause);
            }
        }
        Manner::Endless => loop {
            stream.write_all(&[0; 64 << 10])?;
        },
    }
    stream.flush()
}

/// Who vouches for the encrypted servers of this run.
struct Authority {
    server: Arc<rustls::ServerConfig>,
    file: PathBuf,
    _dir: tempfile::TempDir,
}

/// A file with the certificates to be trusted.
pub fn certificates() -> PathBuf {
    authority().file.clone()
}

fn authority() -> &'static Authority {
    static MADE: OnceLock<Authority> = OnceLock::new();
    MADE.get_or_init(|| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let server = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("a certificate that fits its key");
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("certificates.pem");
        std::fs::write(&file, made.cert.pem()).expect("it can be written");
        Authority { server: Arc::new(server), file, _dir: dir }
    })
}

/// Waits until something listens.
pub fn await_port(port: u16) {
    let until = std::time::Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(std::time::Instant::now() < until, "nothing listens on {port}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
