//! The two tools that look at files, as JSON-RPC at `POST /`: results, errors and faults as their documentation has them.

use serde_json::{Value, json};

use super::web::{Answer, Web};

const FILES: [(&str, &str); 3] = [("my/data/document.txt", "Hello"), ("my/data/reports/q1.txt", "x"), ("my/data/b.txt", "")];

fn web() -> Web {
    Web::serve("fs", "MCP_SERVER_ROOT_DIR", &FILES)
}

fn post(web: &Web, body: &str) -> Answer {
    web.post("/", &[("authorization", &format!("Bearer {}", web.token("read:/")))], body)
}

fn ask(web: &Web, method: &str, params: Value) -> Value {
    let answer = post(web, &json!({"jsonrpc": "2.0", "method": method, "params": params, "id": 7}).to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    let message = answer.json();
    assert_eq!((&message["jsonrpc"], &message["id"]), (&json!("2.0"), &json!(7)));
    message
}

#[test]
fn a_directory_is_listed_as_documented() {
    let web = web();
    let document = std::fs::File::options().write(true).open(web.root.path().join(FILES[0].0)).unwrap();
    document.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000)).unwrap();
    let listed = ask(&web, "fs.listDirectory", json!({"path": "/my/data"}))["result"].clone();
    assert_eq!(listed["directories"], json!([{"name": "reports", "path": "/my/data/reports"}]));
    let file = &listed["files"][1];
    assert_eq!((&file["name"], &file["path"], &file["size"]), (&json!("document.txt"), &json!("/my/data/document.txt"), &json!(5)));
    let date = file["modified_date"].as_str().expect("a date");
    assert_eq!(date, "2020-09-13T12:26:40Z", "in UTC");
    assert_eq!(ask(&web, "fs.listDirectory", json!({}))["result"]["directories"][0]["path"], "my");
}

#[test]
fn a_file_is_a_bare_string() {
    let web = web();
    assert_eq!(ask(&web, "fs.readFile", json!({"path": "/my/data/document.txt"}))["result"], "Hello");
    std::fs::write(web.root.path().join("binary"), [0, 0xff]).unwrap();
    assert_eq!(ask(&web, "fs.readFile", json!({"path": "binary"}))["result"], "AP8=");
    let meta = ask(&web, "fs.readFile", json!({"path": "binary", "meta": true}))["result"].clone();
    assert_eq!(meta, json!({"content": "AP8=", "encoding": "base64"}));
}

#[test]
fn errors_are_404_and_400_with_the_names_of_the_documentation() {
    let web = web();
    for method in ["fs.listDirectory", "fs.readFile"] {
        let error = ask(&web, method, json!({"path": "/nothing"}))["error"].clone();
        assert_eq!((&error["code"], &error["data"]), (&json!(404), &json!({"type": "FileNotFoundError", "path": "/nothing"})));
        assert!(error["message"].as_str().unwrap().starts_with("FileNotFoundError: "), "{error}");
        let error = ask(&web, method, json!({"path": "/../etc/passwd"}))["error"].clone();
        assert_eq!((&error["code"], &error["data"]["type"]), (&json!(400), &json!("ValueError")), "{error}");
    }
    assert_eq!(ask(&web, "fs.listDirectory", json!({"path": "my/data/b.txt"}))["error"]["code"], 404, "a file is no directory");
    assert_eq!(ask(&web, "fs.readFile", json!({"path": "my"}))["error"]["code"], 404, "a directory is no file");
    let large = std::fs::File::create(web.root.path().join("large")).unwrap();
    large.set_len((10 << 20) + 1).unwrap();
    assert_eq!(ask(&web, "fs.readFile", json!({"path": "large"}))["error"]["code"], 400);
}

#[test]
fn faults_of_the_protocol_have_its_numbers() {
    let web = web();
    let code = |body: &str| post(&web, body).json()["error"]["code"].clone();
    assert_eq!(code("{nonsense"), -32700);
    assert_eq!(code("[]"), -32600);
    assert_eq!(code("3"), -32600);
    assert_eq!(code(r#"{"method": "fs.readFile", "id": 1}"#), -32600);
    assert_eq!(code(r#"{"jsonrpc": "2.0", "method": "fs.other", "id": 1}"#), -32601);
    assert_eq!(code(r#"{"jsonrpc": "2.0", "method": "fs.readFile", "params": {}, "id": 1}"#), -32602);
    assert_eq!(code(r#"{"jsonrpc": "2.0", "method": "fs.readFile", "params": {"path": 5}, "id": 1}"#), -32602);
    let mcp = post(&web, r#"{"jsonrpc": "2.0", "method": "tools/list", "id": 1}"#).json();
    assert!(mcp["error"]["code"] == -32601 && mcp["error"]["message"].as_str().unwrap().contains("/mcp"), "{mcp}");
}

#[test]
fn notifications_have_no_answer_and_batches_have_one_for_each_request() {
    let web = web();
    let notified = post(&web, r#"{"jsonrpc": "2.0", "method": "fs.readFile", "params": {"path": "my/data/b.txt"}}"#);
    assert_eq!((notified.status, notified.body.as_str()), (204, ""));
    let batch = json!([
        {"jsonrpc": "2.0", "method": "fs.readFile", "params": {"path": "my/data/document.txt"}, "id": "a"},
        {"jsonrpc": "2.0", "method": "fs.readFile", "params": {"path": "my/data/document.txt"}},
        {"jsonrpc": "2.0", "method": "fs.readFile", "params": {"path": "nothing"}, "id": "b"},
        5,
    ]);
    let answers = post(&web, &batch.to_string()).json_array();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!((&answers[0]["result"], &answers[0]["id"]), (&json!("Hello"), &json!("a")));
    assert_eq!((&answers[1]["error"]["code"], &answers[1]["id"]), (&json!(404), &json!("b")));
    assert_eq!(answers[2]["error"]["code"], -32600);
}

#[test]
fn in_strict_mode_the_status_says_it_too() {
    let web = Web::with("fs", "MCP_SERVER_ROOT_DIR", &FILES, json!({"http": {"rpc_status": true}}));
    let status = |method: &str, params: Value| {
        post(&web, &json!({"jsonrpc": "2.0", "method": method, "params": params, "id": 1}).to_string()).status
    };
    assert_eq!(status("fs.readFile", json!({"path": "my/data/b.txt"})), 200);
    assert_eq!(status("fs.readFile", json!({"path": "nothing"})), 404);
    assert_eq!(status("fs.listDirectory", json!({"path": "../x"})), 400);
    assert_eq!(status("fs.other", json!({})), 404);
    assert_eq!(status("fs.readFile", json!({})), 400);
    assert_eq!(post(&web, "{").status, 400);
}

#[test]
fn only_who_may_read_a_path_is_told_of_it() {
    let web = web();
    let ask = |scopes: &str, path: &str| {
        let body = json!({"jsonrpc": "2.0", "method": "fs.readFile", "params": {"path": path}, "id": 1}).to_string();
        web.post("/", &[("authorization", &format!("Bearer {}", web.token(scopes)))], &body).status
    };
    assert_eq!(ask("read:/my/", "/my/data/document.txt"), 200);
    assert_eq!(ask("read:/my/", "/other"), 403);
    assert_eq!(ask("", "/my/data/document.txt"), 403);
    assert_eq!(web.post("/", &[], "{}").status, 401);
}

#[test]
fn a_get_says_that_somebody_is_there() {
    let answer = web().get("/", &[]);
    assert_eq!(answer.status, 200);
    assert!(answer.json().is_object());
}

#[test]
fn the_limit_of_a_file_is_a_setting() {
    let (data, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(root.path().join("a"), "12345").unwrap();
    super::add(data.path(), "fs", &["--grant", &format!("root={}", root.path().display())]);
    let read = || {
        let output = crate::support::Zipfs(data.path()).run(&["call", "fs_readFile", "--json", r#"{"path": "a"}"#]);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert!(read().0);
    crate::support::Zipfs(data.path()).ok(&["plugin", "grant", "fs", "env=FS_MAX_FILE_BYTES=4"]);
    let (done, message) = read();
    assert!(!done && message.contains("more than the limit of 4"), "{message}");
    crate::support::Zipfs(data.path()).ok(&["plugin", "grant", "fs", "env=FS_MAX_FILE_BYTES=5"]);
    assert!(read().0);
}
