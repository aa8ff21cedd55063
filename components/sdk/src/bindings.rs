//! What wit-bindgen makes of the contract. One module per world, so that a component exports only what it has.
//!
//! Authors never name anything in here: the types they need are re-exported by the modules that give them meaning.

/// The world of every plugin: the export `tools`, and all imports.
pub mod plugin {
    wit_bindgen::generate!({
        path: "wit",
        world: "plugin",
        pub_export_macro: true,
        export_macro_name: "export_plugin_world",
        default_bindings_module: "zipfs_sdk::bindings::plugin",
        generate_all,
    });
}

/// The optional export `resources`.
pub mod resources {
    wit_bindgen::generate!({
        path: "wit",
        world: "plugin-resources",
        pub_export_macro: true,
        export_macro_name: "export_resources_world",
        default_bindings_module: "zipfs_sdk::bindings::resources",
        with: { "zipfs:plugin/types@0.1.0": crate::bindings::plugin::zipfs::plugin::types },
    });
}

/// The optional export `prompts`.
pub mod prompts {
    wit_bindgen::generate!({
        path: "wit",
        world: "plugin-prompts",
        pub_export_macro: true,
        export_macro_name: "export_prompts_world",
        default_bindings_module: "zipfs_sdk::bindings::prompts",
        with: { "zipfs:plugin/types@0.1.0": crate::bindings::plugin::zipfs::plugin::types },
    });
}

/// The optional export `parts`.
pub mod parts {
    wit_bindgen::generate!({
        path: "wit",
        world: "plugin-parts",
        pub_export_macro: true,
        export_macro_name: "export_parts_world",
        default_bindings_module: "zipfs_sdk::bindings::parts",
        with: { "zipfs:plugin/types@0.1.0": crate::bindings::plugin::zipfs::plugin::types },
    });
}

/// The optional export `completions`.
pub mod completions {
    wit_bindgen::generate!({
        path: "wit",
        world: "plugin-completions",
        pub_export_macro: true,
        export_macro_name: "export_completions_world",
        default_bindings_module: "zipfs_sdk::bindings::completions",
        with: { "zipfs:plugin/types@0.1.0": crate::bindings::plugin::zipfs::plugin::types },
    });
}
