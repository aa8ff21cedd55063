//! A component made for wasmcp whose list of tools always has another page.

wit_bindgen::generate!({
    path: "wasmcp.wit",
    world: "tests:wasmcp/wasmcp",
    generate_all,
    with: {
        "wasi:io/error@0.2.12": wasip2::io::error,
        "wasi:io/poll@0.2.12": wasip2::io::poll,
        "wasi:io/streams@0.2.12": wasip2::io::streams,
    },
});

use exports::wasmcp::mcp_v20250618::tools::Guest;
use wasmcp::mcp_v20250618::mcp::{CallToolRequest, CallToolResult, ErrorCode, ListToolsRequest, ListToolsResult, Tool};
use wasmcp::mcp_v20250618::server_handler::MessageContext;

struct Endless;

export!(Endless);

impl Guest for Endless {
    fn list_tools(_: MessageContext, request: ListToolsRequest) -> Result<ListToolsResult, ErrorCode> {
        let number: u32 = request.cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or_default();
        let tool = Tool { name: format!("tool_{number}"), input_schema: r#"{"type":"object"}"#.into(), options: None };
        Ok(ListToolsResult { meta: None, next_cursor: Some((number + 1).to_string()), tools: vec![tool] })
    }

    fn call_tool(_: MessageContext, _: CallToolRequest) -> Result<Option<CallToolResult>, ErrorCode> {
        Ok(None)
    }
}
