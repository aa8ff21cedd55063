//! Random edits, side by side with a model that holds all lines in a list. Files come in pieces of random size.

use proptest::prelude::*;
use zipfs_rootspace::digest::Hash;
use zipfs_rootspace::edit::{Append, Edit, Flowed, Insert, PatchEdit, Problem, Replace, flow, parse};
use zipfs_rootspace::lines::{Bound, LineRange, from_end};

/// A text as the model sees it.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    lines: Vec<String>,
    /// Whether the last line has a line end.
    ended: bool,
}

impl Model {
    fn of(text: &str) -> Model {
        let ended = text.ends_with('\n');
        let body = text.strip_suffix('\n').unwrap_or(text);
        let lines = if text.is_empty() { Vec::new() } else { body.split('\n').map(str::to_owned).collect() };
        Model { lines, ended }
    }

    fn text(&self) -> String {
        let end = if self.ended && !self.lines.is_empty() { "\n" } else { "" };
        self.lines.join("\n") + end
    }

    /// First line and the one behind the last, from 0, clamped.
    fn range(&self, [start, end]: [i64; 2]) -> (usize, usize) {
        let n = self.lines.len() as i64;
        let start = if start == 0 {
            1
        } else if start > 0 {
            start
        } else {
            n + 1 + start
        };
        let end = if end == 0 {
            n + 1
        } else if end > 0 {
            end
        } else {
            n + 1 + end
        };
        let clamp = |number: i64| (number.clamp(1, n + 1) - 1) as usize;
        (clamp(start), clamp(end).max(clamp(start)))
    }

    /// The text after a replacement, if there is exactly one place.
    fn replace(&self, range: [i64; 2], old: &str, new: &str) -> Option<String> {
        let listed = |text: &str| text.strip_suffix('\n').unwrap_or(text).split('\n').map(str::to_owned).collect::<Vec<_>>();
        let (old, (start, end)) = (listed(old), self.range(range));
        let places: Vec<usize> = (start..end).filter(|at| at + old.len() <= end && self.lines[*at..].starts_with(&old)).collect();
        let [at] = places[..] else { return None };
        let mut after = self.clone();
        let new = if new.is_empty() { Vec::new() } else { listed(new) };
        after.lines.splice(at..at + old.len(), new);
        Some(after.text())
    }

    fn insert(&self, line: i64, anchor: &str, content: &str) -> Option<String> {
        let n = self.lines.len() as i64;
        let at = if line > 0 { line - 1 } else { n + line };
        if line == 0 || !(0..n).contains(&at) || self.lines[at as usize] != anchor {
            return None;
        }
        let mut after = self.clone();
        let new = content.strip_suffix('\n').unwrap_or(content).split('\n').map(str::to_owned);
        after.lines.splice(at as usize..at as usize, new);
        Some(after.text())
    }
}

fn run(edit: &mut dyn Edit, text: &str, size: usize) -> (Flowed, Vec<u8>) {
    let mut chunks = text.as_bytes().chunks(size.max(1));
    let mut written = Vec::new();
    let next = || Ok(chunks.next().unwrap_or_default().to_vec());
    let flowed = flow(edit, next, &mut |bytes| {
        written.extend_from_slice(bytes);
        Ok(())
    });
    (flowed.unwrap(), written)
}

fn read_of(text: &str) -> impl FnMut(u64, usize) -> zipfs_sdk::fs::Result<Vec<u8>> + '_ {
    |offset, len| Ok(text.as_bytes()[offset as usize..].iter().take(len).copied().collect())
}

/// What came of an edit is what the model says, with the hashes and the number of lines that go with it.
fn compare(edit: &mut dyn Edit, text: &str, size: usize, expected: Option<String>) -> Result<(), TestCaseError> {
    let (flowed, written) = run(edit, text, size);
    prop_assert_eq!(flowed.old, Hash::of(text.as_bytes()));
    match expected {
        None => prop_assert!(flowed.problem.is_some(), "it was done: {:?}", String::from_utf8_lossy(&written)),
        Some(expected) => {
            prop_assert_eq!(flowed.problem, None);
            prop_assert_eq!(String::from_utf8(written).unwrap(), expected.clone());
            prop_assert_eq!(flowed.new, Hash::of(expected.as_bytes()));
            prop_assert_eq!(flowed.total_lines, Model::of(&expected).lines.len() as u64);
        }
    }
    Ok(())
}

/// Short lines of few letters, so that lines repeat and begin alike.
fn text() -> impl Strategy<Value = String> {
    "([ab]{0,3}\r?\n){0,9}([ab]{0,2})?"
}

/// Some consecutive lines of a text, or others.
fn lines_of(text: &str, at: usize, count: usize) -> Option<String> {
    let model = Model::of(text);
    let at = at % (model.lines.len() + 1);
    let end = (at + count).min(model.lines.len());
    (at < end).then(|| model.lines[at..end].join("\n"))
}

/// A diff between two lists of lines that replaces the lines from `at` to `end`, with so much around them.
fn diff_of(model: &Model, edits: &[(usize, usize, Vec<String>)], context: usize) -> (String, Model) {
    let (mut patch, mut after, mut shift, mut last_end) = (String::from("--- a/x\n+++ b/x\n"), model.clone(), 0_i64, 0);
    for (at, end, new) in edits {
        let from = at.saturating_sub(context).max(last_end);
        let to = (end + context).min(model.lines.len());
        let next = edits.iter().map(|edit| edit.0).find(|next| next > at).unwrap_or(usize::MAX);
        let to = to.min(next).max(*end);
        last_end = to;
        let (old_len, new_len) = (to - from, to - from - (end - at) + new.len());
        let old_start = if old_len == 0 { from } else { from + 1 };
        patch += &format!("@@ -{old_start},{old_len} +{},{new_len} @@\n", (from as i64 + 1 + shift).max(0));
        let mark = |index: usize| index + 1 == model.lines.len() && !model.ended;
        let mut put = |sign: char, line: &str, open: bool| {
            patch += &format!("{sign}{line}\n");
            if open {
                patch += "\\ No newline at end of file\n";
            }
        };
        (from..*at).for_each(|index| put(' ', &model.lines[index], mark(index)));
        (*at..*end).for_each(|index| put('-', &model.lines[index], mark(index)));
        new.iter().for_each(|line| put('+', line, false));
        (*end..to).for_each(|index| put(' ', &model.lines[index], mark(index)));
        let place = (*at as i64 + shift) as usize;
        after.lines.splice(place..place + (end - at), new.iter().cloned());
        shift += new.len() as i64 - (end - at) as i64;
        // A last line that was taken away or replaced takes its missing line end with it; in an empty file there was none to miss.
        if *end == model.lines.len() && (end > at || model.lines.is_empty()) {
            after.ended = true;
        }
    }
    (patch, after)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn mcp_013_045_replace_does_what_the_model_does(
        text in text(), start in -6_i64..8, end in -6_i64..8, at in 0_usize..10, count in 1_usize..4,
        other in "[ab\n]{0,4}", own in any::<bool>(), new in prop_oneof![Just(String::new()), "[abc\n]{0,6}"], final_lf in any::<bool>(),
        size in 1_usize..12) {
        let mut old = if own { lines_of(&text, at, count).unwrap_or(other) } else { other };
        if final_lf {
            old.push('\n');
        }
        let expected = Model::of(&text).replace([start, end], &old, &new);
        let bounds = LineRange([start, end]).resolve(text.len() as u64, read_of(&text)).unwrap();
        compare(&mut Replace::new(&old, &new, bounds), &text, size, expected)?;
    }

    #[test]
    fn mcp_014_046_insert_does_what_the_model_does(
        text in text(), line in -8_i64..9, own in any::<bool>(), other in "[ab]{0,3}", content in "[abc\n]{1,6}", size in 1_usize..12) {
        let model = Model::of(&text);
        let index = if line > 0 { line - 1 } else { model.lines.len() as i64 + line };
        let anchor = match usize::try_from(index).ok().and_then(|index| model.lines.get(index)) {
            Some(there) if own => there.clone(),
            _ => other,
        };
        let expected = model.insert(line, &anchor, &content);
        let nowhere = Bound::Line(u64::MAX);
        let place = match line {
            0 => nowhere,
            1.. => Bound::Line(line as u64),
            _ => {
                let found = from_end(text.len() as u64, line.unsigned_abs(), &mut read_of(&text)).unwrap();
                if found.found == line.unsigned_abs() { Bound::Offset(found.offset) } else { nowhere }
            }
        };
        compare(&mut Insert::new(place, line, &anchor, &content), &text, size, expected)?;
    }

    #[test]
    fn mcp_015_append_is_literal(text in text(), content in "[ab\n]{0,5}", size in 1_usize..12) {
        let expected = format!("{text}{content}");
        compare(&mut Append::new(content), &text, size, Some(expected))?;
    }

    #[test]
    fn patch_does_what_the_model_does(
        text in text(), places in proptest::collection::vec((0_usize..10, 0_usize..3, proptest::collection::vec("[abc]{0,3}", 0..3)), 1..3),
        context in 0_usize..3, size in 1_usize..12) {
        let model = Model::of(&text);
        let count = model.lines.len();
        let mut edits: Vec<(usize, usize, Vec<String>)> = Vec::new();
        for (at, length, new) in places {
            let at = at % (count + 1);
            let end = (at + length).min(count);
            // Lines behind one without a line end need other words in a diff; that is a case of its own below.
            let behind_open = at == count && !model.ended && count > 0;
            if (end == at && new.is_empty()) || behind_open || edits.last().is_some_and(|before| before.1 >= at) {
                continue;
            }
            edits.push((at, end, new));
        }
        prop_assume!(!edits.is_empty());
        let (patch, after) = diff_of(&model, &edits, context);
        compare(&mut PatchEdit::new(parse(&patch).unwrap()), &text, size, Some(after.text()))?;
        // One letter less in a line that has to be there, and nothing is done.
        if let Some(line) = patch.split('\n').find(|line| (line.starts_with('-') || line.starts_with(' ')) && line.len() > 1 && !line.starts_with("---")) {
            let broken = patch.replacen(&format!("\n{line}\n"), &format!("\n{}c{}\n", &line[..1], &line[1..]), 1);
            compare(&mut PatchEdit::new(parse(&broken).unwrap()), &text, size, None)?;
        }
    }

    #[test]
    fn diffs_are_read_without_a_panic(text in "(@@ -[0-9]{1,2},[0-9] \\+[0-9],[0-9] @@\n|[ +-][ab]{0,2}\n|\\\\ No\n|\n|--- a\n|diff \n){0,9}") {
        let _ = parse(&text);
    }
}

fn problem(edit: &mut dyn Edit, text: &str) -> Problem {
    run(edit, text, 5).0.problem.expect("a problem")
}

#[test]
fn a_patch_is_held_to_the_end_of_the_last_line() {
    let patch = |text: &str| PatchEdit::new(parse(text).unwrap());
    let wrong = problem(&mut patch("@@ -2 +2 @@\n-b\n+c\n"), "a\nb");
    assert_eq!(wrong, Problem::LineEnd { line: 2, file_has_it: false });
    let wrong = problem(&mut patch("@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n"), "a\nb\n");
    assert_eq!(wrong, Problem::LineEnd { line: 2, file_has_it: true });
    let wrong = problem(&mut patch("@@ -2,0 +3 @@\n+c\n"), "a\nb");
    assert_eq!(wrong, Problem::LineEnd { line: 2, file_has_it: false });
    let done = run(&mut patch("@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n"), "a\nb\n", 3);
    assert_eq!((done.0.problem, done.1), (None, b"a\nb".to_vec()));
    let wrong = problem(&mut patch("@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"), "a\nb\n");
    assert_eq!(wrong, Problem::LineEnd { line: 2, file_has_it: true }, "only the last line can be without");
}

#[test]
fn a_patch_behind_the_end_is_told_where_the_end_is() {
    let patch = |text: &str| PatchEdit::new(parse(text).unwrap());
    assert_eq!(problem(&mut patch("@@ -9 +9 @@\n-a\n+b\n"), "a\n"), Problem::HunkBehindEnd { header: (9, 1), total: 1 });
    let wanted = b"b".to_vec();
    assert_eq!(problem(&mut patch("@@ -1,2 +1 @@\n a\n-b\n"), "a\n"), Problem::Ended { line: 2, wanted, argument: "patch" });
}

#[test]
fn many_places_are_counted_and_not_kept() {
    let text = "\n".repeat(100_000);
    let bounds = LineRange([2, 0]).resolve(text.len() as u64, read_of(&text)).unwrap();
    let Problem::NotUnique { lines, more } = problem(&mut Replace::new("", "x", bounds), &text) else { panic!("not unique") };
    assert_eq!((lines[0], lines.len() as u64 + more), (2, 99_999));
}
