//! Components that were not made for us, at their worst: in their types, in what they are given, and in what they answer.

use serde_json::json;

use crate::support::{Server, Zipfs, guest};

/// Adds a component that must be refused; returns what was said.
#[track_caller]
fn refused(name: &str, wasm: &[u8]) -> String {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join(format!("{name}.wasm"));
    std::fs::write(&path, wasm).unwrap();
    let output = Zipfs(data.path()).run(&["plugin", "add", "--yes", path.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{name} was added: {text}");
    assert!(text.len() < 2_000, "{name}: {} bytes of refusal", text.len());
    text
}

/// A component of these exports, each of a core function that takes and gives as much as may be needed.
fn component(body: &str) -> Vec<u8> {
    let text = format!(
        r#"(component
            (core module $m
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
                (func (export "none"))
                (func (export "pointer") (param i32)))
            (core instance $i (instantiate $m))
            {body})"#
    );
    wat::parse_str(text).expect("a component")
}

#[test]
fn resources_are_refused_by_function_and_type() {
    let text = refused("typed-resource", &std::fs::read(guest("typed-resource")).unwrap());
    assert!(text.contains("tests:handles/store#") && text.contains("resource"), "{text}");
}

#[test]
fn asynchronous_functions_are_refused() {
    let text = r#"(component
        (core module $m
            (func (export "f") (result i32) i32.const 0)
            (func (export "callback") (param i32 i32 i32) (result i32) i32.const 0))
        (core instance $i (instantiate $m))
        (func (export "f") async (canon lift (core func $i "f") async (callback (core func $i "callback")))))"#;
    let said = refused("asynchronous", &wat::parse_str(text).expect("a component"));
    assert!(said.contains("async"), "{said}");
}

#[test]
fn types_without_end_are_refused() {
    // Each level uses the one before twice: four thousand parts, in fourteen lines.
    let mut body = String::from("(type $t0 u32)");
    for level in 1..=12 {
        let before = level - 1;
        body += &format!(
            "(type $r{level} (record (field \"a\" $t{before}) (field \"b\" $t{before}))) (export $t{level} \"t{level}\" (type $r{level}))"
        );
    }
    body += r#"(func (export "f") (param "x" $t12) (canon lift (core func $i "pointer") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))"#;
    let text = refused("wide", &component(&body));
    assert!(text.contains("parts") && text.contains("`x`"), "{text}");

    let mut body = String::from("(type $t0 u32)");
    for level in 1..=40 {
        body += &format!("(type $t{level} (option $t{}))", level - 1);
    }
    body += r#"(func (export "f") (param "x" $t40) (canon lift (core func $i "pointer") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))"#;
    let text = refused("nested", &component(&body));
    assert!(text.contains("deep") || text.contains("not a component"), "{text}");
}

#[test]
fn more_functions_than_tools_are_refused() {
    let functions: String = (0..300).map(|at| format!(r#"(func (export "f{at}") (canon lift (core func $i "none")))"#)).collect();
    let text = refused("many", &component(&functions));
    assert!(text.contains("256"), "{text}");
}

#[test]
fn functions_that_would_be_one_tool_are_refused() {
    // Two names that become one: an interface with a function, and a function at the top.
    let body = r#"
        (func $f (canon lift (core func $i "none")))
        (instance $x (export "read" (func $f)))
        (export "tests:x/fs" (instance $x))
        (export "fs-read" (func $f))"#;
    let text = refused("twice", &component(body));
    assert!(text.contains("two tools") && text.contains("fs_read"), "{text}");
}

#[test]
fn a_function_that_takes_the_name_of_one_of_ours_is_refused() {
    let text = refused("clash", &component(r#"(func (export "zipfs-read") (canon lift (core func $i "none")))"#));
    assert!(text.contains("zipfs_read") && text.contains("NAME_CLASH"), "{text}");
}

#[test]
fn what_exports_nothing_to_call_is_refused() {
    let text = refused("empty", &component(""));
    assert!(text.contains("exports no function"), "{text}");
}

#[test]
fn documentation_is_bounded_and_optional() {
    let server = Server::start();
    let long = "x".repeat(20_000);
    let good = json!({"worlds": {"w": {"func_exports": {"f": {"docs": format!("Does it.\u{1b}[2J {long}")}}}}}).to_string();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (name, section) in [("good", good.as_str()), ("deep", deep.as_str()), ("broken", "{"), ("nothing", "")] {
        let mut wasm = component(&format!(r#"(func (export "{name}-f") (canon lift (core func $i "none")))"#));
        let section = section.replace("\"f\"", &format!("\"{name}-f\""));
        append_section(&mut wasm, "package-docs", &[b"\x01", section.as_bytes()].concat());
        append_section(&mut wasm, "version", b"9.8.7");
        let path = server.data().join(format!("{name}.wasm"));
        std::fs::write(&path, wasm).unwrap();
        server.cli().ok(&["plugin", "add", "--yes", path.to_str().unwrap()]);
    }
    let tools = server.request("tools/list", json!({}))["result"]["tools"].clone();
    let description = |name: &str| {
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        tool["description"].as_str().unwrap().to_owned()
    };
    let said = description("good_f");
    assert!(said.starts_with("Does it.[2J x") && said.len() <= 4 << 10, "{} bytes", said.len());
    assert!(description("deep_f").starts_with("Calls `"));
    assert!(description("broken_f").starts_with("Calls `"));
    assert!(server.cli().ok(&["plugin", "list"]).contains("good 9.8.7"));
}

#[test]
fn sockets_that_a_plugin_says_it_does_not_need_end_its_calls() {
    let server = Server::start();
    let folder = server.data().join("net");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(guest("net"), folder.join("net.wasm")).unwrap();
    let manifest = "name = \"net\"\nversion = \"0.1.0\"\nwithout = [\"wasi:sockets\"]\n";
    std::fs::write(folder.join("plugin.toml"), manifest).unwrap();
    server.cli().ok(&["plugin", "add", "--yes", folder.to_str().unwrap()]);
    let tools = server.cli().ok(&["tools", "--json"]);
    assert!(tools.contains("\"net\""), "{tools}");
    let message = server.call("net", json!({})).fails("INTERNAL_ERROR");
    assert!(message.contains("wasi:sockets/") && message.contains("no plugin is given"), "{message}");
    server.call("zipfs_sessions", json!({})).value();
}

/// A custom section at the end of a component.
fn append_section(wasm: &mut Vec<u8>, name: &str, data: &[u8]) {
    let leb = |mut value: usize| {
        let mut bytes = Vec::new();
        loop {
            let byte = (value & 0x7f) as u8;
            value >>= 7;
            if value == 0 {
                bytes.push(byte);
                return bytes;
            }
            bytes.push(byte | 0x80);
        }
    };
    let body = [leb(name.len()), name.as_bytes().to_vec(), data.to_vec()].concat();
    wasm.push(0);
    wasm.extend(leb(body.len()));
    wasm.extend(body);
}

#[test]
fn arguments_that_do_not_fit_the_types_never_reach_the_component() {
    let server = Server::start();
    server.add("typed");
    let circle = |value: serde_json::Value| ("geometry_area", json!({"shape": value}));
    for (tool, arguments) in [
        ("add", json!({"a": 2147483648u64, "b": 0})),
        ("add", json!({"a": 1e300, "b": 0})),
        ("add", json!({"a": 1.5, "b": 0})),
        ("add", json!({"a": "1", "b": 0})),
        ("add", json!({"a": 1})),
        ("add", json!({"a": 1, "b": 2, "c": 3})),
        ("quotient", json!({"a": "NaN ", "b": 0})),
        circle(json!({"tag": "square", "val": 1})),
        circle(json!({"tag": "circle"})),
        circle(json!({"tag": "circle", "val": 1e39})),
        circle(json!({"tag": "nothing", "val": 1})),
        circle(json!("nothing")),
        circle(json!(null)),
    ] {
        let message = server.call(tool, arguments.clone()).fails("INVALID_PARAMS");
        assert!(message.len() < 1_000, "{arguments}: {message}");
    }
    // The other end of it: as wide as it goes, and the component works.
    server.call("add", json!({"a": i32::MAX, "b": 1})).is(json!({"result": i32::MIN}));
}

#[test]
fn a_typed_function_that_loops_is_stopped() {
    let server = Server::with(json!({"calls": {"deadline_ms": 300}}));
    server.add("typed");
    server.call("spin", json!({})).fails("TIMEOUT");
    server.call("add", json!({"a": 1, "b": 1})).is(json!({"result": 2}));
}
