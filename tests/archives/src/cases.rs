//! The list: each archive with a name, and what has to become of it under the default limits.

mod bombs;
mod kinds;
mod methods;
mod names;
mod structure;

use crate::made::{Made, Part, archive, stored};

/// An archive and its verdict.
pub struct Case {
    pub name: String,
    pub bytes: Vec<u8>,
    pub verdict: Verdict,
}

/// What has to become of an archive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It opens, without a warning about the archive itself.
    Opens,
    /// It opens with a warning that says this.
    Warns(&'static str),
    /// It is refused with this code, and the message says this.
    Refused(&'static str, &'static str),
}

/// All of them.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    structure::add(&mut cases);
    names::add(&mut cases);
    kinds::add(&mut cases);
    bombs::add(&mut cases);
    methods::add(&mut cases);
    cases
}

/// The refusals for being readable in two ways.
const INVALID: &str = "ZIP_INVALID";
const TRAVERSAL: &str = "PATH_TRAVERSAL";
const BOMB: &str = "ZIP_BOMB_DETECTED";

fn add(cases: &mut Vec<Case>, name: impl Into<String>, bytes: Vec<u8>, verdict: Verdict) {
    cases.push(Case { name: name.into(), bytes, verdict });
}

fn opens(cases: &mut Vec<Case>, name: impl Into<String>, made: Made) {
    add(cases, name, made.bytes(), Verdict::Opens);
}

fn warns(cases: &mut Vec<Case>, name: impl Into<String>, made: Made, says: &'static str) {
    add(cases, name, made.bytes(), Verdict::Warns(says));
}

fn refused(cases: &mut Vec<Case>, name: impl Into<String>, made: Made, code: &'static str, says: &'static str) {
    add(cases, name, made.bytes(), Verdict::Refused(code, says));
}

/// A file that is like any other.
fn plain() -> Part {
    stored("a", "contents")
}

/// An archive in which `part` lies between two files that are like any other.
fn between(part: Part) -> Made {
    archive([stored("first", "1"), part, stored("last", "3")])
}
