//! The plugin `{{name}}`: a struct, a list of typed functions, and one line that exports them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{About, Error, Plugin, Tool, fs};

struct {{type}};

impl Plugin for {{type}} {
    fn about() -> About {
        About::new("{{name}}", env!("CARGO_PKG_VERSION"))
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new(
                "{{tool}}",
                "Counts the lines, words and characters of a text file, to see how long it is before reading it. \
                 Returns {lines, words, characters}.",
                count,
            )
            .title("Count words")
            .reads(),
        ]
    }
}

zipfs_sdk::export!({{type}});

#[derive(Deserialize, JsonSchema)]
struct Count {
    /// The file, relative to the root of the workspace.
    path: PathArgument,
}

#[derive(Serialize, JsonSchema)]
struct Counted {
    lines: usize,
    words: usize,
    characters: usize,
}

fn count(arguments: Count) -> Result<Counted, Error> {
    let path = arguments.path.check()?;
    let workspace = fs::workspace()?;
    if workspace.stat(path.as_str()).map_err(|error| error.at(&path))?.kind != fs::Kind::File {
        return Err(Error::invalid("NOT_A_FILE", format!("'{path}' is no file.")));
    }
    let file = workspace.open_file(path.as_str()).map_err(|error| error.at(&path))?;
    let mut bytes = Vec::new();
    loop {
        let chunk = file.read_chunk(bytes.len() as u64, usize::MAX).map_err(|error| error.at(&path))?;
        if chunk.is_empty() {
            break;
        }
        bytes.extend(chunk);
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(Counted {
        lines: text.lines().count(),
        words: text.split_whitespace().count(),
        characters: text.chars().count(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zipfs_sdk::testing::Bench;

    use super::*;

    #[test]
    fn words_are_counted() {
        let bench = Bench::of::<{{type}}>();
        bench.put("poem.txt", "one two\nthree\n");
        let counted = bench.call("{{tool}}", json!({"path": "poem.txt"}));
        assert_eq!(counted.json(), json!({"lines": 2, "words": 3, "characters": 14}));
    }
}
