//! Shares its work, with parts of every kind: good ones, one that fails, traps or never ends, and some that want more than theirs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_guests::{harmless, root};
use zipfs_sdk::{About, Error, Plugin, Tool, fs, parallel};

struct Parts;

impl Plugin for Parts {
    fn about() -> About {
        About::new("parts", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        let parts = Tool::new("parts", "Shares its work. Returns {results}, one for each part.", share).writes().parts(work);
        vec![parts, harmless("parts_ok")]
    }
}

zipfs_sdk::export!(Parts with parts);

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// How many parts.
    count: u32,
    /// What each part does.
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Returns its number, the later the sooner.
    Number,
    /// The one in the middle fails with a code of its own.
    Fail,
    /// The one in the middle traps.
    Trap,
    /// The one in the middle never comes back.
    Spin,
    /// Tries to share its part again.
    Again,
    /// Tries to write where the tool itself just wrote.
    Write,
    /// Returns a megabyte.
    Flood,
}

#[derive(Serialize, Deserialize)]
struct Part {
    number: u32,
    count: u32,
    kind: Kind,
}

#[derive(Serialize, JsonSchema)]
struct Done {
    results: Vec<String>,
}

fn share(arguments: Arguments) -> Result<Done, Error> {
    let Arguments { count, kind } = arguments;
    if kind == Kind::Write {
        // The tool may; its parts may not.
        fs::workspace()?.create_dir("made-by-the-tool").map_err(|error| error.at("made-by-the-tool"))?;
    }
    let parts: Vec<Part> = (0..count).map(|number| Part { number, count, kind }).collect();
    Ok(Done { results: parallel::map(&parts)? })
}

fn work(part: Part) -> Result<String, Error> {
    let is_the_one = part.number == part.count / 2;
    match part.kind {
        Kind::Number => {
            let waste = (u64::from(part.count - part.number) * 20_000..).take(1000).fold(0, |sum: u64, n| sum ^ n);
            Ok(format!("{} of {}{}", part.number, part.count, if waste == 1 { "!" } else { "" }))
        }
        Kind::Fail if is_the_one => Err(Error::conflict("PART_FAILED", format!("Part {} fails.", part.number))),
        Kind::Trap if is_the_one => panic!("part {} panics", part.number),
        Kind::Spin if is_the_one => loop {
            std::hint::spin_loop();
        },
        Kind::Again => match parallel::map::<Part, String>(&[Part { kind: Kind::Number, ..part }]) {
            Ok(_) => Ok("shared".to_owned()),
            Err(error) => Ok(error.code().to_owned()),
        },
        Kind::Write => {
            let seen = fs::workspace()?.stat("made-by-the-tool").is_ok();
            let refused = match root()?.create_directory_at(&format!("part-{}", part.number)) {
                Ok(()) => "written".to_owned(),
                Err(error) => error.name().to_owned(),
            };
            Ok(format!("sees it: {seen}, {refused}"))
        }
        Kind::Flood => Ok("x".repeat(1 << 20)),
        _ => Ok(String::new()),
    }
}
