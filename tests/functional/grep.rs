//! `zipfs_grep` in the sandbox: long lines, many files, and patterns that ruin other engines.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Archive, Server, Session};

fn grep(session: &Session, arguments: Value) -> Value {
    session.call("zipfs_grep", arguments).value()
}

#[test]
fn a_line_of_twenty_megabytes_is_searched_in_little_memory() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a.txt", "first needle\n")]));
    let half = r#"{"key": "value", "list": [1, 2, 3]}, "#.repeat(10 << 20 >> 5);
    std::fs::write(session.path.join("big.json"), format!("{half}\"the needle\"{half}\nlast needle")).unwrap();
    grep(&session, json!({"pattern": "needle"}));
    let before = server.process().memory();
    let found = grep(&session, json!({"pattern": "the needle|last"}));
    assert_eq!((&found["total_matches"], &found["truncated"]), (&json!(2), &json!(false)));
    let long = found["matches"][0]["line_content"].as_str().unwrap();
    assert!(long.contains("the needle") && long.len() < 2000, "{} bytes", long.len());
    assert_eq!(found["matches"][1], json!({"file": "big.json", "line_number": 2, "line_content": "last needle"}));
    let grown = server.process().memory().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes");
}

#[test]
fn a_search_that_is_shared_finds_what_one_that_is_not_finds() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a.txt", "nothing")]));
    let filler = "some line of text that does not match at all\n".repeat(3000);
    let mut expected = Vec::new();
    for number in 0..120 {
        let directory = session.path.join(format!("d{}", number % 10));
        std::fs::create_dir_all(&directory).unwrap();
        let lines = format!("Needle {number}\n").repeat(number % 4);
        std::fs::write(directory.join(format!("{number:03}.log")), format!("{filler}{lines}{filler}")).unwrap();
        expected.extend((0..number % 4).map(|line| (format!("d{}/{number:03}.log", number % 10), 3001 + line as u64)));
    }
    std::fs::write(session.path.join("d3/binary.log"), b"Needle\0").unwrap();
    expected.sort();
    let places = |found: &Value| {
        let place = |one: &Value| (one["file"].as_str().unwrap().to_owned(), one["line_number"].as_u64().unwrap());
        found["matches"].as_array().unwrap().iter().map(place).collect::<Vec<_>>()
    };
    // 32 MB in 120 files: far beyond what one instance searches alone.
    let found = grep(&session, json!({"pattern": "^needle \\d+$", "ignore_case": true, "max_results": 1000}));
    assert_eq!(places(&found), expected);
    assert_eq!((&found["total_matches"], &found["truncated"]), (&json!(expected.len()), &json!(false)));
    assert_eq!((&found["files_searched"], &found["binary_files_skipped"]), (&json!(121), &json!(1)));
    let cut = grep(&session, json!({"pattern": "^Needle", "glob": "*.log", "max_results": 7}));
    assert_eq!(places(&cut), expected[..7]);
    assert_eq!((&cut["total_matches"], &cut["truncated"]), (&json!(expected.len()), &json!(true)));
}

#[test]
fn patterns_that_ruin_backtracking_engines_take_their_time_and_no_more() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a.txt", "")]));
    let lines: String = (0..400).map(|line| format!("{}!\n", "a".repeat(500 + line))).collect();
    std::fs::write(session.path.join("a.txt"), lines).unwrap();
    std::fs::write(session.path.join("one-line"), "a".repeat(1 << 20) + "!").unwrap();
    for pattern in ["(a+)+$", "(a|aa)+$", "(a|ab|aab)+$", "(.*a){20}$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y"] {
        let began = Instant::now();
        let found = grep(&session, json!({"pattern": pattern}));
        assert_eq!(found["total_matches"], 0, "{pattern}");
        assert!(began.elapsed() < Duration::from_secs(10), "{pattern} took {:?}", began.elapsed());
    }
    // One that would need too much memory is refused by name.
    for pattern in ["(a{1000}){1000}", "((((a{50}){50}){50}){50})"] {
        let message = session.call("zipfs_grep", json!({"pattern": pattern})).fails("INVALID_PARAMS");
        assert!(message.contains("'pattern'"), "{message}");
    }
    grep(&session, json!({"pattern": "a"}));
}
