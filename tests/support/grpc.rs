//! A gRPC service that echoes, and misbehaves by name.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite};

use super::Certificate;

/// Path and `x-request-id` of each call.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// It ends with the test.
pub struct Grpc {
    pub port: u16,
    seen: Seen,
    _runtime: tokio::runtime::Runtime,
}

impl Grpc {
    /// On a port of loopback, with TLS if it has a certificate.
    pub fn start(certificate: Option<&Certificate>) -> Grpc {
        let (runtime, seen) = (runtime(), Seen::default());
        let tls = certificate.map(|certificate| tokio_rustls::TlsAcceptor::from(certificate.server(&[b"h2"])));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
        let (port, noted) = (listener.local_addr().expect("its number").port(), seen.clone());
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, noted) = (tls.clone(), noted.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, noted).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, noted).await;
                            }
                        }
                    }
                });
            }
        });
        Grpc { port, seen, _runtime: runtime }
    }

    pub fn on_socket(path: &Path) -> Grpc {
        let (runtime, seen) = (runtime(), Seen::default());
        let (path, noted) = (path.to_owned(), seen.clone());
        let listener = runtime.block_on(async { tokio::net::UnixListener::bind(path) }).expect("a socket");
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, noted.clone()));
            }
        });
        Grpc { port: 0, seen, _runtime: runtime }
    }

    pub fn seen(&self) -> Vec<(String, String)> {
        self.seen.lock().expect("no test failed here").clone()
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, seen: Seen) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let id = request.headers().get("x-request-id").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        seen.lock().expect("no test failed here").push((request.uri().path().to_owned(), id));
        tokio::spawn(answer(request, respond));
    }
}

async fn answer(request: http::Request<h2::RecvStream>, mut respond: h2::server::SendResponse<Bytes>) {
    let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
    let mut body = request.into_body();
    let mut message = BytesMut::new();
    while let Some(Ok(data)) = body.data().await {
        let _ = body.flow_control().release_capacity(data.len());
        message.put(data);
    }
    let head = |status: &str| {
        http::Response::builder().status(200).header("content-type", "application/grpc").header("grpc-status", status)
    };
    let plain = || http::Response::builder().status(200).header("content-type", "application/grpc").body(()).expect("an answer");
    match method.as_str() {
        "Refuse" => drop(respond.send_response(head("7").header("grpc-message", "not%20you").body(()).expect("an answer"), true)),
        "Silence" => tokio::time::sleep(Duration::from_secs(20)).await,
        "Nonsense" => drop(respond.send_response(http::Response::builder().status(500).body(()).expect("an answer"), true)),
        "Flood" => {
            let Ok(mut stream) = respond.send_response(plain(), false) else { return };
            for _ in 0..1000 {
                stream.reserve_capacity(16_384);
                if std::future::poll_fn(|context| stream.poll_capacity(context)).await.is_none() {
                    return;
                }
                if stream.send_data(Bytes::from_static(&[0; 16_384]), false).is_err() {
                    return;
                }
            }
        }
        _ => {
            let Ok(mut stream) = respond.send_response(plain(), false) else { return };
            let _ = stream.send_data(message.freeze(), false);
            let mut trailers = http::HeaderMap::new();
            trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
            let _ = stream.send_trailers(trailers);
        }
    }
}
