//! The bench holds a tool to what it declared, and its files behave like the host's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use zipfs_sdk::client::{self, Abilities};
use zipfs_sdk::fs::{self, IoError, Kind, Timestamp};
use zipfs_sdk::path::WorkspacePath;
use zipfs_sdk::testing::{Bench, Progress};
use zipfs_sdk::{About, Elicited, Error, NoArguments, Outcome, Plugin, Questions, Reply, Resumption, Tool, files, log, progress};

struct Probe;

impl Plugin for Probe {
    const INVALID_ARGUMENTS: &'static str = "BAD_ARGUMENTS";

    fn about() -> About {
        About::new("probe", "1.0.0")
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("nothing_declared", "Looks for a workspace.", look),
            Tool::new("reads", "Tries to change what it may only read.", change).reads().uses("files"),
            Tool::new("writes_without_files", "Uses a capability it did not name.", change).writes(),
            Tool::new("writes", "Uses everything.", change).writes().uses("files"),
            Tool::new("walks", "Exercises handles.", walk).writes(),
            Tool::new("asks", "Asks the person.", ask).reads(),
            Tool::new("talks", "Reports and logs.", talk),
            Tool::new("sums", "Has arguments.", |numbers: Numbers| Ok(Outcome::new().text((numbers.a + numbers.b).to_string()))),
        ]
    }
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Done {
    modes: Vec<u32>,
}

fn look(_: NoArguments) -> Result<Outcome, Error> {
    fs::workspace()?;
    Ok(Outcome::new())
}

fn change(_: NoArguments) -> Result<Done, Error> {
    let path = WorkspacePath::parse("f")?;
    // Dropped without a commit: must leave no trace.
    files::replace(&path)?.write(b"half")?;
    let replacement = files::replace(&path)?;
    replacement.write(b"new")?;
    replacement.commit()?;
    let mut modes = Vec::new();
    for mode in [0o7777, 0, 0o644] {
        files::set_mode(&path, mode)?;
        modes.push(files::mode(&path)?);
    }
    Ok(Done { modes })
}

fn walk(_: NoArguments) -> Result<Outcome, Error> {
    let root = fs::workspace()?;
    root.create_dir("d")?;
    let dir = root.open_dir("d")?;
    let file = dir.create_file("big")?;
    assert_eq!(dir.create_file("big").unwrap_err(), IoError::Exists);
    let contents: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
    file.write_at(0, &contents)?;
    assert_eq!(file.read_at(10, 150_000)?, contents[10..150_010]);
    assert_eq!(file.read_at(199_999, 10)?, contents[199_999..]);
    assert_eq!(file.read_chunk(0, usize::MAX)?.len(), 65_536);
    assert!(file.read_at(200_000, 10)?.is_empty());
    file.set_len(3)?;
    let modified = Timestamp { seconds: 951_782_400, nanoseconds: 5_000 };
    file.set_modified(modified)?;
    let stat = dir.stat("big")?;
    assert_eq!((stat.kind, stat.size, stat.modified, file.size()?), (Kind::File, 3, Some(modified), 3));
    dir.rename("big", &root, "moved")?;
    assert_eq!(dir.stat("big").unwrap_err(), IoError::NotFound);
    assert_eq!(root.open_file_to_write("moved")?.size()?, 3);
    assert_eq!(root.open_dir("moved").unwrap_err(), IoError::NotDir);
    assert_eq!(root.stat("moved/x").unwrap_err(), IoError::NotDir);
    assert!(root.remove_dir(".").is_err());
    assert_eq!(root.open_file("../out").unwrap_err(), IoError::NotPermitted);
    let names: Vec<_> = root.read_dir()?.into_iter().map(|entry| (entry.name, entry.kind)).collect();
    assert!(names.contains(&("d".into(), Kind::Dir)) && names.contains(&("moved".into(), Kind::File)));
    root.remove_file("moved")?;
    root.remove_dir("d")?;
    assert!(root.read_dir()?.is_empty());
    Ok(Outcome::new())
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Form {
    colour: String,
}

fn ask(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    match resumed {
        None if client::abilities().elicitation => Ok(Questions::new().elicit::<Form>("colour", "Which?").remember(&7)?.into()),
        None => Err(Error::forbidden("CANNOT_ASK", "The client cannot ask.")),
        Some(resumed) => {
            assert_eq!(resumed.state::<u32>()?, Some(7));
            assert_eq!(resumed.elicited::<Form>("another")?, None);
            Ok(Outcome::new().text(format!("{:?}", resumed.elicited::<Form>("colour")?)).into())
        }
    }
}

fn talk(_: NoArguments) -> Result<Outcome, Error> {
    progress::report(1.0, Some(2.0), Some("half"));
    log::warn("careful");
    Ok(Outcome::new())
}

#[test]
fn a_tool_gets_what_it_declared_and_nothing_else() {
    let bench = Bench::of::<Probe>();
    bench.put("f", "old");
    assert_eq!(bench.call("nothing_declared", json!({})).error().code(), "PATH_NOT_FOUND");
    assert_eq!(bench.call("reads", json!({})).error().code(), "PATH_TRAVERSAL");
    assert_eq!(bench.call("writes_without_files", json!({})).error().code(), "CAPABILITY_DENIED");
    assert_eq!(bench.get("f").unwrap(), b"old");
}

#[test]
fn files_are_replaced_whole_and_modes_are_masked() {
    let bench = Bench::of::<Probe>();
    bench.put("f", "old");
    assert_eq!(bench.call("writes", json!({})).json(), json!({"modes": [0o755, 0o600, 0o644]}));
    assert_eq!(bench.get("f").unwrap(), b"new");
    let staging = bench.host_path().with_file_name("staging");
    assert_eq!(std::fs::read_dir(staging).unwrap().count(), 0);
}

#[test]
fn handles_read_write_and_rename() {
    Bench::of::<Probe>().call("walks", json!({})).outcome();
}

#[test]
fn questions_come_back_with_answers_and_state() {
    assert_eq!(Bench::of::<Probe>().call("asks", json!({})).error().code(), "CANNOT_ASK");
    let bench = Bench::of::<Probe>().client(Abilities { elicitation: true, sampling: false, roots: false });
    let first = bench.call("asks", json!({}));
    let questions = first.questions();
    assert_eq!(questions.names().collect::<Vec<_>>(), ["colour"]);
    let table = [
        (json!({"action": "accept", "content": {"colour": "red"}}), Some(Elicited::Accepted(Form { colour: "red".into() }))),
        (json!({"action": "decline"}), Some(Elicited::Declined)),
        (json!({"action": "cancel"}), Some(Elicited::Cancelled)),
    ];
    for (answer, expected) in table {
        let second = bench.resume("asks", json!({}), questions, vec![("colour".into(), answer)]);
        let zipfs_sdk::Content::Text(text) = &second.outcome().content()[0] else { panic!("no text") };
        assert_eq!(*text, format!("{expected:?}"));
    }
    let unfit = bench.resume("asks", json!({}), questions, vec![("colour".into(), json!({"action": "accept", "content": {}}))]);
    assert_eq!(unfit.error().code(), "INVALID_ANSWER");
}

#[test]
fn progress_and_log_are_collected() {
    let called = Bench::of::<Probe>().call("talks", json!({}));
    assert_eq!(called.progress, [Progress { done: 1.0, total: Some(2.0), message: Some("half".into()) }]);
    assert_eq!((called.log.len(), called.log[0].1.as_str()), (1, "careful"));
}

#[test]
fn argument_errors_have_the_code_of_the_plugin() {
    let called = Bench::of::<Probe>().call("sums", json!({"a": 1, "b": "two"}));
    assert_eq!(called.error().code(), "BAD_ARGUMENTS");
    assert!(called.error().message().contains("'b'"), "{}", called.error());
}

#[test]
#[should_panic(expected = "must be a struct")]
fn a_result_that_is_no_object_is_refused() {
    struct Wrong;
    impl Plugin for Wrong {
        fn about() -> About {
            About::new("wrong", "1.0.0")
        }
        fn tools() -> Vec<Tool> {
            vec![Tool::new("list", "Returns a bare list.", |_: NoArguments| Ok(vec![1u32]))]
        }
    }
    Bench::of::<Wrong>();
}
