//! Archives from elsewhere, if there are any: `ZIPFS_CORPUS` names a directory with a `VERDICTS.tsv`, whose columns are a file, a
//! verdict (`accept`, `accept-skipping-symlinks`, `reject`, `either`) and for `reject` the codes that will do, with `|` between.

use std::path::Path;

use serde_json::json;

use super::{Guarded, round_trip};

#[test]
fn the_verdicts_of_a_corpus_are_met() {
    let Some(corpus) = std::env::var_os("ZIPFS_CORPUS") else {
        return crate::support::skipped("the_verdicts_of_a_corpus_are_met: ZIPFS_CORPUS names no directory");
    };
    let corpus = Path::new(&corpus);
    let verdicts = std::fs::read_to_string(corpus.join("VERDICTS.tsv")).expect("VERDICTS.tsv");
    let guarded = Guarded::start();
    let (mut binding, mut misses) = (0, Vec::new());
    for line in verdicts.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let columns: Vec<&str> = line.split('\t').collect();
        let (file, verdict, codes) = (columns[0], columns[1], columns.get(2).copied().unwrap_or_default());
        let bytes = std::fs::read(corpus.join(file)).expect("a file of the corpus");
        let reply = guarded.open(file, &bytes);
        let is_refused = reply.0["result"]["isError"] == json!(true);
        let code = if is_refused { reply.failure().0 } else { String::new() };
        if !is_refused {
            guarded.close();
            assert!(round_trip::check(&guarded, file, &bytes), "{file} was let in, and then not");
        }
        let is_met = match verdict {
            "accept" | "accept-skipping-symlinks" => !is_refused,
            "reject" => is_refused && (codes.is_empty() || codes.split('|').any(|one| one == code)),
            _ => ["", "ZIP_INVALID", "PATH_TRAVERSAL", "ZIP_BOMB_DETECTED", "LIMIT_EXCEEDED"].contains(&&*code),
        };
        binding += u32::from(verdict != "either");
        if !is_met {
            misses.push(format!("{line}: {}", reply.0["result"]["structuredContent"]));
        }
    }
    eprintln!("{binding} binding verdicts, {} missed", misses.len());
    assert!(misses.is_empty(), "{}", misses.join("\n"));
    guarded.check_surroundings();
}
