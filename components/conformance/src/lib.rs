//! What the official conformance suite of MCP asks of a server: its tools, resources and prompts, with the words it compares.
//!
//! The suite is made for native servers. Here the host speaks the protocol and this component, in its sandbox, does the rest; what
//! passes shows that nothing of the protocol is lost on the way through the contract.

#![deny(unsafe_code)]

mod answers;
mod asking;
mod content;
mod events;
mod forms;
mod prompts;
mod resources;
mod schemas;
mod tasks;

use zipfs_sdk::{About, Plugin, TaskUse, Tool};

struct Conformance;

impl Plugin for Conformance {
    fn about() -> About {
        About::new("conformance", env!("CARGO_PKG_VERSION")).title("Conformance").instructions("For the conformance suite of MCP.")
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("test_simple_text", "Answers with text.", content::text),
            Tool::new("test_image_content", "Answers with a picture.", content::image),
            Tool::new("test_audio_content", "Answers with sound.", content::audio),
            Tool::new("test_embedded_resource", "Answers with a resource.", content::embedded),
            Tool::new("test_multiple_content_types", "Answers with text, a picture and a resource.", content::mixed),
            Tool::new("test_error_handling", "Fails.", content::failure),
            Tool::new("test_tool_with_logging", "Writes three log lines.", events::logging),
            Tool::new("test_tool_with_progress", "Reports progress three times.", events::progress),
            Tool::new("test_logging_tool", "Writes a log line.", events::log_once),
            Tool::new("test_reconnection", "Takes its time.", events::reconnection),
            Tool::new("test_trigger_tool_change", "Says that the tools changed.", events::tools_changed),
            Tool::new("test_trigger_prompt_change", "Says that the prompts changed.", events::prompts_changed),
            Tool::new("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", schemas::all_of_it),
            Tool::new("test_custom_header", "Has an argument that is also a header.", schemas::header),
            Tool::new("test_sampling", "Asks the client's model.", asking::sampling),
            Tool::new("test_elicitation", "Asks for a name and an address.", asking::elicitation),
            Tool::new("test_elicitation_sep1034_defaults", "Asks with defaults.", asking::defaults),
            Tool::new("test_elicitation_sep1330_enums", "Asks with every form of choice.", asking::choices),
            Tool::new("test_missing_capability", "Needs a client with a model.", asking::needs_sampling),
            Tool::new("test_streaming_elicitation", "Asks for a name.", asking::name),
            Tool::new("test_input_required_result_elicitation", "Asks for a name.", asking::name),
            Tool::new("test_input_required_result_sampling", "Asks for the capital of France.", asking::capital),
            Tool::new("test_input_required_result_list_roots", "Asks for roots.", asking::roots),
            Tool::new("test_input_required_result_request_state", "Asks for a confirmation.", asking::with_state),
            Tool::new("test_input_required_result_tampered_state", "Asks for a confirmation.", asking::with_state),
            Tool::new("test_input_required_result_multiple_inputs", "Asks three things at once.", asking::several),
            Tool::new("test_input_required_result_multi_round", "Asks twice.", asking::rounds),
            Tool::new("test_input_required_result_capabilities", "Asks what the client can answer.", asking::by_ability),
            Tool::new("greet", "Greets at once.", tasks::greet).as_task(TaskUse::Never),
            Tool::new("slow_compute", "Takes as many seconds as asked.", tasks::slow).as_task(TaskUse::Always),
            Tool::new("failing_job", "Fails after a second.", tasks::failing).as_task(TaskUse::Required),
            Tool::new("protocol_error_job", "Breaks down.", tasks::breaking).as_task(TaskUse::Always),
            Tool::new("confirm_delete", "Asks before it deletes nothing.", tasks::confirm).as_task(TaskUse::Always),
            Tool::new("multi_input", "Asks two things at once.", tasks::two_questions).as_task(TaskUse::Always),
            Tool::new("test_tool_with_task", "Asks for a name, then takes its time.", tasks::ask_then_work),
        ]
    }
}

zipfs_sdk::export!(Conformance with resources, prompts, completions);
