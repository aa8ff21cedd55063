//! Changes of a text as machines that the file flows through once, in pieces.
//!
//! A machine passes on what stays and adds what is new. So the hashes of both files and the lines of the new one are made on the
//! way, whatever the size, and nothing is decided before the old hash is known.

mod append;
mod diff;
mod insert;
mod output;
mod patch;
mod problem;
mod replace;

pub use append::Append;
pub use diff::{Hunk, Op, Patch, parse};
pub use insert::Insert;
pub use output::{Output, Sink};
pub use patch::PatchEdit;
pub use problem::{Excerpt, Problem};
pub use replace::Replace;

use sha2::{Digest, Sha256};
use zipfs_sdk::Error;

use crate::digest::Hash;
use crate::lines::Utf8Check;

/// One change of a text.
pub trait Edit {
    /// Takes the next piece of the old file. After a problem nothing more comes.
    fn feed(&mut self, chunk: &[u8], output: &mut Output<'_>) -> Result<(), Problem>;

    /// The old file is over.
    fn finish(&mut self, output: &mut Output<'_>) -> Result<(), Problem>;
}

/// What came of it, before anybody compared the hash.
#[derive(Debug)]
pub struct Flowed {
    /// Of the file as it was.
    pub old: Hash,
    /// Of the file as it is to be.
    pub new: Hash,
    /// How many lines that has.
    pub total_lines: u64,
    /// Why it cannot be done.
    pub problem: Option<Problem>,
}

/// Lets a file flow through an edit. `next` gives its pieces, an empty one at the end; `sink` takes those of the new file.
pub fn flow(edit: &mut dyn Edit, mut next: impl FnMut() -> Result<Vec<u8>, Error>, sink: &mut Sink<'_>) -> Result<Flowed, Error> {
    let mut output = Output::new(sink);
    let (mut old, mut utf8, mut problem) = (Sha256::new(), Utf8Check::default(), None);
    loop {
        let chunk = next()?;
        if chunk.is_empty() {
            break;
        }
        old.update(&chunk);
        utf8.feed(&chunk);
        // After a problem only the hash is of interest: whoever read an older file shall hear that first.
        if problem.is_none() {
            problem = edit.feed(&chunk, &mut output).err();
            output.check()?;
        }
    }
    if problem.is_none() {
        problem = edit.finish(&mut output).err();
    }
    if let Some(at) = utf8.end() {
        problem = Some(Problem::NotText { at });
    }
    let (new, total_lines) = output.end()?;
    Ok(Flowed { old: Hash::end(old), new, total_lines, problem })
}
