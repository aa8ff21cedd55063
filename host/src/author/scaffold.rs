//! Projects for a start: each builds, passes its own tests, and does something small and whole.

use std::path::{Path, PathBuf};

use super::sdk;
use crate::failure::{Class, Failure};

/// The languages that there is a project for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    Rust,
    Js,
    Python,
}

/// What every project has: a case that its tool must pass.
const CASE: [(&str, &str); 3] = [
    ("cases/{{tool}}/poem/arguments.json", include_str!("../../templates/case/arguments.json")),
    ("cases/{{tool}}/poem/before/poem.txt", include_str!("../../templates/case/poem.txt")),
    ("cases/{{tool}}/poem/expected.json", include_str!("../../templates/case/expected.json")),
];

const RUST: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("../../templates/rust/Cargo.toml")),
    ("src/lib.rs", include_str!("../../templates/rust/src/lib.rs")),
    ("plugin.toml", include_str!("../../templates/rust/plugin.toml")),
    ("README.md", include_str!("../../templates/rust/README.md")),
    (".gitignore", include_str!("../../templates/rust/gitignore")),
];

const JS: &[(&str, &str)] = &[
    ("package.json", include_str!("../../templates/js/package.json")),
    ("build.js", include_str!("../../templates/js/build.js")),
    ("src/plugin.js", include_str!("../../templates/js/src/plugin.js")),
    ("wit/world.wit", include_str!("../../templates/js/wit/world.wit")),
    ("wit/deps/filesystem/filesystem.wit", include_str!("../../templates/js/wit/deps/filesystem/filesystem.wit")),
    ("plugin.toml", include_str!("../../templates/js/plugin.toml")),
    ("README.md", include_str!("../../templates/js/README.md")),
    (".gitignore", include_str!("../../templates/js/gitignore")),
];

const PYTHON: &[(&str, &str)] = &[
    ("requirements.txt", include_str!("../../templates/python/requirements.txt")),
    ("plugin.py", include_str!("../../templates/python/plugin.py")),
    ("wit/world.wit", include_str!("../../templates/python/wit/world.wit")),
    ("plugin.toml", include_str!("../../templates/python/plugin.toml")),
    ("README.md", include_str!("../../templates/python/README.md")),
    (".gitignore", include_str!("../../templates/python/gitignore")),
];

/// Writes a project into a directory that must not be there yet.
pub fn write(directory: &Path, name: &str, language: Language) -> Result<Vec<PathBuf>, Failure> {
    check_name(name)?;
    let failed = |error: std::io::Error| Failure::internal(format!("{} cannot be written: {error}.", directory.display()));
    match std::fs::create_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::new(Class::Conflict, "EXISTS", format!("{} is already there.", directory.display()))
                .suggest("Choose another name, or --directory."));
        }
        made => made.map_err(failed)?,
    }
    let own = match language {
        Language::Rust => RUST,
        Language::Js => JS,
        Language::Python => PYTHON,
    };
    let names = Names::of(name);
    let mut files: Vec<(String, String)> =
        own.iter().chain(&CASE).map(|(path, text)| (names.fill(path), names.fill(text))).collect();
    if language == Language::Rust {
        files.extend(sdk::files().map(|(path, text)| (format!("vendor/zipfs-sdk/{path}"), text)));
    }
    let mut written = Vec::with_capacity(files.len());
    for (path, text) in files {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(directory)).and_then(|()| std::fs::write(&path, text)).map_err(failed)?;
        written.push(path);
    }
    Ok(written)
}

/// The name in the forms that languages want it in.
struct Names {
    name: String,
    tool: String,
    export: String,
    camel: String,
    pascal: String,
}

impl Names {
    fn of(name: &str) -> Names {
        let export = format!("{name}-count");
        let pascal = |text: &str| text.split('-').map(capitalised).collect::<String>();
        let camel = pascal(&export);
        Names {
            name: name.to_owned(),
            tool: export.replace('-', "_"),
            camel: camel[..1].to_ascii_lowercase() + &camel[1..],
            pascal: pascal(name),
            export,
        }
    }

    fn fill(&self, text: &str) -> String {
        let blanks = [
            ("{{name}}", &self.name),
            ("{{tool}}", &self.tool),
            ("{{export}}", &self.export),
            ("{{camel}}", &self.camel),
            ("{{type}}", &self.pascal),
        ];
        blanks.iter().fold(text.to_owned(), |text, (blank, value)| text.replace(blank, value))
    }
}

fn capitalised(word: &str) -> String {
    word[..1].to_ascii_uppercase() + &word[1..]
}

/// The name has to do as the name of a crate, of a package, and of a function in WIT; and words of it as an identifier.
fn check_name(name: &str) -> Result<(), Failure> {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    if name.len() <= 40 && name.split('-').all(is_word) {
        return Ok(());
    }
    Err(Failure::invalid(format!("{:?} cannot be the name of a project.", name.chars().take(80).collect::<String>()))
        .suggest("Use words of a-z and 0-9 with `-` between them, each beginning with a letter, at most 40 characters."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_language_takes_are_refused() {
        for good in ["words", "word-count2", "a"] {
            check_name(good).unwrap();
        }
        for bad in ["", "-", "a-", "2nd", "a-2", "Words", "a_b", "../a", "a b", "ä", &"x".repeat(41)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn nothing_is_left_blank() {
        for language in [Language::Rust, Language::Js, Language::Python] {
            let place = tempfile::tempdir().unwrap();
            let directory = place.path().join("my-words");
            for path in write(&directory, "my-words", language).unwrap() {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(!text.contains("{{name") && !text.contains("{{tool") && !text.contains("{{type"), "{}", path.display());
                assert!(!path.to_string_lossy().contains("{{"), "{}", path.display());
            }
            assert!(write(&directory, "my-words", language).is_err(), "what is there is not written over");
        }
    }
}
