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

# The plugins that are not in the binary, each a directory that `zipfs plugin add` takes: target/plugins/rootspace, target/plugins/fs.
plugins:
    CARGO_ENCODED_RUSTFLAGS=-Ctarget-feature=+simd128 cargo build --package zipfs-rootspace --package zipfs-fs --target wasm32-wasip2 --profile guest --target-dir target/guests
    for name in rootspace fs; do mkdir -p target/plugins/$name && cp target/guests/wasm32-wasip2/guest/zipfs_$name.wasm components/$name/plugin.toml target/plugins/$name/; done

# Manual pages, for `man -l target/man/zipfs.1`.
man: build
    target/release/zipfs man target/man

# Every crash, error and power cut at every point; needs strace, and root for power cuts. Takes a quarter of an hour.
fault *arguments:
    ZIPFS_FAULT=full cargo test --release --package zipfs --test promises crash:: -- --nocapture {{arguments}}

# The official conformance suite of MCP against `zipfs serve`, result by revision; needs npm.
conformance:
    cargo test --release --package zipfs --test promises protocol::conformance -- --nocapture

# Mixed calls, hostile ones, callers that hang up and a server that is killed, for so many seconds: nothing may grow or be left.
soak seconds="3600":
    ZIPFS_SOAK_SECONDS={{seconds}} cargo test --release --package zipfs --test promises limits::soak -- --nocapture

# Side by side with the peers, in one run; prints ratios. Extra arguments go to the bench: `just bench --quick call read`.
bench *arguments:
    cargo build --release
    CARGO_ENCODED_RUSTFLAGS=-Ctarget-feature=+simd128 cargo build --package zipfs-guests --example noop --example faces --target wasm32-wasip2 --profile guest --target-dir target/guests
    cargo run --release --package zipfs-bench -- --noop target/guests/wasm32-wasip2/guest/examples/noop.wasm --faces target/guests/wasm32-wasip2/guest/examples/faces.wasm {{arguments}}

# The same with the peers that have to be compiled first, and the results and their picture into the repository.
bench-peers *arguments:
    just bench --install --json tests/performance/results/results.json --plot tests/performance/results/results.svg {{arguments}}

# Looks for inputs that break the zip driver: `just fuzz scan 600`; the others are `names` and `repack`. Needs nightly and cargo-fuzz.
fuzz target="scan" seconds="300":
    mkdir -p components/archive-zip/fuzz/corpus/{{target}}
    cd components/archive-zip && cargo +nightly fuzz run {{target}} fuzz/corpus/{{target}} $(ls -d fuzz/seeds/{{target}} 2>/dev/null) -- -dict=fuzz/zip.dict -max_len=16384 -max_total_time={{seconds}}
