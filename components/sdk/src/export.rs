//! The one line that makes a crate a plugin.

/// Exports a plugin from the component that this crate becomes.
///
/// `export!(Notes);` exports the tools. If the plugin also implements [`Resources`](crate::Resources),
/// [`Prompts`](crate::Prompts) or [`Completions`](crate::Completions), name what it has:
/// `export!(Notes with resources, prompts, completions);`. What is not named is not in the component at all. `parts` belongs to
/// plugins with a tool that [shares its work](crate::Tool::parts).
///
/// Needs `crate-type = ["cdylib"]`, and `"rlib"` besides if other crates test against it. For other targets than WebAssembly the
/// line only checks the types, so that the crate's unit tests are ordinary ones.
#[macro_export]
macro_rules! export {
    ($plugin:ident) => {
        $crate::export!($plugin with);
    };
    ($plugin:ident with $($extra:ident),* $(,)?) => {
        const _: fn() -> ::std::vec::Vec<$crate::Tool> = <$plugin as $crate::Plugin>::tools;

        // The aliases here and below have names that no plugin has: one called `Parts` must not be hidden by ours.
        // The functions that the host finds by name cannot be declared without the word `unsafe`.
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            type ExportedTools = $crate::plugin::Answering<$plugin>;
            $crate::bindings::plugin::export_plugin_world!(ExportedTools with_types_in $crate::bindings::plugin);
        };

        $($crate::export_besides_tools!($extra $plugin);)*
    };
}

/// One of the optional exports.
#[doc(hidden)]
#[macro_export]
macro_rules! export_besides_tools {
    (resources $plugin:ident) => {
        const _: fn(&str) -> ::std::result::Result<::std::vec::Vec<$crate::ResourceContents>, $crate::Error> =
            <$plugin as $crate::Resources>::read;

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            type ExportedResources = $crate::resources::Answering<$plugin>;
    $crate::bindings::resources::export_resources_world!(ExportedResources with_types_in $crate::bindings::resources);
        };
    };
    (parts $plugin:ident) => {
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            type ExportedParts = $crate::plugin::Answering<$plugin>;
    $crate::bindings::parts::export_parts_world!(ExportedParts with_types_in $crate::bindings::parts);
        };
    };
    (prompts $plugin:ident) => {
        const _: fn() -> ::std::result::Result<::std::vec::Vec<$crate::prompts::Prompt>, $crate::Error> =
            <$plugin as $crate::Prompts>::list;

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            type ExportedPrompts = $crate::prompts::Answering<$plugin>;
    $crate::bindings::prompts::export_prompts_world!(ExportedPrompts with_types_in $crate::bindings::prompts);
        };
    };
    (completions $plugin:ident) => {
        const _: () = {
            const fn completes<T: $crate::Completions>() {}
            completes::<$plugin>();
        };

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            type ExportedCompletions = $crate::completions::Answering<$plugin>;
    $crate::bindings::completions::export_completions_world!(ExportedCompletions with_types_in $crate::bindings::completions);
        };
    };
}
