//! A component made for wasmcp, which knows nothing of us: an honest half, and a half that answers in every bad way.

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
use serde_json::{Value, json};
use wasip2::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
use wasmcp::mcp_v20250618::mcp::{
    Blob, BlobData, CallToolRequest, CallToolResult, ContentBlock, Error, ErrorCode, ListToolsRequest, ListToolsResult,
    TextContent, TextData, Tool, ToolAnnotations, ToolOptions,
};
use wasmcp::mcp_v20250618::server_handler::MessageContext;
use wasmcp::mcp_v20250618::server_io;

struct Wasmcp;

export!(Wasmcp);

const NUMBERS: &str = r#"{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}"#;
const SUM: &str = r#"{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}"#;
const ANYTHING: &str = r#"{"type":"object"}"#;

fn tool(name: &str, description: Option<&str>) -> Tool {
    let options = description.map(|description| ToolOptions {
        meta: None,
        annotations: None,
        description: Some(description.to_owned()),
        output_schema: None,
        title: None,
    });
    Tool { name: name.to_owned(), input_schema: ANYTHING.to_owned(), options }
}

/// Two pages: the honest ones, then the others.
fn page(cursor: Option<&str>) -> ListToolsResult {
    let hints = ToolAnnotations {
        title: Some("Add two numbers".into()),
        read_only_hint: Some(true),
        destructive_hint: None,
        idempotent_hint: Some(true),
        open_world_hint: None,
    };
    let mut add = Tool { input_schema: NUMBERS.into(), ..tool("wasm_add", Some("Adds two numbers. Returns {sum}.")) };
    if let Some(options) = &mut add.options {
        options.output_schema = Some(SUM.into());
        options.annotations = Some(hints.clone());
    }
    let mut peek = tool("wasm_peek", Some("Reads a.txt, as a stream."));
    if let Some(options) = &mut peek.options {
        options.annotations = Some(ToolAnnotations { title: None, idempotent_hint: None, ..hints });
    }
    let honest = vec![
        add,
        tool("wasm_context", Some("What it was told of its surroundings.")),
        tool("wasm_read", Some("Reads a.txt, as a stream.")),
        tool("wasm_write", Some("Writes b.txt.")),
        peek,
        tool("wasm_picture", Some("A picture.")),
        tool("wasm_fail", Some("Says that it failed.")),
        tool("wasm_invalid", Some("Refuses its arguments.")),
    ];
    let others = vec![
        tool("wasm_forget", None),
        tool("wasm_wrong_json", Some("Gives what is no JSON.")),
        tool("wasm_large", Some("Gives more than is taken.")),
        tool("wasm_stream", Some("Streams more than is taken.")),
        tool("wasm_spin", Some("Never ends.")),
        tool("wasm_talk", Some("Talks in between, unasked.")),
    ];
    match cursor {
        None => ListToolsResult { meta: None, next_cursor: Some("2".into()), tools: honest },
        Some(_) => ListToolsResult { meta: None, next_cursor: None, tools: others },
    }
}

impl Guest for Wasmcp {
    fn list_tools(_: MessageContext, request: ListToolsRequest) -> Result<ListToolsResult, ErrorCode> {
        Ok(page(request.cursor.as_deref()))
    }

    fn call_tool(context: MessageContext, request: CallToolRequest) -> Result<Option<CallToolResult>, ErrorCode> {
        let arguments: Value = serde_json::from_str(request.arguments.as_deref().unwrap_or("{}")).unwrap_or_default();
        Ok(Some(match request.name.as_str() {
            "wasm_add" => {
                let sum = arguments["a"].as_f64().unwrap_or_default() + arguments["b"].as_f64().unwrap_or_default();
                structured(json!({"sum": sum}).to_string())
            }
            "wasm_context" => {
                let told = json!({
                    "revision": context.protocol_version,
                    "stream": context.client_stream.is_some(),
                    "session": context.session.is_some(),
                    "identity": context.identity.is_some(),
                    "arguments": arguments,
                });
                structured(told.to_string())
            }
            "wasm_read" | "wasm_peek" => {
                if request.name == "wasm_peek" && std::fs::write("/workspace/planted", "x").is_ok() {
                    return Ok(Some(text("It wrote what it may only read.".into())));
                }
                streamed("a.txt")
            }
            "wasm_write" => match std::fs::write("/workspace/b.txt", "new") {
                Ok(()) => text("Written.".into()),
                Err(error) => CallToolResult { is_error: Some(true), ..text(error.to_string()) },
            },
            "wasm_picture" => {
                let data = BlobData::Blob(vec![1, 2, 3, 255]);
                let image = ContentBlock::Image(Blob { data, mime_type: "image/png".into(), options: None });
                CallToolResult { content: vec![image], ..text(String::new()) }
            }
            "wasm_fail" => CallToolResult {
                is_error: Some(true),
                structured_content: Some(r#"{"day":"Sunday"}"#.into()),
                ..text("It is Sunday.".into())
            },
            "wasm_invalid" => {
                let data = Some(r#"{"argument":"a"}"#.into());
                return Err(ErrorCode::InvalidParams(Error { code: -32602, message: "`a` is odd.".into(), data }));
            }
            "wasm_wrong_json" => structured("{\"sum\": ".into()),
            "wasm_large" => text("x".repeat(arguments["bytes"].as_u64().unwrap_or(64 << 20) as usize)),
            "wasm_stream" => {
                let file = std::fs::File::create("/workspace/large").expect("a file");
                file.set_len(arguments["bytes"].as_u64().unwrap_or(64 << 20)).expect("a hole");
                streamed("large")
            }
            "wasm_spin" => loop {
                std::hint::black_box(0);
            },
            "wasm_talk" => {
                let sent = server_io::flush_buffer(&wasip2::cli::stdout::get_stdout());
                text(format!("{sent:?}"))
            }
            _ => return Ok(None),
        }))
    }
}

fn text(text: String) -> CallToolResult {
    content(TextData::Text(text))
}

fn content(text: TextData) -> CallToolResult {
    let block = ContentBlock::Text(TextContent { text, options: None });
    CallToolResult { meta: None, content: vec![block], is_error: None, structured_content: None }
}

fn structured(json: String) -> CallToolResult {
    CallToolResult { structured_content: Some(json.clone()), ..text(json) }
}

/// A file of the workspace as a stream of the host.
fn streamed(name: &str) -> CallToolResult {
    let Some((root, _)) = wasip2::filesystem::preopens::get_directories().into_iter().next() else {
        return CallToolResult { is_error: Some(true), ..text("There is no workspace.".into()) };
    };
    let file = root.open_at(PathFlags::empty(), name, OpenFlags::empty(), DescriptorFlags::READ);
    match file.and_then(|file| file.read_via_stream(0)) {
        Ok(stream) => content(TextData::TextStream(stream)),
        Err(error) => CallToolResult { is_error: Some(true), ..text(error.name().into()) },
    }
}
