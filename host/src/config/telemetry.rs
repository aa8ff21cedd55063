//! Where traces and metrics go, and how the log on standard error looks.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// Base address of an OpenTelemetry collector that takes OTLP over HTTP, as in `http://127.0.0.1:4318`. Nothing is collected
    /// for it without one. `OTEL_EXPORTER_OTLP_ENDPOINT` goes over it.
    pub otlp_endpoint: Option<String>,
    /// Headers for the collector, such as an authorization.
    pub otlp_headers: std::collections::BTreeMap<String, String>,
    /// How the lines on standard error look.
    pub log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}
