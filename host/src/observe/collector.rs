//! The way to an OpenTelemetry collector: OTLP's messages, posted by our own HTTP client from the exporter's own threads.

use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::runtime::Handle;

use crate::config::Telemetry;

/// A collector that takes longer is away.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(super) struct Collector {
    client: reqwest::Client,
    runtime: Handle,
}

impl Collector {
    pub(super) fn new(settings: &Telemetry) -> Result<Collector, HttpError> {
        // Whoever was first decided the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.otlp_headers {
            let mut value = HeaderValue::from_str(value)?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_bytes(name.as_bytes())?, value);
        }
        // A redirect could lead what is told about callers anywhere.
        let client = reqwest::Client::builder()
            .default_headers(headers)
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Collector { client, runtime: Handle::current() })
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request.map(reqwest::Body::from))?;
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move {
            let response = client.execute(request).await?;
            let status = response.status();
            response.bytes().await.map(|body| (status, body))
        });
        let (status, body) = sent.await??;
        Ok(Response::builder().status(status.as_u16()).body(body)?)
    }
}
