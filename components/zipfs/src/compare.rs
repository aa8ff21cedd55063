//! Two texts, and the unified diff between them.

use std::fmt::Write;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// What differs between two texts.
pub struct Comparison {
    /// The hunks, without the lines that name the files. Applies with `patch`.
    pub hunks: String,
    pub lines_added: u32,
    pub lines_removed: u32,
}

/// Compares two texts line by line. `context` lines stand around each change.
pub fn compare(before: &str, after: &str, context: u32) -> Comparison {
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let line = |token: &imara_diff::Token| input.interner[*token];
    let (old, new): (Vec<&str>, Vec<&str>) = (input.before.iter().map(line).collect(), input.after.iter().map(line).collect());
    let mut hunks = String::new();
    for group in groups(diff.hunks().map(|hunk| (hunk.before, hunk.after)), context) {
        write_group(&mut hunks, &group, &old, &new, context);
    }
    Comparison { hunks, lines_added: diff.count_additions(), lines_removed: diff.count_removals() }
}

/// A change: these lines of the old text become those of the new one.
type Change = (Range<u32>, Range<u32>);

/// Changes so close together that their context would touch.
fn groups(changes: impl Iterator<Item = Change>, context: u32) -> Vec<Vec<Change>> {
    let mut groups: Vec<Vec<Change>> = Vec::new();
    for change in changes {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| change.0.start - last.0.end <= 2 * context) => group.push(change),
            _ => groups.push(vec![change]),
        }
    }
    groups
}

fn write_group(hunks: &mut String, group: &[Change], old: &[&str], new: &[&str], context: u32) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let lead = first.0.start.min(context);
    let trail = (old.len() as u32 - last.0.end).min(context);
    let (old_range, new_range) = (first.0.start - lead..last.0.end + trail, first.1.start - lead..last.1.end + trail);
    let _ = writeln!(hunks, "@@ -{} +{} @@", place(&old_range), place(&new_range));
    let mut at = old_range.start;
    for (removed, added) in group {
        write_lines(hunks, ' ', &old[at as usize..removed.start as usize]);
        write_lines(hunks, '-', &old[removed.start as usize..removed.end as usize]);
        write_lines(hunks, '+', &new[added.start as usize..added.end as usize]);
        at = removed.end;
    }
    write_lines(hunks, ' ', &old[at as usize..old_range.end as usize]);
}

/// Lines count from 1; an empty range is named by the line before it.
fn place(range: &Range<u32>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    }
}

fn write_lines(hunks: &mut String, mark: char, lines: &[&str]) {
    for line in lines {
        hunks.push(mark);
        hunks.push_str(line);
        if !line.ends_with('\n') {
            hunks.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunks(before: &str, after: &str) -> String {
        compare(before, after, 3).hunks
    }

    #[test]
    fn known_differences() {
        assert_eq!(hunks("a\nb\nc\n", "a\nB\nc\n"), "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        assert_eq!(hunks("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(hunks("a\n", ""), "@@ -1 +0,0 @@\n-a\n");
        assert_eq!(hunks("a", "a\n"), "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        assert_eq!(hunks("same\n", "same\n"), "");
    }

    /// GNU patch is the judge of whether a diff is right: it turns the old text into the new one, exactly.
    #[test]
    fn patch_applies_it() {
        let Ok(patch) = std::process::Command::new("patch").arg("--version").output() else {
            eprintln!("SKIPPED: there is no `patch` here");
            return;
        };
        assert!(patch.status.success());
        let mut state: u64 = 7;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..60 {
            let before: Vec<String> = (0..random(60)).map(|_| format!("line {}\n", random(12))).collect();
            let mut after = before.clone();
            for _ in 0..random(6) {
                let at = random(after.len() as u64 + 1) as usize;
                match random(3) {
                    0 => after.insert(at, format!("new {}\n", random(9))),
                    1 if at < after.len() => drop(after.remove(at)),
                    _ if at < after.len() => after[at] = "changed\n".to_owned(),
                    _ => {}
                }
            }
            let (mut before, mut after) = (before.concat(), after.concat());
            if random(3) == 0 {
                before.truncate(before.trim_end().len());
            }
            if random(3) == 0 {
                after.truncate(after.trim_end().len());
            }
            let dir = tempfile::tempdir().unwrap();
            let file = dir.path().join("f");
            std::fs::write(&file, &before).unwrap();
            let diff = format!("--- a/f\n+++ b/f\n{}", compare(&before, &after, random(4) as u32).hunks);
            let diff_file = dir.path().join("d");
            std::fs::write(&diff_file, &diff).unwrap();
            if before != after {
                let done = std::process::Command::new("patch")
                    .args(["-s", "-p1", "-F0", "-i", "d"])
                    .current_dir(dir.path())
                    .output()
                    .unwrap();
                assert!(done.status.success(), "round {round}: {diff}\n{}", String::from_utf8_lossy(&done.stdout));
            }
            // patch removes a file that becomes empty.
            assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), after, "round {round}: {diff}");
        }
    }
}
