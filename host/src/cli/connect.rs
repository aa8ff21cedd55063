//! How to connect the usual clients.

use serde_json::{Value, json};

use super::args::Args;
use super::output::{print, print_json};
use crate::failure::Failure;

pub fn run(args: &Args) -> Result<(), Failure> {
    match args.json {
        true => print_json(&as_json()),
        false => print(&snippets()),
    }
}

/// Ready to paste, with the path of this very binary.
pub fn snippets() -> String {
    let configurations = as_json();
    format!(
        "Claude Code:\n    {}\n\n\
         Cursor, in ~/.cursor/mcp.json (the same for .mcp.json of Claude Code):\n{}\n\n\
         VS Code, in .vscode/mcp.json:\n{}\n",
        configurations["claude_code"].as_str().unwrap_or_default(),
        indent(&format!("{:#}", configurations["cursor"])),
        indent(&format!("{:#}", configurations["vs_code"])),
    )
}

/// The same for programs: a command, and the contents of two files.
pub fn as_json() -> Value {
    let binary = std::env::current_exe().map_or_else(|_| "zipfs".to_owned(), |path| path.display().to_string());
    json!({
        "claude_code": format!("claude mcp add zipfs -- {binary} mcp"),
        "cursor": {"mcpServers": {"zipfs": {"command": binary, "args": ["mcp"]}}},
        "vs_code": {"servers": {"zipfs": {"type": "stdio", "command": binary, "args": ["mcp"]}}},
    })
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
