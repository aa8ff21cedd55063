//! Bytes to a verdict on a name: what is accepted stays inside wherever it is joined to, and says the same when it is read again.
#![no_main]

use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use zipfs_archive_zip::extra::Facts;
use zipfs_archive_zip::names::read_name;

fuzz_target!(|input: (&[u8], bool, &[u8])| {
    let (raw, is_utf8, extra) = input;
    let Ok(facts) = Facts::read(extra) else { return };
    let Ok(name) = read_name(raw, is_utf8, &facts) else { return };
    let path = Path::new(&name.path);
    assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{:?}", name.path);
    assert!(path.components().count() == name.path.split('/').count(), "{:?}", name.path);
    assert!(name.path.len() <= 4096 && name.path.split('/').all(|part| part.len() <= 255));
    assert!(!name.path.bytes().any(|byte| byte.is_ascii_control()));
    let again = read_name(name.path.as_bytes(), true, &Facts::default()).expect("a good name stays one");
    assert_eq!(again.path, name.path);
});
