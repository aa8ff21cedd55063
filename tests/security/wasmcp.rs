//! Components made for wasmcp at their worst, and those of other hosts that cannot be served.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Archive, Server, Zipfs, guest};

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

/// A component with two functions of these types under `export`, neither of which can be called to any good.
fn two_functions(export: &str, types: &str, parameters: &str) -> Vec<u8> {
    let text = format!(
        r#"(component
            (core module $m
                (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024)
                (func (export "f") (param i32) (result i32) i32.const 0))
            (core instance $i (instantiate $m))
            {types}
            (func $f {parameters} (result string)
                (canon lift (core func $i "f") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
            (instance $x (export "list-tools" (func $f)) (export "call-tool" (func $f)))
            (export "{export}" (instance $x)))"#
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

const TOOLS: &str = "wasmcp:mcp-v20250618/tools@0.1.7";

#[test]
fn lists_without_end_are_refused() {
    let began = Instant::now();
    let text = refused("endless", &std::fs::read(guest("wasmcp-endless")).unwrap());
    assert!(text.contains("pages"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn parameters_without_end_are_refused() {
    // Each level uses the one before twice: four thousand parts, in twelve lines.
    let mut types = String::from("(type $t0 u32)");
    for level in 1..=12 {
        let before = level - 1;
        types += &format!(
            "(type $r{level} (record (field \"a\" $t{before}) (field \"b\" $t{before}))) (export $t{level} \"t{level}\" (type $r{level}))"
        );
    }
    let text = refused("wide", &two_functions(TOOLS, &types, r#"(param "ctx" $t12)"#));
    assert!(text.contains("parts") && text.contains("list-tools"), "{text}");
}

#[test]
fn one_that_lists_nothing_or_lacks_a_function_is_refused() {
    let text = refused("strange", &two_functions(TOOLS, "", r#"(param "ctx" u32)"#));
    assert!(text.contains("does not list its tools") || text.contains("lists nothing"), "{text}");
    let half = r#"(component
        (core module $m (func (export "f") (result i32) i32.const 0))
        (core instance $i (instantiate $m))
        (func $f (result u32) (canon lift (core func $i "f")))
        (instance $x (export "list-tools" (func $f)))
        (export "wasmcp:mcp-v20250618/tools@0.1.7" (instance $x)))"#;
    let text = refused("half", &wat::parse_str(half).unwrap());
    assert!(text.contains("call-tool"), "{text}");
}

#[test]
fn other_parts_of_wasmcp_are_refused_and_named() {
    let middleware = two_functions("wasmcp:mcp-v20250618/server-handler@0.1.7", "", r#"(param "ctx" u32)"#);
    let text = refused("middleware", &middleware);
    assert!(text.contains("server-handler") && text.contains("`tools` is served"), "{text}");
    let store = r#"(component
        (import "wasmcp:keyvalue/store@0.1.0" (instance (export "open" (func))))
        (core module $m (func (export "f")))
        (core instance $i (instantiate $m))
        (func (export "f") (canon lift (core func $i "f"))))"#;
    let text = refused("store", &wat::parse_str(store).unwrap());
    assert!(text.contains("wasmcp:keyvalue/store") && text.contains("not its sessions, stores"), "{text}");
    let server = r#"(component
        (core module $m (func (export "f")))
        (core instance $i (instantiate $m))
        (func $f (canon lift (core func $i "f")))
        (instance $x (export "handle" (func $f)))
        (export "wasi:http/incoming-handler@0.2.0" (instance $x)))"#;
    let text = refused("composed", &wat::parse_str(server).unwrap());
    assert!(text.contains("HTTP server of its own") && text.contains("composed"), "{text}");
}

/// An interface of which only types are known is no import; one with a function is, whatever it is called.
#[test]
fn names_of_types_bring_nothing_along_and_functions_do() {
    let component = |import: &str| {
        let text = format!(
            r#"(component
                (import "evil:thing/types@1.0.0" (instance {import}))
                (core module $m (func (export "f")))
                (core instance $i (instantiate $m))
                (func (export "f") (canon lift (core func $i "f"))))"#
        );
        wat::parse_str(text).unwrap()
    };
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("types.wasm");
    std::fs::write(&path, component(r#"(type $r (record (field "a" u32))) (export "r" (type (eq $r)))"#)).unwrap();
    Zipfs(data.path()).ok(&["plugin", "add", "--yes", path.to_str().unwrap()]);
    assert!(Zipfs(data.path()).ok(&["call", "f"]).contains("Done."));
    let text = refused("function", &component(r#"(export "f" (func))"#));
    assert!(text.contains("evil:thing/types@1.0.0"), "{text}");
    refused("resource", &component(r#"(export "r" (type (sub resource)))"#));
    // A function that is hidden one level deeper.
    refused("nested", &component(r#"(export "i" (instance (export "f" (func))))"#));
}

#[test]
fn components_of_act_are_refused_and_told_why() {
    // As its tools are: asynchronous, and answering with a stream.
    let text = r#"(component
        (core module $m
            (func (export "f") (result i32) i32.const 0)
            (func (export "callback") (param i32 i32 i32) (result i32) i32.const 0))
        (core instance $i (instantiate $m))
        (type $s (stream u8))
        (func $call async (result $s) (canon lift (core func $i "f") async (callback (core func $i "callback"))))
        (instance $x (export "call-tool" (func $call)))
        (export "act:core/tool-provider@0.2.0" (instance $x)))"#;
    let text = refused("act", &wat::parse_str(text).expect("a component"));
    assert!(text.contains("ACT") && text.contains("asynchronous") && text.contains("stream"), "{text}");
    assert!(text.contains("zipfs:plugin/tools"), "the next step: {text}");
}

#[test]
fn bad_answers_are_the_plugins_fault_and_the_next_call_works() {
    let server = Server::with(json!({"calls": {"deadline_ms": 1500}}));
    server.add("wasmcp");
    let works = || server.call("wasm_add", json!({"a": 1, "b": 1})).is(json!({"sum": 2.0}));
    let message = server.call("wasm_wrong_json", json!({})).fails("INTERNAL_ERROR");
    assert!(message.contains("not JSON"), "{message}");
    works();
    server.call("wasm_spin", json!({})).fails("TIMEOUT");
    works();
    // Nobody gave it a stream to talk over, so it has nothing to do there.
    let message = server.call("wasm_talk", json!({})).fails("INTERNAL_ERROR");
    assert!(message.contains("server-io") && message.contains("no plugin is given"), "{message}");
    works();
}

#[test]
fn streams_without_end_are_refused() {
    let server = Server::with(json!({"calls": {"result_bytes": 1 << 20}}));
    server.add("wasmcp");
    let archive = Archive::of(&[("a.txt", "hi")]);
    let session = server.open(&archive);
    session.call("wasm_stream", json!({"bytes": 900_000})).value();
    let memory = server.process().memory();
    let message = session.call("wasm_stream", json!({"bytes": 50_000_000})).fails("LIMIT_EXCEEDED");
    assert!(message.contains("calls.result_bytes"), "{message}");
    session.call("wasm_large", json!({"bytes": 900_000})).value();
    session.call("wasm_large", json!({"bytes": 50_000_000})).fails("LIMIT_EXCEEDED");
    assert!(server.process().memory() < memory + (30 << 20), "{} more", server.process().memory() - memory);
    session.call("wasm_add", json!({"a": 1, "b": 1})).value();
}
