//! Talks to endpoints: a line there and back over a unix socket, a unary call of gRPC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::{About, Error, Plugin, Tool, endpoints};

struct Services;

impl Plugin for Services {
    fn about() -> About {
        About::new("services", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("services_line", "Sends a line, and reads one. Returns {answer}.", line).uses("endpoint"),
            Tool::new("services_line_undeclared", "The same, without declaring it.", line),
            Tool::new("services_unary", "Calls a method. Returns {answer, status}.", unary).uses("endpoint"),
            zipfs_guests::harmless("services_ok"),
        ]
    }
}

zipfs_sdk::export!(Services);

#[derive(Deserialize, JsonSchema)]
struct Said {
    endpoint: String,
    #[serde(default)]
    method: String,
    text: String,
    timeout_ms: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
struct Answer {
    answer: String,
    status: u32,
    status_message: String,
}

fn line(said: Said) -> Result<Answer, Error> {
    let connection = endpoints::connect(&said.endpoint)?;
    connection.send(format!("{}\n", said.text).as_bytes())?;
    let answer = connection.receive_until(b'\n', 1 << 20)?;
    Ok(Answer { answer: String::from_utf8_lossy(&answer).into_owned(), status: 0, status_message: String::new() })
}

fn unary(said: Said) -> Result<Answer, Error> {
    let metadata = [("x-request-id".to_owned(), "7".to_owned())];
    let reply = endpoints::unary(&said.endpoint, &said.method, &metadata, said.text.as_bytes(), said.timeout_ms)?;
    let answer = String::from_utf8_lossy(&reply.message).into_owned();
    Ok(Answer { answer, status: reply.status, status_message: reply.status_message })
}
