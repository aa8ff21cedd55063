//! What a component carries of its own documentation: the section `package-docs`, and the words of its registry entry.
//!
//! All of it is the author's word and optional. What cannot be read is left out: a component does not fail over its comments.

use std::collections::BTreeMap;

use serde::Deserialize;
use wasmparser::{Parser, Payload};

/// Larger sections are not read. Test: `security::typed::documentation_is_bounded_and_optional`.
const MOST_SECTION: usize = 1 << 20;
/// What a model reads of one function. Same test.
const MOST_TEXT: usize = 4 << 10;

#[derive(Default)]
pub struct Docs {
    pub version: Option<String>,
    pub description: Option<String>,
    package: Package,
}

/// As wit-parser writes it, of which only the words matter here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Package {
    worlds: BTreeMap<String, World>,
    interfaces: BTreeMap<String, Interface>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct World {
    interfaces: BTreeMap<String, Interface>,
    funcs: BTreeMap<String, Words>,
    interface_exports: BTreeMap<String, Interface>,
    func_exports: BTreeMap<String, Words>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Interface {
    funcs: BTreeMap<String, Words>,
}

/// In the older form a function is its words; in the newer one an object that may have some.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    Plain(String),
    Item { docs: Option<String> },
}

impl Docs {
    /// Reads the sections at the top of a component.
    pub fn of(wasm: &[u8]) -> Docs {
        let mut docs = Docs::default();
        let mut depth = 0usize;
        for payload in Parser::new(0).parse_all(wasm) {
            match payload {
                Ok(Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) => depth += 1,
                Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
                Ok(Payload::CustomSection(section)) if depth == 0 && section.data().len() <= MOST_SECTION => {
                    docs.read(section.name(), section.data());
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        docs
    }

    fn read(&mut self, name: &str, data: &[u8]) {
        let text = || std::str::from_utf8(data).ok().map(cut).filter(|text| !text.trim().is_empty());
        match name {
            "version" => self.version = text().filter(|text| text.len() <= 64),
            "description" => self.description = text(),
            // A byte that counts the format's versions, then JSON.
            "package-docs" if matches!(data.first(), Some(0 | 1)) => {
                self.package = serde_json::from_slice(&data[1..]).unwrap_or_default();
            }
            _ => {}
        }
    }

    /// The words of a function, if there are any.
    pub fn of_function(&self, interface: Option<&str>, function: &str) -> Option<String> {
        let worlds = self.package.worlds.values();
        let words = match interface {
            None => worlds
                .filter_map(|world| world.func_exports.get(function).or_else(|| world.funcs.get(function)))
                .find_map(Words::text),
            Some(interface) => {
                let short = interface.rsplit('/').next().unwrap_or(interface).split('@').next().unwrap_or(interface);
                let in_worlds =
                    worlds.filter_map(|world| world.interface_exports.get(short).or_else(|| world.interfaces.get(short)));
                let places = self.package.interfaces.get(short).into_iter().chain(in_worlds);
                places.filter_map(|place| place.funcs.get(function)).find_map(Words::text)
            }
        };
        words.map(|text| cut(&text)).filter(|text| !text.trim().is_empty())
    }
}

impl Words {
    fn text(&self) -> Option<String> {
        match self {
            Words::Plain(text) => Some(text.clone()),
            Words::Item { docs } => docs.clone(),
        }
    }
}

/// No longer than a model should read, and nothing that hides what is there.
fn cut(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    let mut short = String::new();
    for c in plain {
        if short.len() + c.len_utf8() > MOST_TEXT {
            break;
        }
        short.push(c);
    }
    short.trim().to_owned()
}
