//! Arguments that nobody means well with, made from a tool's schema. A tool may refuse them; it may not break down or hang.

use serde_json::{Map, Value, json};

use super::examples::Schema;
use super::workbench::{Session, Workbench, failed};
use crate::failure::Failure;
use crate::plugins::Tool;
use crate::sandbox::run::BREAKDOWN;

/// Calls for each tool. A schema with a hundred arguments would otherwise keep an author waiting for minutes.
/// Test: `functional::author::a_tool_that_breaks_down_is_found`.
const MOST_CALLS: usize = 400;

/// What a plugin did with them.
#[derive(Default)]
pub struct Survived {
    pub answered: usize,
    pub refused: usize,
    /// Refused by the host before the guest ran: they do not fit the schema.
    pub kept_away: usize,
    pub broken: Vec<Broken>,
}

/// A call that must not end as it did.
pub struct Broken {
    pub tool: String,
    pub arguments: Map<String, Value>,
    pub failure: Failure,
}

/// Paths that lead out, or into trouble.
const PATHS: [&str; 15] = [
    "",
    ".",
    "/",
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "a/../../b",
    "./README.md",
    "README.md/",
    "no/such/file",
    "C:\\x",
    "\\\\host\\x",
    "deep/a/b/c/d/e/f",
    "naïve/文件.txt",
    "README.md\u{0}.png",
];

/// Texts that parsers, patterns and terminals stumble over.
const TEXTS: [&str; 14] = [
    "",
    " ",
    "\n",
    "\u{0}",
    "\u{202e}gpj.exe",
    "e\u{301}",
    "🦀👩‍👩‍👧‍👦",
    "\u{feff}x",
    "\u{1b}[2J",
    "((((((((((",
    "a{1000000}",
    "'; DROP TABLE x; --",
    "${jndi:x}",
    "{\"a\":[",
];

/// Calls every tool with them, on sessions full of odd files.
pub async fn survive(bench: &Workbench) -> Result<Survived, Failure> {
    let sample = odd_files()?;
    let mut survived = Survived::default();
    for tool in bench.tools() {
        let mut session = bench.open(sample.path()).await?;
        for arguments in attempts(tool) {
            if !session.files.join("README.md").exists() {
                // The tool did what it is for, and the next call should find something too.
                bench.close(session).await?;
                session = bench.open(sample.path()).await?;
            }
            judge(bench, tool, arguments, &session, &mut survived).await;
        }
        bench.close(session).await?;
    }
    Ok(survived)
}

async fn judge(bench: &Workbench, tool: &Tool, arguments: Map<String, Value>, session: &Session, survived: &mut Survived) {
    match bench.call(tool, &arguments, session).await {
        Ok(_) => survived.answered += 1,
        Err(failure) if is_breakdown(&failure) => {
            if !survived.broken.iter().any(|known| known.tool == tool.name && known.failure.message == failure.message) {
                survived.broken.push(Broken { tool: tool.name.clone(), arguments, failure });
            }
        }
        Err(failure) if failure.suggestion.as_deref() == Some("See the tool's input schema.") => survived.kept_away += 1,
        Err(_) => survived.refused += 1,
    }
}

/// Whether the plugin is at fault: it trapped, hung, ate all it could get, or answered what it had not promised.
pub fn is_breakdown(failure: &Failure) -> bool {
    let is_fault = failure.details.as_ref().is_some_and(|details| details["fault"] == BREAKDOWN);
    let is_limit = failure.code == "LIMIT_EXCEEDED" && failure.message.contains("(calls.");
    is_fault || is_limit || failure.code == "TIMEOUT"
}

/// From the plainest arguments, one argument at a time becomes what it should not be.
fn attempts(tool: &Tool) -> Vec<Map<String, Value>> {
    let root = Value::Object(tool.input_schema.clone());
    let schema = Schema::new(&root);
    let bases = schema.arguments();
    let mut attempts = bases.clone();
    let full = bases.last().cloned().unwrap_or_default();
    for (name, property) in schema.properties() {
        for value in edges(name, property) {
            let mut arguments = if schema.requires(name) { bases[0].clone() } else { full.clone() };
            arguments.insert(name.to_owned(), value);
            attempts.push(arguments);
        }
        let mut without = full.clone();
        without.remove(name);
        attempts.push(without);
    }
    let mut stranger = full;
    stranger.insert("\u{1f980}".into(), json!({"a": [null]}));
    attempts.push(stranger);
    attempts.push(Map::new());
    attempts.truncate(MOST_CALLS);
    attempts
}

/// Values at the edges of a schema and beyond them.
fn edges(name: &str, schema: Schema<'_>) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    if let Some(listed) = schema.at.get("enum").and_then(Value::as_array) {
        values.extend(listed.iter().cloned());
    }
    let kind = schema.kind();
    if kind == Some("string") || kind.is_none() {
        values.extend(TEXTS.iter().chain(&PATHS).map(|text| json!(text)));
        values.extend([json!("x".repeat(100_000)), json!("🦀".repeat(5_000)), json!("../".repeat(2_000)), json!("n/".repeat(500))]);
    }
    if matches!(kind, Some("integer" | "number") | None) {
        for edge in ["minimum", "maximum"] {
            values.extend(schema.at.get(edge).cloned());
        }
        values.extend([
            json!(0),
            json!(1),
            json!(-1),
            json!(2),
            json!(u32::MAX),
            json!(i64::MIN),
            json!(i64::MAX),
            json!(u64::MAX),
        ]);
        values.extend([json!(0.1), json!(-0.0), json!(1e308), json!(5e-324), json!(1e15)]);
    }
    if kind == Some("array") {
        let item = schema.plain(name).get(0).cloned().unwrap_or(Value::Null);
        values.extend([json!([]), json!([item]), vec![item.clone(); 1_000].into(), json!([null]), json!([[[[[[]]]]]])]);
        values.extend(PATHS.iter().map(|path| json!([path])));
    }
    if kind == Some("object") {
        values.extend([json!({}), json!({"": null}), json!({"a": {"a": {"a": {"a": 1}}}})]);
    }
    values.extend([Value::Null, json!(true), json!(false), json!("1"), json!(1), json!([]), json!({})]);
    values
}

/// What a workspace can hold without being an attack, and more than most tools think of.
pub(super) fn odd_files() -> Result<tempfile::TempDir, Failure> {
    let place = tempfile::tempdir().map_err(|error| failed(&error))?;
    let long = "word ".repeat(20_000);
    let files: [(&str, &[u8]); 9] = [
        ("README.md", b"# Sample\n\nSome *words* in a file.\n"),
        ("empty.txt", b""),
        ("data/figures.csv", b"quarter,revenue\nQ1,120\nQ2,135\n"),
        ("data/binary.bin", b"\x00\x01\x02\xff\xfe\x80 not text"),
        ("data/broken.json", b"{\"a\": [1, 2"),
        ("long-line.txt", long.as_bytes()),
        ("na\u{ef}ve/\u{6587}\u{4ef6}.txt", "Grüße\r\nwith\u{2028}odd\u{0} ends".as_bytes()),
        ("deep/a/b/c/d/e/f", b"deep\n"),
        ("name with spaces & $igns;.txt", b"x"),
    ];
    for (path, contents) in files {
        let path = place.path().join(path);
        let parent = path.parent().unwrap_or(place.path());
        std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, contents)).map_err(|error| failed(&error))?;
    }
    Ok(place)
}
