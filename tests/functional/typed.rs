//! Components with plain typed functions, made for no host: each function is a tool.

use serde_json::{Value, json};

use crate::support::{Archive, Server, guest};

fn server() -> Server {
    let server = Server::start();
    server.add("typed");
    server
}

fn tool(server: &Server, name: &str) -> Value {
    let tools = server.request("tools/list", json!({}))["result"]["tools"].clone();
    tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name} in {tools}")).clone()
}

#[test]
fn functions_are_tools_with_schemas_from_their_types() {
    let server = server();
    let add = tool(&server, "add");
    assert_eq!(
        add["inputSchema"]["properties"]["a"],
        json!({"type": "integer", "minimum": -2_147_483_648i64, "maximum": 2_147_483_647}),
    );
    assert_eq!(add["inputSchema"]["required"], json!(["a", "b"]));
    assert_eq!(add["outputSchema"]["required"], json!(["result"]));
    assert_eq!(add["description"], "Calls `add(a: s32, b: s32) -> s32`.");
    assert_eq!(tool(&server, "greet")["inputSchema"]["required"], json!([]));
    assert!(tool(&server, "nothing").get("outputSchema").is_none());
    // Those in an interface carry its name.
    let area = tool(&server, "geometry_area");
    let cases = area["inputSchema"]["properties"]["shape"]["oneOf"].as_array().unwrap().clone();
    assert_eq!(
        cases.iter().map(|case| case["properties"]["tag"]["const"].clone()).collect::<Vec<_>>(),
        ["circle", "polygon", "nothing"]
    );
}

#[test]
fn calls_take_and_give_what_the_types_say() {
    let server = server();
    server.call("add", json!({"a": 2, "b": -5})).is(json!({"result": -3}));
    server.call("greet", json!({})).is(json!({"result": "Hello you!"}));
    server.call("greet", json!({"name": "Zoë 🦀"})).is(json!({"result": "Hello Zoë 🦀!"}));
    server.call("quotient", json!({"a": 1, "b": 0})).is(json!({"result": "Infinity"}));
    server.call("quotient", json!({"a": 0, "b": "-Infinity"})).is(json!({"result": -0.0}));
    server.call("bytes", json!({"count": 4})).is(json!({"result": "BwcHBw=="}));
    let square = json!([{"x": 0, "y": 0}, {"x": 2, "y": 0}, {"x": 2, "y": 2}, {"x": 0, "y": 2}]);
    server.call("geometry_area", json!({"shape": {"tag": "polygon", "val": square}})).is(json!({"result": 4.0}));
    server.call("geometry_area", json!({"shape": {"tag": "nothing"}})).is(json!({"result": 0.0}));
    let nothing = server.call("nothing", json!({})).0;
    assert_eq!(nothing["result"]["content"][0]["text"], "Done.", "{nothing}");
    let everything = json!({
        "yes": true, "numbers": [-128, 255, -32768, 65535, -2147483648i64, 4294967295u64, i64::MIN, u64::MAX],
        "ratio": 0.1, "letter": "ß", "raw": "AAEC/w==", "unit": "foot", "styles": ["round", "bold"],
        "shapes": [{"tag": "circle", "val": 1.5}, {"tag": "nothing"}], "maybe": {"some": null}, "outcome": {"err": "no"},
    });
    let mut expected = everything.clone();
    expected["styles"] = json!(["bold", "round"]);
    server.call("geometry_echo", json!({"value": everything})).is(expected);
}

#[test]
fn errors_of_functions_are_errors_of_tools() {
    let server = server();
    assert_eq!(server.call("refuse", json!({"why": "It is Sunday."})).failure(), ("TOOL_FAILED".into(), "It is Sunday.".into()));
    let few = server.call("geometry_area", json!({"shape": {"tag": "polygon", "val": []}}));
    assert_eq!(few.failure().1, "a polygon has no 0 corners");
    let archive = Archive::of(&[("a.txt", "hi")]);
    let session = server.open(&archive);
    let (code, message) = session.call("notes_read", json!({"path": "b.txt"})).failure();
    assert_eq!((code.as_str(), message.as_str()), ("NOT_FOUND", "read failed: not-found."));
}

#[test]
fn one_that_uses_files_works_on_the_session() {
    let server = server();
    let archive = Archive::of(&[("a.txt", "hi")]);
    let session = server.open(&archive);
    session.call("notes_read", json!({"path": "a.txt"})).is(json!({"result": "hi"}));
    session.call("notes_write", json!({"path": "b.txt", "text": "new"})).is(json!({"result": 3}));
    assert_eq!(std::fs::read_to_string(session.path.join("b.txt")).unwrap(), "new");
    // Whoever may write is shown as one who may.
    assert_eq!(tool(&server, "add")["annotations"]["readOnlyHint"], json!(false));
}

#[test]
fn a_manifest_gives_names_words_and_less_access() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(guest("typed"), folder.path().join("typed.wasm")).unwrap();
    let manifest = "name = \"figures\"\nversion = \"3.1.4\"\n[workspace]\naccess = \"read\"\nwhy = \"Reads notes.\"\n\
                    [function.add]\ntitle = \"Add\"\ndescription = \"Adds two whole numbers. Returns {result}.\"\naccess = \"none\"\n\
                    arguments = { a = \"The first.\", b = \"The second.\" }\n";
    std::fs::write(folder.path().join("plugin.toml"), manifest).unwrap();
    server.cli().ok(&["plugin", "add", "--yes", folder.path().to_str().unwrap()]);
    let add = tool(&server, "add");
    assert_eq!(add["description"], "Adds two whole numbers. Returns {result}.");
    assert_eq!(add["inputSchema"]["properties"]["a"]["description"], "The first.");
    assert!(add["inputSchema"]["properties"].get("session").is_none());
    assert_eq!(add["annotations"]["readOnlyHint"], json!(true));
    let archive = Archive::of(&[("a.txt", "hi")]);
    let session = server.open(&archive);
    session.call("notes_read", json!({"path": "a.txt"})).is(json!({"result": "hi"}));
    session.call("notes_write", json!({"path": "b.txt", "text": "new"})).failure();
    assert!(!session.path.join("b.txt").exists(), "asked to read, and wrote");
    // Words for a function that is not there are a mistake.
    std::fs::write(folder.path().join("plugin.toml"), format!("{manifest}[function.subtract]\ntitle = \"?\"\n")).unwrap();
    server.cli().ok(&["plugin", "remove", "figures"]);
    let said = server.cli().fails(&["plugin", "add", "--yes", folder.path().to_str().unwrap()], 1);
    assert!(said.contains("subtract") && said.contains("geometry_area"), "{said}");
}
