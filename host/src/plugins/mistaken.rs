//! What people hand over in the place of a component, and what they should do instead.

use crate::failure::{Class, Failure};

/// How a file begins that is something else, what it is then, and what to do.
const KINDS: [(&[u8], &str, &str); 8] = [
    (b"PK\x03\x04", "it is a zip archive", "Unpack it, and add the directory or the .wasm file that is in it."),
    (b"PK\x05\x06", "it is a zip archive, and empty", "Ask whoever made it for the component."),
    (b"\x1f\x8b", "it is packed with gzip", "Unpack it, and add what is in it."),
    (b"\x28\xb5\x2f\xfd", "it is packed with zstd", "Unpack it, and add what is in it."),
    (b"\x7fELF", "it is a program for this machine", "Build it for wasm32-wasip2."),
    (b"MZ", "it is a program for Windows", "Build it for wasm32-wasip2."),
    (b"\xcf\xfa\xed\xfe", "it is a program for macOS", "Build it for wasm32-wasip2."),
    (b"#!", "it is a script", "Scripts become components with componentize-py or jco: zipfs plugin new NAME --lang python"),
];

/// How every file of WebAssembly begins.
const MAGIC: &[u8] = b"\0asm";
/// The version field of a core module; a component has another.
const MODULE: &[u8] = &[1, 0, 0, 0];

/// Why these bytes are no component, if that can be told from how they begin.
pub fn kind_of(bytes: &[u8]) -> Option<Failure> {
    let (why, next) = match bytes {
        [] => ("the file is empty", "Build it, or get it, again."),
        _ if bytes.starts_with(MAGIC) => match bytes.get(4..8) {
            None => (CUT, AGAIN),
            Some(MODULE) => (
                "it is a core module, not a component",
                "Build it for wasm32-wasip2; or, if it was built for wasm32-unknown-unknown with wit-bindgen: wasm-tools component new",
            ),
            Some(_) => return None,
        },
        _ if MAGIC.starts_with(bytes) => (CUT, AGAIN),
        _ => match KINDS.iter().find(|(beginning, ..)| bytes.starts_with(beginning)) {
            Some((_, why, next)) => (*why, *next),
            None => text(bytes)?,
        },
    };
    Some(invalid(why, next))
}

/// The end is missing: what the parser says of it helps nobody.
pub fn cut_off() -> Failure {
    invalid(CUT, AGAIN)
}

const CUT: &str = "its end is missing";
const AGAIN: &str = "Get it again: it was not copied or loaded to its end.";

/// Texts, by what they look like. `None` for what is no text either.
fn text(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let beginning = &bytes[..bytes.len().min(4096)];
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => text,
        // Only the last character is cut.
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&beginning[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    if text.contains('\0') {
        return None;
    }
    let begins = text.trim_start();
    Some(if begins.starts_with("(component") || begins.starts_with("(module") || begins.starts_with(";;") {
        ("it is WebAssembly in its text form", "Make it binary: wasm-tools parse FILE -o FILE.wasm")
    } else if toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("name")) {
        ("it is a plugin.toml", "Add the directory that it is in, with the component beside it: zipfs plugin add DIRECTORY")
    } else if begins.starts_with('<') {
        ("it is a web page", "Use the address of the file itself, which often ends in .wasm or begins with raw.")
    } else if begins.starts_with("version https://git-lfs") {
        ("it is a pointer of Git LFS", "Get the file that it stands for: git lfs pull")
    } else if begins.starts_with("package ") && text.contains(';') {
        ("it is an interface in WIT", "Build a component that has this interface, and add that.")
    } else {
        ("it is a text", "Name the .wasm file that was built, or the directory with plugin.toml and that file.")
    })
}

fn invalid(why: &str, next: &str) -> Failure {
    Failure::new(Class::Invalid, "PLUGIN_INVALID", format!("This is not a component that can be run here: {why}.")).suggest(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_and_has_a_next_step() {
        for (bytes, why) in [
            (&b""[..], "empty"),
            (b"\0as", "end is missing"),
            (b"\0asm\x0d\0", "end is missing"),
            (b"\0asm\x01\0\0\0", "core module"),
            (b"PK\x03\x04...", "zip archive"),
            (b"\x7fELF\x02", "program for this machine"),
            (b"#!/bin/sh\n", "script"),
            (b"hello", "a text"),
            ("häh".as_bytes(), "a text"),
            (b"(component)", "text form"),
            (b"name = \"words\"\nversion = \"1\"\n", "plugin.toml"),
            (b"<!doctype html>", "web page"),
        ] {
            let failure = kind_of(bytes).unwrap_or_else(|| panic!("{bytes:?}"));
            assert!(failure.message.contains(why), "{bytes:?}: {}", failure.message);
            assert!(failure.suggestion.is_some_and(|next| next.len() > 20), "{bytes:?}");
        }
        assert!(kind_of(b"\0asm\x0d\0\x01\0").is_none());
        assert!(kind_of(b"\x01\x02\xff\xfe\x00").is_none());
    }
}
