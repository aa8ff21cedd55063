//! `zipfs plugin bench`.

use serde_json::Value;

use crate::support::{Zipfs, guest};

#[test]
fn size_time_and_memory_are_measured() {
    let data = tempfile::tempdir().unwrap();
    let path = guest("noop");
    let text = Zipfs(data.path()).ok(&["plugin", "bench", path.to_str().unwrap(), "--rounds", "50", "--json"]);
    let measured: Value = serde_json::from_str(&text).unwrap();
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{measured}"));
    assert_eq!(number(&measured["size_bytes"]), std::fs::metadata(&path).unwrap().len());
    assert!(number(&measured["code_bytes"]) > 0 && number(&measured["instantiate_p50_us"]) < 100_000);
    let noop = &measured["tools"][0];
    assert_eq!(noop["tool"], "noop");
    assert!(number(&noop["p50_us"]) > 0 && number(&noop["p50_us"]) <= number(&noop["p99_us"]), "{measured}");
    // Memory comes in pages of 64 KiB, and a guest has at least one.
    assert!(number(&noop["memory_bytes"]) >= 64 << 10 && number(&noop["memory_bytes"]) % (64 << 10) == 0, "{measured}");
    assert_eq!(noop["failed"], Value::Null);
    let spoken = Zipfs(data.path()).ok(&["plugin", "bench", path.to_str().unwrap(), "--rounds", "5"]);
    assert!(spoken.contains("noop: p50"), "{spoken}");
    Zipfs(data.path()).fails(&["plugin", "bench", path.to_str().unwrap(), "--rounds", "0"], 2);
}
