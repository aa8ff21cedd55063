//! How large the values of typed functions may be, in both directions.

use serde_json::json;

use crate::support::Server;

#[test]
fn a_list_without_end_is_refused() {
    let server = Server::start();
    server.add("typed");
    // A byte of base64 is forty bytes of value. What is just small enough goes through and comes back.
    let with = |count: usize| {
        let raw = "AAAA".repeat(count / 3);
        json!({"value": {
            "yes": true, "numbers": [0, 0, 0, 0, 0, 0, 0, 0], "ratio": 0, "letter": "a", "raw": raw, "unit": "foot", "styles": [],
            "shapes": [], "outcome": {"ok": 1},
        }})
    };
    let back = server.call("geometry_echo", with(300_000)).value();
    assert_eq!(back["raw"].as_str().unwrap().len(), 400_000);
    let message = server.call("geometry_echo", with((1 << 20) + 3)).fails("LIMIT_EXCEEDED");
    assert!(message.contains("values"), "{message}");
    server.call("add", json!({"a": 1, "b": 1})).is(json!({"result": 2}));
}

#[test]
fn an_answer_without_end_is_refused() {
    let server = Server::start();
    server.add("typed");
    for count in [20_000_000u32, u32::MAX] {
        server.call("bytes", json!({"count": count})).failure();
    }
    let peak = server.process().peak_memory();
    assert!(peak < 600 << 20, "the host took {peak} bytes");
    server.call("bytes", json!({"count": 3})).is(json!({"result": "BwcH"}));
}
