//! What the bytes of a component say before anything is compiled or run: what it imports and exports, and the plugin.toml and
//! the signature that it may carry.
//!
//! A packed plugin is one file, and a valid component: to the component two custom sections are added, which no runtime looks at.
//!
//! ```text
//! component …
//! custom section "zipfs:plugin.toml"    the manifest, as text
//! custom section "zipfs:signature"      a minisign signature of all bytes before this section; always the last section
//! ```

use wasmparser::component_types::ComponentEntityType;
use wasmparser::{ComponentTypeRef, Parser, Payload, TypeBounds, Validator, WasmFeatures};

use super::mistaken;
use crate::failure::{Class, Failure};

const MANIFEST: &str = "zipfs:plugin.toml";
const SIGNATURE: &str = "zipfs:signature";

/// A manifest is read by people. Test: `functional::plugins::pack`.
const MOST_MANIFEST: usize = 64 << 10;
/// Four lines of base64 and comments.
const MOST_SIGNATURE: usize = 4 << 10;
/// More than any honest component has; each becomes a line that a person reads.
const MOST_NAMES: usize = 1_000;

/// What can be known of a component without running it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Anatomy {
    /// Names of what it imports, sorted.
    pub imports: Vec<String>,
    /// Names of what it exports, sorted.
    pub exports: Vec<String>,
    /// The plugin.toml that it carries.
    pub manifest: Option<String>,
    /// The signature that it carries, and how many of its bytes are signed.
    pub signature: Option<(String, usize)>,
}

/// Takes a component apart, without believing it: what is wrong with it that this does not see, the compiler does.
pub fn dissect(wasm: &[u8]) -> Result<Anatomy, Failure> {
    if let Some(failure) = mistaken::kind_of(wasm) {
        return Err(failure);
    }
    let mut found = Anatomy::default();
    // Sections of what is nested are not the component's own.
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(|error| unreadable(wasm, &error))? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    let import = import.map_err(|error| invalid(&error.to_string()))?;
                    // A type that is spelled out brings nothing along: worlds with records of their own import them by name.
                    if !matches!(import.ty, ComponentTypeRef::Type(TypeBounds::Eq(_))) {
                        found.imports.push(import.name.name.to_owned());
                    }
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    found.exports.push(export.map_err(|error| invalid(&error.to_string()))?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) if depth == 0 => match section.name() {
                MANIFEST => keep(&mut found.manifest, text(section.data(), "plugin.toml", MOST_MANIFEST)?, "plugin.toml")?,
                SIGNATURE => {
                    let signature = text(section.data(), "signature", MOST_SIGNATURE)?;
                    let signed = wasm
                        .len()
                        .checked_sub(custom_section(SIGNATURE, section.data()).len())
                        .filter(|at| wasm[*at..] == custom_section(SIGNATURE, section.data()))
                        .ok_or_else(|| invalid("something follows its signature, which does not cover that"))?;
                    keep(&mut found.signature, (signature, signed), "signature")?;
                }
                _ => {}
            },
            _ => {}
        }
        if found.imports.len() > MOST_NAMES || found.exports.len() > MOST_NAMES {
            return Err(invalid(&format!("it has more than {MOST_NAMES} imports or exports")));
        }
    }
    found.imports.sort();
    found.exports.sort();
    leave_out_types(wasm, &mut found.imports);
    Ok(found)
}

/// An interface of which a component only names types brings nothing along, whatever it is called. Reading what is in it takes a
/// look at all of the component, so that is done where it may matter.
fn leave_out_types(wasm: &[u8], imports: &mut Vec<String>) {
    let is_known = |name: &str| name.starts_with("wasi:") || name.starts_with("zipfs:plugin/");
    if imports.iter().all(|name| is_known(name)) {
        return;
    }
    // What is not valid keeps all of its imports, and the compiler says what is wrong.
    let Ok(types) = Validator::new_with_features(WasmFeatures::all()).validate_all(wasm) else { return };
    let only_types = |name: &str| match types.as_ref().component_item_for_import(name).map(|item| item.ty) {
        Some(ComponentEntityType::Instance(id)) => {
            types[id].exports.values().all(|part| matches!(part.ty, ComponentEntityType::Type { .. }))
        }
        _ => false,
    };
    imports.retain(|name| is_known(name) || !only_types(name));
}

fn unreadable(wasm: &[u8], error: &wasmparser::BinaryReaderError) -> Failure {
    match error.message().contains("unexpected end") && error.offset() <= wasm.len() {
        true => mistaken::cut_off(),
        false => invalid(&format!("it cannot be read ({error})")),
    }
}

/// The component with this manifest in it. One that carries a manifest or a signature already is refused: which of two would
/// count must not be a question.
pub fn with_manifest(wasm: &[u8], manifest: &str) -> Result<Vec<u8>, Failure> {
    let anatomy = dissect(wasm)?;
    if anatomy.manifest.is_some() || anatomy.signature.is_some() {
        return Err(invalid("it is packed already").suggest("Pack the component as it was built."));
    }
    if manifest.len() > MOST_MANIFEST {
        return Err(Failure::limit(format!("plugin.toml has {} bytes; at most {MOST_MANIFEST} are taken.", manifest.len())));
    }
    Ok([wasm, &custom_section(MANIFEST, manifest.as_bytes())].concat())
}

/// The component with a signature of all its bytes, in place of the one it may have.
pub fn with_signature(wasm: &[u8], signature: &str) -> Vec<u8> {
    [wasm, &custom_section(SIGNATURE, signature.as_bytes())].concat()
}

fn keep<T>(place: &mut Option<T>, value: T, what: &str) -> Result<(), Failure> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(invalid(&format!("it carries more than one {what}"))),
    }
}

fn text(data: &[u8], what: &str, most: usize) -> Result<String, Failure> {
    if data.len() > most {
        return Err(invalid(&format!("its {what} has {} bytes; at most {most} are taken", data.len())));
    }
    String::from_utf8(data.to_vec()).map_err(|_| invalid(&format!("its {what} is not UTF-8")))
}

/// Section 0: its size, its name with the name's size, and the rest. Numbers in LEB128, in their shortest form.
fn custom_section(name: &str, data: &[u8]) -> Vec<u8> {
    let mut body = leb128(name.len());
    body.extend(name.as_bytes());
    body.extend(data);
    let mut section = vec![0];
    section.extend(leb128(body.len()));
    section.extend(body);
    section
}

fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn invalid(why: &str) -> Failure {
    Failure::new(Class::Invalid, "PLUGIN_INVALID", format!("This is not a component that can be run here: {why}."))
        .suggest("Build it for wasm32-wasip2, against wit/.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least that is a component.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn what_was_packed_is_found_again_and_covered_by_the_signature() {
        let long = "# ".to_owned() + &"x".repeat(300);
        let packed = with_manifest(EMPTY, &long).unwrap();
        let signed = with_signature(&packed, "a signature");
        let found = dissect(&signed).unwrap();
        assert_eq!(found.manifest.as_deref(), Some(&*long));
        assert_eq!(found.signature, Some(("a signature".into(), packed.len())));
    }

    #[test]
    fn what_is_there_twice_or_follows_the_signature_is_refused() {
        let packed = with_manifest(EMPTY, "a").unwrap();
        assert!(with_manifest(&packed, "b").is_err());
        let twice = [&packed[..], &custom_section(MANIFEST, b"b")].concat();
        assert!(dissect(&twice).unwrap_err().message.contains("more than one"));
        let behind = [&with_signature(&packed, "s")[..], &custom_section("name", b"")].concat();
        assert!(dissect(&behind).unwrap_err().message.contains("follows"));
    }

    #[test]
    fn imports_are_read_and_modules_refused() {
        let text = r#"(component (import "wasi:http/types@0.2.6" (instance)) (component (import "inner" (func))))"#;
        let component = wat(text);
        assert_eq!(dissect(&component).unwrap().imports, ["wasi:http/types@0.2.6"]);
        assert!(dissect(b"\0asm\x01\0\0\0").unwrap_err().message.contains("core module"));
        assert!(dissect(&component[..component.len() - 3]).is_err());
        assert!(dissect(b"hello").is_err());
    }

    /// A component that imports an instance and holds another that imports a function, as the text above says.
    fn wat(_: &str) -> Vec<u8> {
        let name = b"wasi:http/types@0.2.6";
        let mut bytes = EMPTY.to_vec();
        // Section 7, types: one, an instance type without declarations.
        bytes.extend([7, 3, 1, 0x42, 0]);
        // Section 10, imports: one, by that name, of the instance type 0.
        let mut import = vec![1, 0, name.len() as u8];
        import.extend(name);
        import.extend([5, 0]);
        bytes.extend([10, import.len() as u8]);
        bytes.extend(import);
        // Section 4, a component: types (a function without parameters and results), imports ("inner").
        let mut inner = EMPTY.to_vec();
        inner.extend([7, 5, 1, 0x40, 0, 1, 0]);
        inner.extend([10, 10, 1, 0, 5]);
        inner.extend(b"inner");
        inner.extend([1, 0]);
        bytes.extend([4, inner.len() as u8]);
        bytes.extend(inner);
        bytes
    }
}
