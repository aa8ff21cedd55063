//! How to connect the usual clients.

use serde_json::json;

/// Ready to paste, with the path of this very binary.
pub fn snippets() -> String {
    let binary = std::env::current_exe().map_or_else(|_| "zipfs".to_owned(), |path| path.display().to_string());
    let entry = json!({"command": binary, "args": ["mcp"]});
    let cursor = json!({"mcpServers": {"zipfs": entry}});
    let code = json!({"servers": {"zipfs": {"type": "stdio", "command": binary, "args": ["mcp"]}}});
    format!(
        "Claude Code:\n    claude mcp add zipfs -- {binary} mcp\n\n\
         Cursor, in ~/.cursor/mcp.json (the same for .mcp.json of Claude Code):\n{}\n\n\
         VS Code, in .vscode/mcp.json:\n{}\n",
        indent(&format!("{cursor:#}")),
        indent(&format!("{code:#}")),
    )
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
