//! The list of odd and hostile archives: every verdict met, and what was let in can be changed without harm to the rest.

use zipfs_archive_zip::contract::{Change, EntryKind, NewEntry};
use zipfs_test_archives::{Case, Verdict, all};

use crate::memory::{Files, LATER, listing, open, packed};

/// Cases that only the host can judge: it makes the directories and skips the links.
fn is_the_hosts(case: &Case) -> bool {
    matches!(case.verdict, Verdict::Refused(_, "max_file_count") | Verdict::Warns("symbolic link"))
}

#[test]
fn every_verdict_is_met() {
    let mut missed = Vec::new();
    for case in all().iter().filter(|case| !is_the_hosts(case)) {
        let outcome = listing(&case.bytes).and_then(|listing| open(&case.bytes).map(|_| listing.warnings));
        let is_met = match (case.verdict, &outcome) {
            (Verdict::Opens, Ok(warnings)) => warnings.is_empty(),
            (Verdict::Warns(says), Ok(warnings)) => warnings.iter().any(|warning| warning.contains(says)),
            (Verdict::Refused(code, says), Err(error)) => error.code == code && error.message.contains(says),
            _ => false,
        };
        if !is_met {
            missed.push(format!(
                "{}: {:?}, but {:?}",
                case.name,
                case.verdict,
                outcome.map_err(|error| (error.code, error.message))
            ));
        }
    }
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn all_fourteen_ambiguities_are_among_the_cases() {
    let cases = all();
    for kind in ["A1", "A2", "A3", "A4", "A5", "B1", "B2", "B3", "B4", "C1", "C2", "C3", "C4", "C5"] {
        let says = |case: &Case| matches!(case.verdict, Verdict::Refused(_, says) | Verdict::Warns(says) if says == kind);
        assert!(cases.iter().any(says), "no case of {kind}");
    }
    let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "two cases have one name");
}

/// The raw bytes of every entry, by name.
fn raw_entries(bytes: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let entries = zipfs_archive_zip::scan::scan(bytes, &zipfs_archive_zip::scan::NO_LIMITS).unwrap().into_listing().entries;
    entries.into_iter().map(|entry| (entry.raw_name, bytes[entry.offset as usize..][..entry.span as usize].to_vec())).collect()
}

#[test]
fn a_change_leaves_every_other_entry_as_it_was() {
    let mut changed = 0;
    for case in all() {
        let Ok(before) = listing(&case.bytes) else { continue };
        let raw = raw_entries(&case.bytes);
        let add = Change::Add(NewEntry {
            path: "zipfs added this".into(),
            kind: EntryKind::File,
            modified: 0,
            mode: 0o644,
            contents: LATER,
        });
        let mut files = Files::of(&[("zipfs added this", b"new")]);
        let (staged, _) = packed(Some(&case.bytes), &[add], &mut files).unwrap();
        let mut after = raw_entries(&staged.bytes);
        after.pop();
        assert!(after == raw, "{}", case.name);

        // The first file gets new contents: its method stays if we write it, and is deflate else.
        let Some(first) = before.entries.iter().position(|entry| entry.kind == EntryKind::File) else { continue };
        let path = before.entries[first].path.clone();
        let mut files = Files::of(&[(path.as_str(), b"new contents")]);
        let replace = Change::Replace(zipfs_archive_zip::contract::ReplacementEntry {
            index: first as u32,
            modified: 0,
            mode: 0o644,
            contents: LATER,
        });
        let (staged, written) = packed(Some(&case.bytes), &[replace], &mut files).unwrap();
        let expected = if before.entries[first].method == 0 { 0 } else { 8 };
        assert_eq!(written.entries[first].method, expected, "{}", case.name);
        let after = raw_entries(&staged.bytes);
        let others_are_same = (0..raw.len()).all(|number| number == first || after[number] == raw[number]);
        assert!(after.len() == raw.len() && others_are_same, "{}", case.name);
        changed += 1;
    }
    assert!(changed > 70, "only {changed} archives were changed");
}
