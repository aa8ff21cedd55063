# The verbs of this project. Cargo alone builds, runs and tests it; these save typing.

default:
    @just --list

# What the tests and benchmarks need beyond Rust.
setup:
    rustup target add wasm32-wasip2

build:
    cargo build --release

test:
    cargo test --release

lint:
    cargo fmt --all --check
    cargo clippy --release --workspace --all-targets -- -D warnings

run *arguments:
    cargo run --release -- {{arguments}}

# Every crash, error and power cut at every point; needs strace, and root for power cuts. Takes a quarter of an hour.
fault *arguments:
    ZIPFS_FAULT=full cargo test --release --package zipfs --test promises crash:: -- --nocapture {{arguments}}

# Side by side with the peers, in one run; prints ratios. Extra arguments go to the bench: `just bench --quick call read`.
bench *arguments:
    cargo build --release
    CARGO_ENCODED_RUSTFLAGS=-Ctarget-feature=+simd128 cargo build --package zipfs-guests --example noop --target wasm32-wasip2 --profile guest --target-dir target/guests
    cargo run --release --package zipfs-bench -- --noop target/guests/wasm32-wasip2/guest/examples/noop.wasm {{arguments}}
