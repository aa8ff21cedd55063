//! A file of 100 MB: edits of it stay within what a call may have of memory and time, and read it once.

use std::io::Write;

use serde_json::json;

use super::{Rooted, hash_of};

const LINES: usize = 1_000_000;

/// A million lines of a hundred bytes, each with its number.
fn write_large(path: &std::path::Path) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).expect("a large file"));
    for number in 1..=LINES {
        writeln!(file, "{number:0>9} {}", "x".repeat(89)).expect("room for 100 MB");
    }
}

fn line(number: usize) -> String {
    format!("{number:0>9} {}", "x".repeat(89))
}

#[test]
fn a_hundred_megabytes_are_edited_in_the_memory_of_a_call() {
    let rooted = Rooted::new("rootspace");
    let path = rooted.root.path().join("large");
    write_large(&path);
    let before = rooted.server.process().memory();
    let (mut hash, mut total) = (hash_of(&path), LINES as u64);
    let steps = [
        ("text.append", json!({"content": "end\n"}), 1_i64),
        ("text.replace", json!({"lines": [1, 0], "old": line(LINES / 2), "new": "middle"}), 0),
        ("text.replace", json!({"lines": [-9, 0], "old": format!("{}\nend", line(LINES)), "new": ""}), -2),
        ("text.insert", json!({"line": -1, "anchor": line(LINES - 1), "content": "before\n"}), 1),
        ("text.patch", json!({"patch": format!("@@ -1 +1,2 @@\n-{}\n+a\n+b\n", line(1))}), 1),
    ];
    for (tool, mut arguments, more) in steps {
        (arguments["path"], arguments["hash"]) = (json!("large"), json!(hash));
        let began = std::time::Instant::now();
        let done = rooted.call(tool, arguments).value();
        let took = began.elapsed();
        hash = hash_of(&path);
        total = total.checked_add_signed(more).expect("a number of lines");
        assert_eq!((done["hash"].as_str(), done["total_lines"].as_u64()), (Some(&*hash), Some(total)), "{tool}");
        eprintln!("{tool} of 100 MB: {took:?}");
    }
    let part = rooted.call("text.read", json!({"path": "large", "lines": [-2, 0]})).value();
    assert_eq!(part["content"], format!("before\n{}\n", line(LINES - 1)));
    let message = rooted.call("text.read", json!({"path": "large"})).fails("TOO_LARGE");
    assert!(message.contains("Read in parts"), "{message}");
    // What a call may have, and what the host needs to compile and to hand things on. The file itself is 100 MB.
    let grown = rooted.server.process().peak_memory().saturating_sub(before);
    assert!(grown < 80 << 20, "the server grew by {grown} bytes");
}

#[test]
fn a_large_file_is_read_once_for_an_edit() {
    let rooted = Rooted::new("rootspace");
    let path = rooted.root.path().join("large");
    write_large(&path);
    let size = std::fs::metadata(&path).unwrap().len();
    let read_so_far = || {
        let io = std::fs::read_to_string(format!("/proc/{}/io", rooted.server.process().0)).expect("the process lives");
        let line = io.lines().find(|line| line.starts_with("rchar:")).expect("the field").to_owned();
        line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).expect("a number")
    };
    // Once for the code of the plugin and whatever else a first call needs.
    rooted.call("text.read", json!({"path": "large", "lines": [1, 2]})).value();
    for (tool, arguments) in [
        ("text.replace", json!({"lines": [-5, -1], "old": line(LINES - 3), "new": "x"})),
        ("text.insert", json!({"line": -2, "anchor": line(LINES - 1), "content": "y"})),
        ("text.append", json!({"content": "z"})),
    ] {
        let mut arguments = arguments;
        (arguments["path"], arguments["hash"]) = (json!("large"), json!(hash_of(&path)));
        let before = read_so_far();
        rooted.call(tool, arguments).value();
        let read = read_so_far() - before;
        assert!(read < size + size / 50, "{tool} read {read} bytes of a file of {size}");
    }
}
