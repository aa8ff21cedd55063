//! The tools on a bench: what each requirement says, on real files. Tests are named by the requirements.

use proptest::prelude::*;
use serde_json::{Value, json};
use zipfs_rootspace::Rootspace;
use zipfs_rootspace::digest::Hash;
use zipfs_sdk::Class;
use zipfs_sdk::testing::Bench;

struct Desk(Bench);

impl Desk {
    fn with(files: &[(&str, &str)]) -> Desk {
        let bench = Bench::of::<Rootspace>();
        files.iter().for_each(|(path, text)| bench.put(path, text));
        Desk(bench)
    }

    /// Hash of what is on disk.
    fn hash(&self, path: &str) -> String {
        Hash::of(&self.0.get(path).expect("the file is there")).to_hex()
    }

    #[track_caller]
    fn text(&self, path: &str) -> String {
        String::from_utf8(self.0.get(path).expect("the file is there")).unwrap()
    }

    #[track_caller]
    fn does(&self, tool: &str, arguments: Value) -> Value {
        self.0.call(tool, arguments).json()
    }

    /// Code, and message with suggestion, of a call that fails.
    #[track_caller]
    fn fails(&self, tool: &str, arguments: Value) -> (String, String) {
        let called = self.0.call(tool, arguments);
        let error = called.error();
        (error.code().to_owned(), format!("{} {}", error.message(), error.suggestion().unwrap_or_default()))
    }

    #[track_caller]
    fn replaces(&self, lines: Value, old: &str, new: &str) -> Value {
        let done = self.does("text.replace", json!({"path": "a", "hash": self.hash("a"), "lines": lines, "old": old, "new": new}));
        assert_eq!(done["hash"], self.hash("a"), "the new hash is that of the disk");
        done
    }
}

const ODD_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[test]
fn mcp_010_create_makes_a_file_with_the_directories_above_it() {
    let desk = Desk::with(&[("there", "x")]);
    let made = desk.does("file.create", json!({"path": "/notes/deep/a.md", "content": "hi\n"}));
    assert_eq!(made, json!({"hash": desk.hash("notes/deep/a.md")}));
    assert_eq!(desk.text("notes/deep/a.md"), "hi\n");
    desk.does("file.create", json!({"path": "empty", "content": ""}));
    assert_eq!(desk.text("empty"), "");
    let (code, message) = desk.fails("file.create", json!({"path": "there", "content": "y"}));
    assert_eq!((code.as_str(), desk.text("there").as_str()), ("FILE_EXISTS", "x"));
    assert!(message.contains("text.replace"), "{message}");
    assert_eq!(desk.fails("file.create", json!({"path": "/", "content": ""})).0, "NOT_A_FILE");
    assert_eq!(desk.fails("file.create", json!({"path": "notes", "content": ""})).0, "NOT_A_FILE");
    assert_eq!(desk.fails("file.create", json!({"path": "there/below/x", "content": ""})).0, "NOT_A_DIRECTORY");
}

#[test]
fn mcp_011_remove_needs_the_hash_and_returns_nothing() {
    let desk = Desk::with(&[("a", "text")]);
    assert_eq!(desk.fails("file.remove", json!({"path": "a", "hash": ODD_HASH})).0, "STALE_HASH");
    assert_eq!(desk.does("file.remove", json!({"path": "a", "hash": desk.hash("a")})), json!({}));
    assert_eq!(desk.0.get("a"), None);
    assert_eq!(desk.fails("file.remove", json!({"path": "a", "hash": ODD_HASH})).0, "FILE_NOT_FOUND");
    desk.0.put("binary", [0xff, 0]);
    desk.does("file.remove", json!({"path": "binary", "hash": desk.hash("binary")}));
}

#[test]
fn mcp_012_read_returns_content_the_hash_of_everything_and_the_number_of_lines() {
    let desk = Desk::with(&[("a", "one\ntwo\nthree\nfour"), ("empty", "")]);
    let hash = desk.hash("a");
    let all = desk.does("text.read", json!({"path": "a"}));
    assert_eq!(all, json!({"content": "one\ntwo\nthree\nfour", "hash": hash, "total_lines": 4}));
    let table = [
        (json!([1, 3]), "one\ntwo\n"),
        (json!([-2, 0]), "three\nfour"),
        (json!([3, 0]), "three\nfour"),
        (json!([1, -1]), "one\ntwo\nthree\n"),
        (json!([9, 0]), ""),
        (json!([3, 2]), ""),
        (json!([-99, 2]), "one\n"),
        (json!([0, 0]), "one\ntwo\nthree\nfour"),
    ];
    for (lines, content) in table {
        let part = desk.does("text.read", json!({"path": "a", "lines": lines}));
        assert_eq!(part, json!({"content": content, "hash": hash, "total_lines": 4}), "{lines}");
    }
    let empty = desk.does("text.read", json!({"path": "empty"}));
    assert_eq!((empty["content"].as_str(), empty["total_lines"].as_u64()), (Some(""), Some(0)));
    for odd in [json!([1]), json!([1, 2, 3]), json!(["1", "2"]), json!([1.5, 2]), json!(3)] {
        assert_eq!(desk.fails("text.read", json!({"path": "a", "lines": odd})).0, "INVALID_PARAMS", "{odd}");
    }
}

#[test]
fn mcp_012_a_read_has_a_limit() {
    let line = "x".repeat(1023) + "\n";
    let desk = Desk::with(&[("a", &line.repeat(9 << 10))]);
    let (code, message) = desk.fails("text.read", json!({"path": "a"}));
    assert_eq!(code, "TOO_LARGE");
    assert!(message.contains("9216 lines") && message.contains("[1, 8185]"), "{message}");
    let part = desk.does("text.read", json!({"path": "a", "lines": [1, 8185]}));
    assert_eq!(part["content"].as_str().map(str::len), Some(8184 << 10));
}

#[test]
fn mcp_013_replace_returns_the_new_hash_and_number_of_lines() {
    let desk = Desk::with(&[("a", "one\ntwo\nthree\n")]);
    assert_eq!(desk.replaces(json!([2, 3]), "two", "2\n2b")["total_lines"], 4);
    assert_eq!(desk.text("a"), "one\n2\n2b\nthree\n");
    assert_eq!(desk.replaces(json!([1, 0]), "2\n2b", "two")["total_lines"], 3);
    assert_eq!(desk.replaces(json!([1, 0]), "three\n", "")["total_lines"], 2);
    assert_eq!(desk.text("a"), "one\ntwo\n");
    assert_eq!(desk.replaces(json!([1, 0]), "one", "\n")["total_lines"], 2);
    assert_eq!(desk.text("a"), "\ntwo\n");
}

#[test]
fn mcp_013_the_last_line_keeps_its_missing_line_end() {
    let desk = Desk::with(&[("a", "one\ntwo")]);
    desk.replaces(json!([-1, 0]), "two", "2\n");
    assert_eq!(desk.text("a"), "one\n2");
    desk.replaces(json!([1, 0]), "2", "");
    assert_eq!(desk.text("a"), "one");
    desk.replaces(json!([1, 0]), "one", "");
    assert_eq!(desk.text("a"), "");
}

#[test]
fn mcp_014_046_insert_puts_lines_before_the_anchor() {
    let desk = Desk::with(&[("a", "one\ntwo\n")]);
    let insert = |line: i64, anchor: &str, content: &str| json!({"path": "a", "hash": desk.hash("a"), "line": line, "anchor": anchor, "content": content});
    assert_eq!(desk.does("text.insert", insert(1, "one", "zero"))["total_lines"], 3);
    assert_eq!(desk.text("a"), "zero\none\ntwo\n");
    assert_eq!(desk.does("text.insert", insert(-1, "two\n", "a\nb\n"))["hash"], desk.hash("a"));
    assert_eq!(desk.text("a"), "zero\none\na\nb\ntwo\n");
    let (code, message) = desk.fails("text.insert", insert(2, "two", "x"));
    assert_eq!(code, "ANCHOR_MISMATCH");
    assert!(message.contains("Line 2 of /a contains \"one\", not \"two\""), "{message}");
    for (line, code) in [(0, "LINE_OUT_OF_RANGE"), (6, "LINE_OUT_OF_RANGE"), (-6, "LINE_OUT_OF_RANGE")] {
        let (found, message) = desk.fails("text.insert", insert(line, "zero", "x"));
        assert_eq!(found, code, "{line}");
        assert!(message.contains("text.append") && message.contains("lines 1 to 5"), "{message}");
    }
    assert!(desk.fails("text.insert", insert(1, "zero", "")).1.contains("blank line"));
    assert_eq!(desk.fails("text.insert", insert(1, "zero\none", "x")).0, "INVALID_PARAMS");
    desk.0.put("a", "");
    assert!(desk.fails("text.insert", insert(1, "", "x")).1.contains("text.append"));
}

#[test]
fn mcp_015_append_is_literal_and_says_when_it_continues_a_line() {
    let desk = Desk::with(&[("a", "")]);
    let append = |content: &str| desk.does("text.append", json!({"path": "a", "hash": desk.hash("a"), "content": content}));
    let first = append("one");
    assert_eq!((first["total_lines"].as_u64(), first.get("note")), (Some(1), None));
    let second = append(" more\ntwo\n");
    assert_eq!((second["total_lines"].as_u64(), second["hash"].as_str()), (Some(2), Some(&*desk.hash("a"))));
    assert!(second["note"].as_str().unwrap().contains("continues line 1"), "{second}");
    assert_eq!(append("three\n").get("note"), None);
    assert_eq!(desk.text("a"), "one more\ntwo\nthree\n");
}

#[test]
fn mcp_025_026_paths_are_normalised() {
    let desk = Desk::with(&[("notes/a.md", "x\n"), ("work/a.md", "y\n")]);
    for path in ["/notes/a.md", "notes/a.md", "//notes//a.md", "/notes/./a.md", "notes/x/../a.md", "/work/../notes/a.md"] {
        assert_eq!(desk.does("text.read", json!({"path": path}))["content"], "x\n", "{path}");
    }
}

#[test]
fn mcp_027_028_paths_that_lead_out_are_refused() {
    let desk = Desk::with(&[("a", "x")]);
    for path in ["/../etc/passwd", "../a", "a/../../a", "C:\\Users\\file.txt", "c:/x", "\\\\server\\share", "a\\..\\..\\b", "a\0"] {
        for (tool, more) in
            [("text.read", json!({})), ("file.create", json!({"content": ""})), ("file.remove", json!({"hash": ODD_HASH}))]
        {
            let mut arguments = more;
            arguments["path"] = json!(path);
            assert_eq!(desk.fails(tool, arguments).0, "PATH_TRAVERSAL", "{tool} {path:?}");
        }
    }
}

#[test]
fn auth_042_links_do_not_lead_out_and_are_not_changed() {
    let desk = Desk::with(&[("a", "x"), ("d/b", "y")]);
    let root = desk.0.host_path();
    let outside = tempfile_outside();
    std::os::unix::fs::symlink(&outside, root.join("out")).unwrap();
    std::os::unix::fs::symlink("a", root.join("in")).unwrap();
    for path in ["out", "out/x"] {
        assert!(matches!(desk.0.call("text.read", json!({"path": path})).error().class(), Class::Forbidden | Class::NotFound));
    }
    assert_eq!(desk.does("text.read", json!({"path": "in"}))["content"], "x");
    let (code, message) = desk.fails("file.remove", json!({"path": "in", "hash": desk.hash("a")}));
    assert!(code == "NOT_A_FILE" && message.contains("is a link"), "{message}");
    assert_eq!(desk.fails("text.append", json!({"path": "out", "hash": ODD_HASH, "content": "x"})).0, "NOT_A_FILE");
    assert_eq!(desk.fails("file.create", json!({"path": "out", "content": "x"})).0, "FILE_EXISTS");
}

fn tempfile_outside() -> std::path::PathBuf {
    std::env::temp_dir()
}

#[test]
fn mcp_030_encoding_is_utf_8_or_base64() {
    let desk = Desk::with(&[]);
    desk.does("file.create", json!({"path": "b", "content": "AP8=", "encoding": "base64"}));
    assert_eq!(desk.0.get("b").unwrap(), [0, 255]);
    desk.does("file.create", json!({"path": "t", "content": "aGkK", "encoding": "base64"}));
    assert_eq!(desk.does("text.read", json!({"path": "t"}))["content"], "hi\n", "text is text however it came");
    desk.does("file.create", json!({"path": "u", "content": "ü", "encoding": "utf-8"}));
    assert_eq!(desk.text("u"), "ü");
    assert_eq!(desk.fails("file.create", json!({"path": "x", "content": "", "encoding": "latin1"})).0, "INVALID_PARAMS");
    assert_eq!(desk.fails("file.create", json!({"path": "x", "content": "A P8=", "encoding": "base64"})).0, "INVALID_PARAMS");
    assert_eq!(desk.0.get("x"), None);
    let (code, message) = desk.fails("text.read", json!({"path": "b"}));
    assert!(code == "NOT_TEXT" && message.contains("base64"), "{message}");
    assert_eq!(desk.fails("text.append", json!({"path": "b", "hash": desk.hash("b"), "content": "x"})).0, "NOT_TEXT");
}

#[test]
fn mcp_031_the_hash_is_of_the_stored_bytes_without_newline_normalisation() {
    let desk = Desk::with(&[]);
    for (path, content) in [("lf", "a\nb\n"), ("crlf", "a\r\nb\r\n"), ("open", "a"), ("bom", "\u{feff}a")] {
        let made = desk.does("file.create", json!({"path": path, "content": content}));
        assert_eq!(desk.text(path), content);
        assert_eq!(made["hash"], Hash::of(content.as_bytes()).to_hex());
        assert_eq!(desk.does("text.read", json!({"path": path}))["hash"], made["hash"]);
    }
}

/// Every tool that changes something, with the hash given.
fn mutations(hash: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("text.replace", json!({"path": "a", "hash": hash, "lines": [1, 0], "old": "one", "new": "x"})),
        ("text.insert", json!({"path": "a", "hash": hash, "line": 1, "anchor": "one", "content": "x"})),
        ("text.append", json!({"path": "a", "hash": hash, "content": "x"})),
        ("text.patch", json!({"path": "a", "hash": hash, "patch": "@@ -1 +1 @@\n-one\n+x\n"})),
        ("file.remove", json!({"path": "a", "hash": hash})),
    ]
}

#[test]
fn mcp_032_every_change_requires_a_hash() {
    let desk = Desk::with(&[("a", "one\n")]);
    for (tool, mut arguments) in mutations("") {
        assert_eq!(desk.fails(tool, arguments.clone()).0, "INVALID_HASH", "{tool}");
        arguments.as_object_mut().unwrap().remove("hash");
        assert_eq!(desk.fails(tool, arguments).0, "INVALID_PARAMS", "{tool}");
    }
    assert_eq!(desk.text("a"), "one\n");
}

#[test]
fn mcp_033_every_change_returns_the_new_hash() {
    for (tool, _) in mutations("").into_iter().filter(|(tool, _)| *tool != "file.remove") {
        let desk = Desk::with(&[("a", "one\n")]);
        let arguments = mutations(&desk.hash("a").to_uppercase()).into_iter().find(|(name, _)| *name == tool).unwrap().1;
        let before = desk.hash("a");
        let done = desk.does(tool, arguments);
        assert_eq!(done["hash"], desk.hash("a"), "{tool}");
        assert_ne!(done["hash"], before, "{tool}");
    }
}

#[test]
fn mcp_034_a_stale_hash_says_read_again_and_not_what_the_hash_is() {
    let desk = Desk::with(&[("a", "one\n")]);
    let old = desk.hash("a");
    desk.0.put("a", "other\n");
    let now = desk.hash("a");
    for (tool, arguments) in mutations(&old) {
        let called = desk.0.call(tool, arguments);
        let error = called.error();
        assert_eq!((error.class(), error.code()), (Class::Conflict, "STALE_HASH"), "{tool}");
        let all = format!("{error} {:?} {:?}", error.suggestion(), error.more());
        assert!(all.contains("Call text.read again") && all.contains("/a"), "{all}");
        assert!(!all.contains(&now) && !all.contains("other"), "{all}");
    }
    assert_eq!(desk.text("a"), "other\n");
}

#[test]
fn mcp_034_stale_is_said_before_what_does_not_fit() {
    let desk = Desk::with(&[("a", "other\n")]);
    for (tool, arguments) in mutations(ODD_HASH) {
        assert_eq!(desk.fails(tool, arguments).0, "STALE_HASH", "{tool}");
    }
}

#[test]
fn mcp_040_lines_count_from_one_and_the_end_is_exclusive() {
    let desk = Desk::with(&[("a", "x\nx\nx\n")]);
    desk.replaces(json!([1, 2]), "x", "first");
    desk.replaces(json!([2, 3]), "x", "second");
    assert_eq!(desk.text("a"), "first\nsecond\nx\n");
}

#[test]
fn mcp_041_negative_numbers_count_from_the_end() {
    let desk = Desk::with(&[("a", "x\nx\nx\n")]);
    desk.replaces(json!([-2, -1]), "x", "middle");
    desk.replaces(json!([-1, 0]), "x", "last");
    assert_eq!(desk.text("a"), "x\nmiddle\nlast\n");
}

#[test]
fn mcp_042_zero_is_open() {
    let desk = Desk::with(&[("a", "x\ny\nx\n")]);
    desk.replaces(json!([0, 2]), "x", "first");
    desk.replaces(json!([2, 0]), "x", "last");
    assert_eq!(desk.text("a"), "first\ny\nlast\n");
}

#[test]
fn mcp_045_old_is_whole_lines_at_one_place_in_the_range() {
    let desk = Desk::with(&[("a", "fn a() {\n    x();\n}\nfn b() {\n    x();\n}\n")]);
    let replace = |lines: Value, old: &str| {
        desk.fails("text.replace", json!({"path": "a", "hash": desk.hash("a"), "lines": lines, "old": old, "new": ""}))
    };
    let (code, message) = replace(json!([1, 0]), "    x();\n}");
    assert!(code == "TEXT_NOT_UNIQUE" && message.contains("at lines 2, 5"), "{message}");
    let (code, message) = replace(json!([3, 5]), "    x();");
    assert!(code == "TEXT_NOT_FOUND" && message.contains("at line 2, 5"), "{message}");
    let (code, message) = replace(json!([1, 0]), "    x()");
    assert!(code == "TEXT_NOT_FOUND" && message.contains("Line 2 of /a contains \"    x();\", not \"    x()\""), "{message}");
    let (_, message) = replace(json!([1, 0]), "fn b() {\n  x();\n}");
    assert!(message.contains("Line 5 of /a contains \"    x();\", not \"  x();\"") && message.contains("blanks only"), "{message}");
    let (code, message) = replace(json!([5, 5]), "}");
    assert!(code == "RANGE_EMPTY" && message.contains("exclusive"), "{message}");
    let (_, message) = replace(json!([1, 0]), "}\nfn c() {");
    assert!(message.contains("Line 4 of /a contains \"fn b() {\", not \"fn c() {\""), "{message}");
    let (_, message) = replace(json!([1, 0]), "    x();\n}\nend");
    assert!(message.contains("/a ends before line 7, where \"end\" should be") || message.contains("Line 4"), "{message}");
}

#[test]
fn mcp_045_what_is_looked_for_has_a_limit() {
    let desk = Desk::with(&[("a", "x\n")]);
    let old = "x".repeat((2 << 20) + 1);
    let (code, message) =
        desk.fails("text.replace", json!({"path": "a", "hash": desk.hash("a"), "lines": [1, 0], "old": old, "new": ""}));
    assert!(code == "TOO_LARGE" && message.contains("text.patch"), "{message}");
}

#[test]
fn mcp_052_a_carriage_return_in_the_way_is_named() {
    let desk = Desk::with(&[("a", "one\r\ntwo\r\n")]);
    let (_, message) =
        desk.fails("text.replace", json!({"path": "a", "hash": desk.hash("a"), "lines": [1, 0], "old": "two", "new": "2"}));
    assert!(message.contains("Line 2 of /a contains \"two\\r\", not \"two\"") && message.contains("put \\r"), "{message}");
    desk.replaces(json!([1, 0]), "two\r", "2\r");
    assert_eq!(desk.text("a"), "one\r\n2\r\n");
}

#[test]
fn mcp_052_quotations_are_short_and_harmless() {
    let desk = Desk::with(&[("a", &format!("\u{1b}[2J{}\n", "x".repeat(5000)))]);
    let (_, message) =
        desk.fails("text.insert", json!({"path": "a", "hash": desk.hash("a"), "line": 1, "anchor": "y", "content": "z"}));
    assert!(message.len() < 600 && !message.contains('\u{1b}') && message.contains('…'), "{message}");
}

#[test]
fn mcp_050_what_is_not_there_is_not_found() {
    let desk = Desk::with(&[("file", "x")]);
    for (tool, mut arguments) in mutations(ODD_HASH).into_iter().chain([("text.read", json!({}))]) {
        for path in ["/nothing", "/no/such/dir/a", "/file/below"] {
            arguments["path"] = json!(path);
            let called = desk.0.call(tool, arguments.clone());
            assert_eq!((called.error().class(), called.error().code()), (Class::NotFound, "FILE_NOT_FOUND"), "{tool} {path}");
            assert!(called.error().suggestion().unwrap().contains("list:///"), "{tool}");
        }
        arguments["path"] = json!("/");
        assert_eq!(desk.fails(tool, arguments).0, "NOT_A_FILE", "{tool}");
    }
}

#[test]
fn patch_is_all_or_nothing() {
    let desk = Desk::with(&[("a", "one\ntwo\nthree\nfour\nfive\n")]);
    let patch = |patch: &str| json!({"path": "a", "hash": desk.hash("a"), "patch": patch});
    let half = "@@ -1 +1 @@\n-one\n+ONE\n@@ -4,2 +4,2 @@\n four\n-fife\n+FIVE\n";
    let (code, message) = desk.fails("text.patch", patch(half));
    assert!(code == "PATCH_MISMATCH" && message.contains("Line 5 of /a contains \"five\", not \"fife\""), "{message}");
    assert_eq!(desk.text("a"), "one\ntwo\nthree\nfour\nfive\n");
    let done = desk.does("text.patch", patch(&half.replace("fife", "five")));
    assert_eq!(done, json!({"hash": desk.hash("a"), "total_lines": 5}));
    assert_eq!(desk.text("a"), "ONE\ntwo\nthree\nfour\nFIVE\n");
}

#[test]
fn a_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::with(&[("a", "x\n")]);
    let path = desk.0.host_path().join("a");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    desk.replaces(json!([1, 0]), "x", "y");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Whatever is done in whatever order: the hash that was returned last is that of the bytes on disk, it works for the next
    /// edit, and the one before does not any more.
    #[test]
    fn the_chain_of_hashes_follows_the_disk(steps in proptest::collection::vec((0_u8..4, 0_usize..9, "[ab\n]{1,4}"), 1..12)) {
        let desk = Desk::with(&[]);
        let mut known = desk.does("file.create", json!({"path": "a", "content": "a\nb\n"}))["hash"].as_str().unwrap().to_owned();
        for (what, at, text) in steps {
            prop_assert_eq!(&known, &desk.hash("a"));
            let all = desk.text("a");
            let lines: Vec<&str> = all.lines().collect();
            let line = at % lines.len().max(1);
            let here = lines.get(line).copied().unwrap_or_default();
            let (tool, arguments) = match what {
                0 => ("text.append", json!({"path": "a", "hash": known, "content": text})),
                1 => ("text.insert", json!({"path": "a", "hash": known, "line": line + 1, "anchor": here, "content": text})),
                2 => ("text.replace", json!({"path": "a", "hash": known, "lines": [line + 1, line + 2], "old": here, "new": text})),
                _ => ("text.replace", json!({"path": "a", "hash": known, "lines": [line + 1, line + 2], "old": here, "new": ""})),
            };
            let called = desk.0.call(tool, arguments.clone());
            if let Ok(zipfs_sdk::Reply::Complete(_)) = &called.result {
                let new = called.json()["hash"].as_str().unwrap().to_owned();
                if new != known {
                    prop_assert_eq!(desk.fails(tool, arguments).0, "STALE_HASH");
                }
                known = new;
            } else {
                prop_assert_eq!(desk.text("a"), all, "an edit that fails changes nothing");
            }
        }
    }
}
