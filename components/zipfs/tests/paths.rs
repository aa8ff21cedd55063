//! One table of paths against every tool that takes one: what leaves is refused, what does not is a literal name.

use serde_json::{Value, json};
use zipfs_sdk::testing::Bench;
use zipfs_tools::Zipfs;

/// What a path must be taken for.
#[derive(Clone, Debug, PartialEq)]
enum Verdict {
    /// An attempt to leave.
    Traversal,
    /// Nothing that a filesystem could hold.
    Invalid,
    /// The root of the workspace.
    Root,
    /// This name and no other.
    Literal(String),
}

use Verdict::{Invalid, Root, Traversal};

fn table() -> Vec<(String, Verdict)> {
    let traversal = [
        "..",
        "../x",
        "a/../x",
        "a/../../x",
        "./../x",
        "/x",
        "//x",
        r"..\x",
        r"a\..\x",
        "C:x",
        "a:b",
        r"C:\x",
        r"\\srv\x",
        r"\\?\C:\x",
        "x\0",
        "a\0b",
        "\0x",
        "a\nb",
        "a\rb",
        "a\u{1b}b",
        "a\u{7f}b",
        "../workspace-evil/x",
        "/proc/self/cwd",
        "/proc/self/root",
        "/proc/self/fd/3",
        "/etc/passwd",
    ];
    let literal = [
        r"a\b",
        "%2e%2e/x",
        "..%2fx",
        "..%5cx",
        "%00",
        "\u{ff0e}\u{ff0e}/x",
        "\u{2025}/x",
        "x\u{2215}y",
        "x\u{ff0f}y",
        "\u{202e}x",
        ".\u{200b}./x",
        "con",
        "nul.txt",
        "dot.",
        "space ",
        "n\u{e9}",
        "ne\u{301}",
        "Case",
        "case",
        "..foo",
        "...",
        "a..b",
        "~/x",
        "$HOME/x",
        "-rf",
    ];
    let mut table: Vec<(String, Verdict)> = Vec::new();
    table.extend(traversal.map(|path| (path.to_owned(), Traversal)));
    table.extend(literal.map(|path| (path.to_owned(), Verdict::Literal(path.to_owned()))));
    table.extend(["/", ".", "./", ""].map(|path| (path.to_owned(), Root)));
    let name = "n".repeat(255);
    table.push((name.clone(), Verdict::Literal(name)));
    table.push(("n".repeat(256), Invalid));
    table.push(("d/".repeat(32_768), Invalid));
    table.push(("p".repeat(65_535), Invalid));
    let levels = format!("{}f", "l/".repeat(1000));
    table.push((levels.clone(), Verdict::Literal(levels)));
    // Within our bound, and one byte more than the system takes with the byte that ends it.
    table.push((format!("{}ff", "e/".repeat(2047)), Invalid));
    table.push(("trailing/".to_owned(), Verdict::Literal("trailing".to_owned())));
    table
}

fn code(bench: &Bench, tool: &str, arguments: Value) -> String {
    bench.call(tool, arguments).error().code().to_owned()
}

#[test]
fn every_path_argument_obeys_the_table() {
    for (path, verdict) in table() {
        let bench = Bench::of::<Zipfs>();
        let shown = path.chars().take(40).collect::<String>();
        let calls = [
            ("zipfs_ls", json!({"path": path})),
            ("zipfs_tree", json!({"path": path})),
            ("zipfs_read", json!({"path": path})),
            ("zipfs_delete", json!({"path": path, "recursive": true})),
            ("zipfs_write", json!({"path": path, "content": "x"})),
        ];
        for (tool, arguments) in calls {
            let expected = match (&verdict, tool) {
                (Traversal, _) => "PATH_TRAVERSAL",
                (Invalid, _) => "INVALID_PARAMS",
                (Root, "zipfs_ls" | "zipfs_tree") | (Verdict::Literal(_), "zipfs_write") => {
                    bench.call(tool, arguments).json();
                    continue;
                }
                (Root, _) => "INVALID_PARAMS",
                (Verdict::Literal(_), _) => "PATH_NOT_FOUND",
            };
            assert_eq!(code(&bench, tool, arguments), expected, "{tool} {shown:?}");
        }
        if let Verdict::Literal(name) = &verdict {
            assert_eq!(bench.get(name).as_deref(), Some(&b"x"[..]), "{shown:?} is not on the disk under its own name");
            assert_eq!(bench.call("zipfs_read", json!({"path": path})).json()["content"], "x", "{shown:?}");
            bench.call("zipfs_delete", json!({"path": path})).json();
            assert_eq!(bench.get(name), None, "{shown:?}");
        }
        let around = std::fs::read_dir(bench.host_path().parent().unwrap()).unwrap().count();
        assert_eq!(around, 2, "{shown:?} left something beside the workspace");
    }
}

#[test]
fn a_directory_that_only_begins_like_the_workspace_is_outside() {
    let bench = Bench::of::<Zipfs>();
    let sibling = bench.host_path().with_file_name("workspace-evil");
    std::fs::create_dir(&sibling).unwrap();
    std::fs::write(sibling.join("x"), "secret").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("../workspace-evil", bench.host_path().join("link")).unwrap();
    for path in ["../workspace-evil/x", "link/x"] {
        assert_eq!(code(&bench, "zipfs_read", json!({"path": path})), "PATH_TRAVERSAL", "{path}");
        assert_eq!(code(&bench, "zipfs_delete", json!({"path": path})), "PATH_TRAVERSAL", "{path}");
        assert_eq!(code(&bench, "zipfs_write", json!({"path": path, "content": ""})), "PATH_TRAVERSAL", "{path}");
    }
    assert_eq!(std::fs::read(sibling.join("x")).unwrap(), b"secret");
}

#[test]
fn tools_that_need_the_host_say_so() {
    let bench = Bench::of::<Zipfs>();
    let calls = [
        ("zipfs_open", json!({"path": "/a.zip"})),
        ("zipfs_close", json!({})),
        ("zipfs_sessions", json!({})),
        ("zipfs_path", json!({})),
        ("zipfs_status", json!({})),
        ("zipfs_sync", json!({"dry_run": true})),
    ];
    for (tool, arguments) in calls {
        assert_eq!(code(&bench, tool, arguments), "HOST_NEEDED", "{tool}");
    }
}
