//! A client we did not write: rmcp's, in both eras.

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::json;

use crate::support::{Archive, Zipfs};

async fn lists_and_calls(client: rmcp::service::RunningService<rmcp::RoleClient, impl rmcp::Service<rmcp::RoleClient>>) {
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "zipfs_open"));
    let archive = Archive::of(&[("a.txt", "hello")]);
    let call = |name: &'static str, arguments: serde_json::Value| {
        let request = CallToolRequestParams::new(name).with_arguments(arguments.as_object().cloned().unwrap());
        client.call_tool(request)
    };
    let opened = call("zipfs_open", json!({"path": archive.path()})).await.unwrap();
    assert_eq!(opened.structured_content.unwrap()["file_count"], 1);
    let read = call("zipfs_read", json!({"path": "a.txt"})).await.unwrap();
    assert_eq!(read.structured_content.unwrap()["content"], "hello");
    let failed = call("zipfs_read", json!({"path": "b.txt"})).await.unwrap();
    assert_eq!(failed.is_error, Some(true));
    client.cancel().await.unwrap();
}

fn server(data: &std::path::Path) -> TokioChildProcess {
    let mut command = tokio::process::Command::from(Zipfs(data).command());
    command.arg("mcp");
    TokioChildProcess::new(command).unwrap()
}

#[tokio::test]
async fn with_a_handshake() {
    let data = tempfile::tempdir().unwrap();
    lists_and_calls(().serve(server(data.path())).await.unwrap()).await;
}

#[tokio::test]
async fn without_a_handshake() {
    use rmcp::model::ProtocolVersion;
    use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
    let data = tempfile::tempdir().unwrap();
    let mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    lists_and_calls(().serve_with_lifecycle(server(data.path()), mode).await.unwrap()).await;
}
