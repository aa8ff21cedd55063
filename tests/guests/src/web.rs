//! A request as a test words it, and the answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::{Error, http};

#[derive(Deserialize, JsonSchema)]
pub struct Send {
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
    /// Redirects that are followed, each as a request of its own.
    #[serde(default)]
    follow: u32,
    /// Bytes sent besides, zeros.
    #[serde(default)]
    padding: usize,
}

#[derive(Serialize, JsonSchema)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

/// Sends it, and follows redirects if that is wanted.
pub fn send(arguments: Send) -> Result<Answer, Error> {
    let mut url = arguments.url;
    let mut left = arguments.follow;
    loop {
        let mut request = http::Request::new(arguments.method.as_deref().unwrap_or("GET"), url.clone());
        request.headers.clone_from(&arguments.headers);
        let mut body = arguments.body.clone().into_bytes();
        body.resize(body.len() + arguments.padding, 0);
        let response = request.body(body).send()?;
        match (response.header("location").map(str::to_owned), left) {
            (Some(next), 1..) if (300..400).contains(&response.status) => (url, left) = (next, left - 1),
            _ => return Ok(Answer { status: response.status, headers: response.headers.clone(), body: response.text()? }),
        }
    }
}
