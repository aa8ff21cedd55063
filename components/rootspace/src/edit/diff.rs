//! A unified diff of one file, read strictly: what could be meant in two ways is refused, with the number of the line.

use zipfs_sdk::Error;

/// A parsed diff. Hunks are in the order of the file and do not overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    pub hunks: Vec<Hunk>,
}

/// One place that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The number of the old file's line at which it begins; that of the line behind, if it has no old lines.
    pub begin: u64,
    /// `-start,length` as the header has it.
    pub header: (u64, u64),
    pub ops: Vec<Op>,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    pub kind: Kind,
    pub text: String,
    /// Whether `\ No newline at end of file` follows it.
    pub unterminated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Keep,
    Remove,
    Add,
}

/// A hunk by the old half of its header.
pub fn shown_header((start, length): (u64, u64)) -> String {
    format!("@@ -{start},{length} …")
}

/// Lines before the first hunk by which a diff says that it does something else than changing text.
const NOT_TEXT: [&str; 8] =
    ["rename ", "copy ", "new file mode", "deleted file mode", "old mode", "new mode", "GIT binary patch", "Binary files"];

/// Reads a diff.
pub fn parse(text: &str) -> Result<Patch, Error> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    let mut at = 0;
    while let Some(line) = lines.get(at).filter(|line| !line.starts_with("@@")) {
        if NOT_TEXT.iter().any(|start| line.starts_with(start)) {
            return Err(refused(at, "the patch does something else than changing the lines of a file")
                .suggest("Use file.create and file.remove to make, remove or rename a file."));
        }
        if (line.starts_with("--- ") || line.starts_with("+++ ")) && line[4..].trim_end() == "/dev/null" {
            return Err(refused(at, "the patch makes or removes the file").suggest("Use file.create or file.remove."));
        }
        at += 1;
    }
    let mut hunks: Vec<Hunk> = Vec::new();
    while let Some(line) = lines.get(at) {
        if line.starts_with("--- ") || line.starts_with("diff ") {
            return Err(refused(at, "a second file begins here").suggest("Apply the patch of each file by a call of its own."));
        }
        let (hunk, next) = read_hunk(&lines, at, hunks.len() + 1)?;
        if let Some(before) = hunks.last()
            && before.begin + before.header.1 > hunk.begin
        {
            return Err(
                refused(at, "this hunk begins before the one above it ends").suggest("Order the hunks by line, without overlap.")
            );
        }
        hunks.push(hunk);
        at = next;
    }
    if hunks.is_empty() {
        return Err(Error::invalid("PATCH_INVALID", "The patch has no hunk: no line begins with '@@ -'.")
            .suggest("Give a unified diff, such as `diff -u` or `git diff` write it."));
    }
    Ok(Patch { hunks })
}

/// Reads the hunk that begins at `lines[at]`, and says where the next one does.
fn read_hunk(lines: &[&str], at: usize, number: usize) -> Result<(Hunk, usize), Error> {
    let header = || refused(at, "this is no header of a hunk").suggest("A header looks like '@@ -12,5 +12,6 @@'.");
    let ranges = lines[at].strip_prefix("@@ -").and_then(|rest| rest.split_once(" @@")).ok_or_else(header)?.0;
    let (old, new) = ranges.split_once(" +").ok_or_else(header)?;
    let (old, new) = (numbers(old).ok_or_else(header)?, numbers(new).ok_or_else(header)?);
    let (mut old_left, mut new_left) = (old.1, new.1);
    let mut ops: Vec<Op> = Vec::new();
    let mut next = at + 1;
    let miscounted = || {
        let body = lines[at + 1..].iter().take_while(|line| !line.starts_with("@@") && !line.starts_with("diff "));
        let count = |marks: &[&str]| body.clone().filter(|line| marks.iter().any(|mark| line.starts_with(mark))).count();
        let (olds, news) = (count(&[" ", "-"]), count(&[" ", "+"]));
        Error::invalid(
            "PATCH_INVALID",
            format!(
                "Hunk {number} of the patch (its line {}) has {olds} old and {news} new lines, but its header says {} and {}.",
                at + 1,
                old.1,
                new.1
            ),
        )
        .suggest("Correct the numbers in '@@ -start,old +start,new @@', or the lines.")
    };
    while old_left > 0 || new_left > 0 {
        let line = *lines.get(next).ok_or_else(miscounted)?;
        let (kind, text) = match line.as_bytes().first() {
            Some(b' ') => (Kind::Keep, &line[1..]),
            // Some programs take the blank of an empty line away.
            None => (Kind::Keep, line),
            Some(b'-') => (Kind::Remove, &line[1..]),
            Some(b'+') => (Kind::Add, &line[1..]),
            Some(b'\\') => {
                end_without_newline(&mut ops, next)?;
                next += 1;
                continue;
            }
            Some(_) => return Err(miscounted()),
        };
        let (olds, news) = (u64::from(kind != Kind::Add), u64::from(kind != Kind::Remove));
        if olds > old_left || news > new_left {
            return Err(miscounted());
        }
        (old_left, new_left) = (old_left - olds, new_left - news);
        ops.push(Op { kind, text: text.to_owned(), unterminated: false });
        next += 1;
    }
    if lines.get(next).is_some_and(|line| line.starts_with('\\')) {
        end_without_newline(&mut ops, next)?;
        next += 1;
    }
    let follows = lines.get(next);
    let is_file =
        follows.is_some_and(|line| line.starts_with("--- ") && lines.get(next + 1).is_some_and(|after| after.starts_with("+++ ")));
    match follows {
        None => {}
        Some(line) if line.starts_with("@@") || line.starts_with("diff ") || is_file => {}
        // Blank lines at the end, as editors leave them.
        Some(_) if lines[next..].iter().all(|line| line.trim().is_empty()) => next = lines.len(),
        Some(_) => return Err(miscounted()),
    }
    let begin = if old.1 == 0 { old.0 + 1 } else { old.0 };
    if begin == 0 {
        return Err(header());
    }
    Ok((Hunk { begin, header: old, ops }, next))
}

/// `\ No newline at end of file`: about the line before it.
fn end_without_newline(ops: &mut [Op], at: usize) -> Result<(), Error> {
    let last = ops.last_mut().ok_or_else(|| refused(at, "there is no line before this one"))?;
    last.unterminated = true;
    Ok(())
}

/// `12,5`, or `12` for one line.
fn numbers(text: &str) -> Option<(u64, u64)> {
    let (start, length) = text.split_once(',').unwrap_or((text, "1"));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    // A file has no more lines than bytes, and sums of these must not overflow.
    Some((digits(start)?, digits(length)?)).filter(|(start, length): &(u64, u64)| *start < 1 << 60 && *length < 1 << 60)
}

fn refused(at: usize, why: &str) -> Error {
    Error::invalid("PATCH_INVALID", format!("Line {} of the patch: {why}.", at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        let error = parse(text).unwrap_err();
        assert_eq!(error.code(), "PATCH_INVALID");
        format!("{} {}", error.message(), error.suggestion().unwrap_or_default())
    }

    #[test]
    fn a_diff_as_git_writes_it() {
        let text = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn main\n a\n-b\n+B\n c\n@@ -9 +9,2 @@\n-i\n\\ No newline at end of file\n+I\n+J\n";
        let patch = parse(text).unwrap();
        let begins: Vec<u64> = patch.hunks.iter().map(|hunk| hunk.begin).collect();
        assert_eq!(begins, [1, 9]);
        assert_eq!(patch.hunks[0].ops.len(), 4);
        assert!(patch.hunks[1].ops[0].unterminated && !patch.hunks[1].ops[2].unterminated);
        let insertion = parse("@@ -5,0 +6 @@\n+x").unwrap();
        assert_eq!(insertion.hunks[0].begin, 6);
        assert_eq!(parse("@@ -0,0 +1 @@\n+x").unwrap().hunks[0].begin, 1);
        assert_eq!(
            parse("@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n\n").unwrap().hunks[0].ops[1].text,
            "",
            "an empty line that lost its blank"
        );
        assert_eq!(parse("@@ -1 +1 @@\n--- x\n+++ y\n").unwrap().hunks[0].ops[0].text, "-- x", "a removed line, not a file");
    }

    #[test]
    fn mcp_052_what_is_wrong_with_a_diff_is_said() {
        assert!(message("nothing").contains("no hunk"));
        assert!(message("@@ -1,2 +1,2 @@\n a\n-b\n").contains("has 2 old and 1 new lines, but its header says 2 and 2"));
        assert!(message("@@ -1,1 +1,1 @@\n a\n b\n").contains("has 2 old and 2 new"));
        assert!(message("@@ -1 +1\n-a\n+b\n").contains("Line 1 of the patch: this is no header"));
        assert!(message("@@ -0 +1 @@\n-a\n+b\n").contains("no header"));
        assert!(message("@@ -3 +3 @@\n-a\n+b\n@@ -2 +2 @@\n-c\n+d\n").contains("Order the hunks"));
        assert!(message("@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n").contains("a second file"));
        assert!(message("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n").contains("file.create"));
        assert!(message("rename from a\nrename to b\n").contains("file.create and file.remove"));
        assert!(message("@@ -99999999999999999999,1 +1 @@\n-a\n+b\n").contains("no header"));
    }
}
