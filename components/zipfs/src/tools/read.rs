//! `zipfs_read`: the contents of a file, or of a range of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs::{self, Kind};
use zipfs_sdk::path::{PathArgument, WorkspacePath};
use zipfs_sdk::{Error, Tool};

use crate::encoding::{Encoding, to_base64};
use crate::lookup;

const DESCRIPTION: &str = "\
Reads a file of the session, or a range of it in bytes. Use encoding 'base64' for binary files. Without limit at most 256 KiB come \
back, with it at most 2 MiB. Returns content, size_bytes (bytes returned), encoding, total_size_bytes and eof; if eof is false, \
read on at offset + size_bytes. A range never ends inside a character: size_bytes can be up to three bytes less than asked for. \
Next: zipfs_write to change the file.";

/// Without a limit: as base64, or as text with its line ends and quotes escaped, this is still less than the half million
/// characters that clients show whole. That reads stop here is held by `large_files_come_in_parts`.
const DEFAULT_LIMIT: u64 = 256 << 10;

/// With one. The answer is one JSON string in which a control character takes six bytes, and which doubles its memory as it
/// grows: in an instance of 64 MiB, 4 MiB of such characters end in a trap instead of an answer, and 2 MiB do not. That reads
/// stop here is held by `a_limit_has_a_limit`.
const MAX_LIMIT: u64 = 2 << 20;

pub fn tool() -> Tool {
    Tool::new("zipfs_read", DESCRIPTION, read).title("Read file").reads().meta(super::long_results)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, relative to the root of the archive.
    path: PathArgument,
    /// 'utf-8' for text, 'base64' for anything else.
    #[serde(default)]
    encoding: Encoding,
    /// First byte to read.
    #[serde(default)]
    offset: u64,
    /// How many bytes to read.
    limit: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct Contents {
    content: String,
    /// Bytes returned, before encoding.
    size_bytes: usize,
    encoding: Encoding,
    /// The whole file.
    total_size_bytes: u64,
    /// Whether the file ends with this range.
    eof: bool,
    /// Where to read on, if less came back than was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

fn read(arguments: Arguments) -> Result<Contents, Error> {
    let path = arguments.path.check()?;
    let (offset, encoding) = (arguments.offset, arguments.encoding);
    let workspace = fs::workspace()?;
    let found = lookup::find(&workspace, &path)?;
    if found.kind == Kind::Dir {
        return Err(Error::invalid("INVALID_PARAMS", format!("'{path}' is a directory.")).suggest("List it with zipfs_ls."));
    }
    let wanted = arguments.limit.unwrap_or(u64::MAX).min(found.size.saturating_sub(offset));
    let granted = wanted.min(if arguments.limit.is_some() { MAX_LIMIT } else { DEFAULT_LIMIT });
    let bytes = if granted == 0 {
        Vec::new()
    } else {
        let file = workspace.open_file(path.as_str()).map_err(|error| error.at(&path))?;
        file.read_at(offset, granted as usize).map_err(|error| error.at(&path))?
    };
    let (content, size_bytes) = match encoding {
        Encoding::Base64 => (to_base64(&bytes), bytes.len()),
        Encoding::Utf8 => {
            let text = whole_characters(bytes, offset, offset + granted < found.size, &path)?;
            let len = text.len();
            (text, len)
        }
    };
    let end = offset + size_bytes as u64;
    let eof = end >= found.size;
    let next_offset = (!eof && (size_bytes as u64) < wanted).then_some(end);
    Ok(Contents { content, size_bytes, encoding, total_size_bytes: found.size, eof, next_offset })
}

/// The bytes as text, without the beginning of a character that the range cut in two. `more` says whether the file goes on:
/// only then can half a character at the end be the range's fault.
fn whole_characters(bytes: Vec<u8>, offset: u64, more: bool, path: &WorkspacePath) -> Result<String, Error> {
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let valid = error.utf8_error().valid_up_to();
    let cut_at_end = error.utf8_error().error_len().is_none();
    let mut bytes = error.into_bytes();
    if cut_at_end && more && valid == 0 {
        // Returning nothing, with more to come, would let a reader ask the same again for ever.
        return Err(Error::invalid(
            "INVALID_PARAMS",
            format!("Invalid argument 'limit': the character at byte {offset} of '{path}' has more bytes than that."),
        )
        .suggest("Read at least 4 bytes."));
    }
    if cut_at_end && more {
        bytes.truncate(valid);
        return String::from_utf8(bytes).map_err(|_| Error::internal("INTERNAL_ERROR", "A checked prefix stopped being UTF-8."));
    }
    // A range that begins inside a character looks like binary data too, and is worth its own advice.
    let inside = bytes.iter().take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    if valid == 0 && offset > 0 && (1..=3).contains(&inside) {
        let boundary = offset + inside as u64;
        return Err(Error::invalid(
            "INVALID_PARAMS",
            format!("Invalid argument 'offset': byte {offset} of '{path}' is inside a character."),
        )
        .suggest(format!("Read from offset {boundary}, or with encoding 'base64'.")));
    }
    Err(Error::invalid(
        "INVALID_PARAMS",
        format!("'{path}' is not UTF-8 text: byte {} is not part of a character.", offset + valid as u64),
    )
    .suggest("Read it with encoding 'base64'."))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use zipfs_sdk::testing::{Bench, Called};

    fn bench(contents: impl AsRef<[u8]>) -> Bench {
        let bench = Bench::of::<crate::Zipfs>();
        bench.put("f", contents);
        bench
    }

    fn read(bench: &Bench, more: Value) -> Called {
        let mut arguments = json!({"path": "f"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bench.call("zipfs_read", arguments)
    }

    #[test]
    fn a_whole_file() {
        let expected = json!({"content": "hello", "size_bytes": 5, "encoding": "utf-8", "total_size_bytes": 5, "eof": true});
        assert_eq!(read(&bench("hello"), json!({})).json(), expected);
        let expected = json!({"content": "", "size_bytes": 0, "encoding": "utf-8", "total_size_bytes": 0, "eof": true});
        assert_eq!(read(&bench(""), json!({})).json(), expected);
    }

    #[test]
    fn ranges_count_bytes() {
        let bench = bench("hello");
        let expected = json!({"content": "el", "size_bytes": 2, "encoding": "utf-8", "total_size_bytes": 5, "eof": false});
        assert_eq!(read(&bench, json!({"offset": 1, "limit": 2})).json(), expected);
        assert_eq!(read(&bench, json!({"offset": 3, "limit": 9})).json()["eof"], true);
        assert_eq!(read(&bench, json!({"limit": 0})).json()["eof"], false);
        for offset in [5, 6, u64::MAX] {
            let past = read(&bench, json!({"offset": offset, "limit": 1})).json();
            assert_eq!(
                (&past["content"], &past["eof"], &past["total_size_bytes"]),
                (&json!(""), &json!(true), &json!(5)),
                "{offset}"
            );
        }
    }

    #[test]
    fn binary_needs_base64() {
        let bench = bench([0x89, b'P', 0xff, 0x00]);
        let error = read(&bench, json!({})).error().clone();
        assert_eq!(error.code(), "INVALID_PARAMS");
        assert!(error.suggestion().unwrap().contains("base64"));
        let contents = read(&bench, json!({"encoding": "base64"})).json();
        assert_eq!(
            (&contents["content"], &contents["size_bytes"], &contents["encoding"]),
            (&json!("iVD/AA=="), &json!(4), &json!("base64"))
        );
        assert_eq!(read(&bench, json!({"encoding": "latin1"})).error().code(), "INVALID_PARAMS");
    }

    #[test]
    fn a_character_is_never_split() {
        // a, two bytes, three bytes, four bytes
        let bench = bench("aé€😀");
        for (limit, content) in [(1, "a"), (2, "a"), (3, "aé"), (5, "aé"), (6, "aé€"), (9, "aé€"), (10, "aé€😀")] {
            let contents = read(&bench, json!({"limit": limit})).json();
            assert_eq!((&contents["content"], &contents["size_bytes"]), (&json!(content), &json!(content.len())), "{limit}");
            assert_eq!(contents["eof"], json!(content.len() == 10));
            let cut = content.len() < limit;
            assert_eq!(contents.get("next_offset").cloned(), cut.then(|| json!(content.len())), "{limit}");
        }
        let inside = read(&bench, json!({"offset": 4})).error().clone();
        assert_eq!(inside.code(), "INVALID_PARAMS");
        assert!(inside.suggestion().unwrap().contains("offset 6"), "{inside:?}");
    }

    #[test]
    fn half_a_character_at_the_end_of_the_file_is_no_text() {
        assert_eq!(read(&bench(b"ab\xe2\x82"), json!({})).error().code(), "INVALID_PARAMS");
    }

    #[test]
    fn large_files_come_in_parts() {
        let bench = bench("x".repeat((256 << 10) + 7));
        let first = read(&bench, json!({})).json();
        assert_eq!(
            (&first["size_bytes"], &first["eof"], &first["next_offset"]),
            (&json!(256 << 10), &json!(false), &json!(256 << 10))
        );
        let rest = read(&bench, json!({"offset": 256 << 10})).json();
        assert_eq!((&rest["content"], &rest["eof"]), (&json!("xxxxxxx"), &json!(true)));
        let all = read(&bench, json!({"limit": 2 << 20})).json();
        assert_eq!((&all["size_bytes"], &all["eof"]), (&json!((256 << 10) + 7), &json!(true)));
    }

    #[test]
    fn a_limit_has_a_limit() {
        let bench = bench(vec![b'x'; (2 << 20) + 1]);
        let contents = read(&bench, json!({"limit": 1u64 << 40})).json();
        assert_eq!((&contents["size_bytes"], &contents["next_offset"]), (&json!(2 << 20), &json!(2 << 20)));
    }

    #[test]
    fn what_is_no_file() {
        let bench = bench("hello");
        assert_eq!(bench.call("zipfs_read", json!({"path": "/"})).error().code(), "INVALID_PARAMS");
        for path in ["nope", "f/x"] {
            assert_eq!(bench.call("zipfs_read", json!({"path": path})).error().code(), "PATH_NOT_FOUND", "{path}");
        }
        assert!(bench.call("zipfs_read", json!({})).error().message().contains("`path`"));
        assert!(read(&bench, json!({"offset": -1})).error().message().contains("'offset'"));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes() {
        let bench = bench("hello");
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, bench.host_path().join(name)).unwrap();
        link("f", "in");
        link("../staging", "out");
        link("/etc/passwd", "absolute");
        link("loop", "loop");
        link("gone", "dangling");
        let made = std::process::Command::new("mkfifo").arg(bench.host_path().join("pipe")).status().unwrap();
        assert!(made.success());
        link("pipe", "to-pipe");
        let code = |path: &str| bench.call("zipfs_read", json!({"path": path})).error().code().to_owned();
        assert_eq!(bench.call("zipfs_read", json!({"path": "in"})).json()["content"], "hello");
        for path in ["out", "out/x", "absolute", "loop"] {
            assert_eq!(code(path), "PATH_TRAVERSAL", "{path}");
        }
        for path in ["dangling", "pipe", "to-pipe"] {
            assert_eq!(code(path), "PATH_NOT_FOUND", "{path}");
        }
    }
}
