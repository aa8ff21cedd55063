//! The SDK as this binary was built with it, for projects that live outside of its repository.

include!(concat!(env!("OUT_DIR"), "/sdk.rs"));

const MANIFEST: &str = include_str!("../../../components/sdk/Cargo.toml");
const WORKSPACE: &str = include_str!("../../../Cargo.toml");

/// Every file of the SDK, as a path in its directory and what it holds.
pub fn files() -> impl Iterator<Item = (&'static str, String)> {
    let manifest = standalone(MANIFEST, WORKSPACE);
    SDK.iter().map(|(path, text)| (*path, (*text).to_owned())).chain([("Cargo.toml", manifest)])
}

/// The manifest without what only holds within the workspace it comes from.
fn standalone(manifest: &str, workspace: &str) -> String {
    // Both files were read by the cargo that built this.
    let mut manifest: toml::Table = manifest.parse().unwrap_or_default();
    let workspace: toml::Table = workspace.parse().unwrap_or_default();
    let shared = |section: &str| workspace.get("workspace").and_then(|all| all.get(section)).and_then(toml::Value::as_table);
    if let (Some(package), Some(shared)) = (manifest.get_mut("package").and_then(toml::Value::as_table_mut), shared("package")) {
        resolve(package, shared);
    }
    if let (Some(own), Some(shared)) =
        (manifest.get_mut("dependencies").and_then(toml::Value::as_table_mut), shared("dependencies"))
    {
        resolve(own, shared);
    }
    for gone in ["dev-dependencies", "lints", "example"] {
        manifest.remove(gone);
    }
    let head = "# Written by `zipfs plugin new`: the SDK of that zipfs, unchanged.\n";
    format!("{head}{}", toml::to_string(&manifest).unwrap_or_default())
}

/// Puts the shared value in place of each `workspace = true`.
fn resolve(table: &mut toml::Table, shared: &toml::Table) {
    for (name, value) in table.iter_mut() {
        let is_shared = value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
        if let (true, Some(given)) = (is_shared, shared.get(name)) {
            *value = given.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sdk_stands_alone() {
        let files: Vec<_> = files().collect();
        let manifest = &files.iter().find(|(path, _)| *path == "Cargo.toml").unwrap().1;
        assert!(!manifest.contains("workspace"), "{manifest}");
        assert!(manifest.contains("[dependencies.wit-bindgen]") || manifest.contains("wit-bindgen ="), "{manifest}");
        for needed in ["src/lib.rs", "wit/tools.wit", "wit/world.wit"] {
            assert!(files.iter().any(|(path, _)| *path == needed), "{needed} is missing");
        }
    }
}
