//! Never comes back from being instantiated, which is before any function of the contract is called.

use zipfs_sdk::{About, Plugin, Tool};

struct SpinInStart;

impl Plugin for SpinInStart {
    fn about() -> About {
        About::new("spin-in-start", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![zipfs_guests::harmless("spin_in_start")]
    }
}

zipfs_sdk::export!(SpinInStart);

/// The name makes it the component's start function. A constructor in `.init_array` would only run with the first call.
#[cfg(target_family = "wasm")]
#[unsafe(no_mangle)]
extern "C" fn _initialize() {
    loop {
        std::hint::spin_loop();
    }
}
