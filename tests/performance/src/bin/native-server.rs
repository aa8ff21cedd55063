//! The native peer: an MCP server with the host's protocol library and two tools that run in the process itself.
//!
//! It has no sandbox, no validation, no session, no audit, and it reads whatever path it is given below its directory. The
//! difference between it and zipfs is what those cost.
#![forbid(unsafe_code)]

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

#[tokio::main(flavor = "multi_thread")]
async fn main() -> anyhow::Result<()> {
    let directory = std::env::args_os().nth(1).ok_or_else(|| anyhow::anyhow!("usage: native-server DIRECTORY"))?;
    let server = Native { directory: PathBuf::from(directory), tools: describe_tools() };
    server.serve(rmcp::transport::stdio_pipes()).await?.waiting().await?;
    Ok(())
}

struct Native {
    directory: PathBuf,
    tools: Vec<Tool>,
}

impl ServerHandler for Native {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("native-server", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(&self, call: CallToolRequestParams, _: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        match &*call.name {
            "noop" => Ok(CallToolResult::success(vec![ContentBlock::text("ok")]).into()),
            "read" => Ok(self.read(call.arguments.unwrap_or_default()).into()),
            other => Err(ErrorData::invalid_params(format!("Unknown tool: {other}"), None)),
        }
    }
}

impl Native {
    /// Reads in place, without handing the work to a thread for blocking calls: the fastest a native server can be.
    fn read(&self, arguments: JsonObject) -> CallToolResult {
        let Some(path) = arguments.get("path").and_then(Value::as_str) else {
            return CallToolResult::error(vec![ContentBlock::text("`path` is missing")]);
        };
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
        match read_range(&self.directory.join(path), number("offset").unwrap_or(0), number("limit")) {
            // The keys of `zipfs_read`, so that both servers write answers of the same size.
            Ok((text, whole)) => CallToolResult::structured(json!({
                "size_bytes": text.len(),
                "total_size_bytes": whole,
                "encoding": "utf-8",
                "eof": true,
                "content": text,
            })),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(format!("{path}: {error}"))]),
        }
    }
}

/// The text of a range, and the size of the file. The ranges that are measured are ASCII, so none ends inside a character.
fn read_range(path: &Path, offset: u64, limit: Option<u64>) -> std::io::Result<(String, u64)> {
    let file = std::fs::File::open(path)?;
    let whole = file.metadata()?.len();
    let mut bytes = vec![0; limit.unwrap_or(u64::MAX).min(whole.saturating_sub(offset)) as usize];
    file.read_exact_at(&mut bytes, offset)?;
    let text = String::from_utf8(bytes).map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))?;
    Ok((text, whole))
}

fn describe_tools() -> Vec<Tool> {
    vec![
        Tool::new("noop", "Does nothing.", schema(json!({"type": "object"}))),
        Tool::new(
            "read",
            "Reads a file.",
            schema(json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})),
        ),
    ]
}

fn schema(value: Value) -> Arc<JsonObject> {
    Arc::new(value.as_object().cloned().unwrap_or_default())
}
