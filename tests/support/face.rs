//! Plugins and versions of them, made from one guest by exchanging words for others of the same length.

use std::path::{Path, PathBuf};

use super::guest;

#[derive(Clone)]
pub struct Face {
    number: u32,
    wasm: Vec<u8>,
}

impl Face {
    /// A plugin of its own for each number.
    pub fn new(number: u32) -> Face {
        let wasm = std::fs::read(guest("faces")).expect("the guest was built");
        let face = Face { number, wasm };
        face.with("faces-00000", &format!("faces-{number:05}")).with("faces_00000", &format!("faces_{number:05}"))
    }

    pub fn name(&self) -> String {
        format!("faces-{:05}", self.number)
    }

    /// Another version: 1 to 9. The first is 1.
    pub fn version(self, version: u32) -> Face {
        self.with("10000.0.0", &format!("{version}0000.0.0"))
    }

    /// The tool says something else to agents.
    pub fn saying(self, letter: char) -> Face {
        self.with("Face A.", &format!("Face {letter}."))
    }

    /// The tool takes something else.
    pub fn taking(self, letter: char) -> Face {
        self.with("Schema A.", &format!("Schema {letter}."))
    }

    pub fn wasm(&self) -> &[u8] {
        &self.wasm
    }

    /// The component alone.
    pub fn write(&self, path: &Path) -> PathBuf {
        std::fs::write(path, &self.wasm).expect("it can be written");
        path.to_owned()
    }

    /// A directory with the component and its plugin.toml, to which these lines are added.
    pub fn folder(&self, path: &Path, version: &str, more: &str) -> PathBuf {
        std::fs::create_dir_all(path).expect("it can be made");
        self.write(&path.join("faces.wasm"));
        let manifest = format!("name = \"{}\"\nversion = \"{version}\"\n{more}", self.name());
        std::fs::write(path.join("plugin.toml"), manifest).expect("it can be written");
        path.to_owned()
    }

    #[track_caller]
    fn with(mut self, old: &str, new: &str) -> Face {
        assert_eq!(old.len(), new.len());
        let found: Vec<usize> =
            (0..self.wasm.len() - old.len()).filter(|&at| self.wasm[at..].starts_with(old.as_bytes())).collect();
        assert!(!found.is_empty(), "{old} is not in the component");
        for at in found {
            self.wasm[at..at + new.len()].copy_from_slice(new.as_bytes());
        }
        self
    }
}
