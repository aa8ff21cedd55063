//! The settings that code is compiled with. The build script includes this file, so that what it compiles fits the host.

use wasmtime::{Config, Result};

/// Everything that changes the code that is generated. What only changes how it is run is in `engine.rs`.
pub fn compile_config() -> Config {
    let mut config = Config::new();
    // A guest that loops must be interruptible: without this no deadline reaches it.
    config.epoch_interruption(true);
    // One call, one task: the machinery for concurrent component calls costs each call and serves none of ours.
    config.concurrency_support(false);
    config.consume_fuel(false);
    // Maps for debuggers and profilers, a tenth of the code. What a guest prints when it breaks says more.
    config.generate_address_map(false);
    config.native_unwind_info(false);
    config.wasm_backtrace_max_frames(None);
    // What no tool needs is off, so that a flaw in it is not ours.
    config.wasm_memory64(false);
    config.wasm_relaxed_simd(false);
    config.wasm_multi_memory(false);
    config.max_wasm_stack(512 << 10);
    config
}

/// The same for code that is made on one machine and run on another of the same target.
///
/// Baseline x86-64 has no byte shuffle, which makes vector code fifteen times slower, so this asks for the level of 2009. A
/// machine below that refuses the code when it is loaded, and the host compiles again.
pub fn portable_config(target: &str) -> Result<Config> {
    let mut config = compile_config();
    config.target(target)?;
    if target.starts_with("x86_64") {
        for feature in ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt", "has_cmpxchg16b"] {
            // SAFETY: the flag is checked against the processor when the code is loaded.
            unsafe { config.cranelift_flag_enable(feature) };
        }
    }
    Ok(config)
}
