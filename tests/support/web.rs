//! A web server for guests to talk to: bytes in, bytes out, so that a test sees what was really sent and can answer anything.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub struct Seen {
    /// First line and headers, unchanged.
    pub head: String,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn first_line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    /// The values of a header, in the order they came.
    pub fn header(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
    }
}

/// What answers: it gets the request and writes what it likes.
type Answer = dyn Fn(&Seen, &mut dyn Write) -> std::io::Result<()> + Send + Sync;

/// A server on loopback. It ends with the test.
pub struct Web {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Web {
    pub fn start(answer: impl Fn(&Seen, &mut dyn Write) -> std::io::Result<()> + Send + Sync + 'static) -> Web {
        Web::over(answer, Ok)
    }

    /// The same, with something between the socket and the protocol: TLS.
    pub fn over<S>(
        answer: impl Fn(&Seen, &mut dyn Write) -> std::io::Result<()> + Send + Sync + 'static,
        wrap: impl Fn(TcpStream) -> std::io::Result<S> + Send + Sync + 'static,
    ) -> Web
    where
        S: Read + Write + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its number");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (answer, wrap, noted): (Arc<Answer>, _, _) = (Arc::new(answer), Arc::new(wrap), seen.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, wrap, noted) = (answer.clone(), wrap.clone(), noted.clone());
                std::thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
                    let Ok(mut stream) = wrap(stream) else { return };
                    if let Some(request) = read(&mut stream) {
                        noted.lock().expect("no test failed here").push(request.clone());
                        let _ = answer(&request, &mut stream);
                        let _ = stream.flush();
                    }
                });
            }
        });
        Web { address, seen }
    }

    /// One that answers everything with this text.
    pub fn saying(text: &'static str) -> Web {
        Web::start(move |_, out| out.write_all(&reply(200, &[], text)))
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no test failed here").clone()
    }
}

/// A whole answer.
pub fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    (text + "\r\n" + body).into_bytes()
}

fn read<S: Read>(stream: &mut S) -> Option<Seen> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    let end = loop {
        let count = stream.read(&mut chunk).ok().filter(|&count| count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
    };
    let mut seen = Seen { head: String::from_utf8_lossy(&bytes[..end]).into_owned(), body: bytes[end + 4..].to_vec() };
    let length: Option<usize> = seen.header("content-length").first().and_then(|value| value.parse().ok());
    let chunked = !seen.header("transfer-encoding").is_empty();
    let is_whole = |body: &[u8]| match length {
        Some(length) => body.len() >= length,
        None => !chunked || body.ends_with(b"0\r\n\r\n"),
    };
    while !is_whole(&seen.body) {
        match stream.read(&mut chunk) {
            Ok(count) if count > 0 => seen.body.extend_from_slice(&chunk[..count]),
            _ => break,
        }
    }
    Some(seen)
}
