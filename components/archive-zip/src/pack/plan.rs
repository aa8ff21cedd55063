//! The list of changes, turned into what happens to each old entry and what is added.

use crate::contract::{Change, EntryKind, Error, NewEntry, ReplacementEntry};
use crate::extra::Facts;
use crate::failure::{internal, quoted, unwritable};
use crate::names::read_name;

#[derive(Clone, Copy)]
pub enum Fate<'a> {
    Keep,
    Remove,
    Replace(&'a ReplacementEntry),
}

pub struct Plan<'a> {
    /// One for each old entry.
    pub fates: Vec<Fate<'a>>,
    pub added: Vec<&'a NewEntry>,
}

impl<'a> Plan<'a> {
    /// Refuses changes that contradict each other or the archive, before anything is written.
    pub fn new(entries: usize, changes: &'a [Change]) -> Result<Self, Error> {
        let mut plan = Self { fates: vec![Fate::Keep; entries], added: Vec::new() };
        for change in changes {
            match change {
                Change::Remove(index) => *plan.fate_of(*index)? = Fate::Remove,
                Change::Replace(with) => *plan.fate_of(with.index)? = Fate::Replace(with),
                Change::Add(new) => {
                    check_new(new)?;
                    plan.added.push(new);
                }
            }
        }
        Ok(plan)
    }

    fn fate_of(&mut self, index: u32) -> Result<&mut Fate<'a>, Error> {
        match self.fates.get_mut(index as usize) {
            Some(fate @ Fate::Keep) => Ok(fate),
            Some(_) => Err(internal(format!("two changes for entry {index}"))),
            None => Err(internal(format!("a change for entry {index}, which the archive does not have"))),
        }
    }
}

/// A new name must be one that a scan accepts and reads as the same path, else the archive could not be opened again.
fn check_new(new: &NewEntry) -> Result<(), Error> {
    let path = quoted(new.path.as_bytes());
    let name = read_name(&raw_name(new), true, &Facts::default())?;
    if name.path != new.path {
        return Err(unwritable(format!("{path} would get another name in the archive")));
    }
    Ok(())
}

/// The name in the archive: UTF-8, and a slash behind a directory's.
pub fn raw_name(new: &NewEntry) -> Vec<u8> {
    let mut name = new.path.clone().into_bytes();
    if new.kind == EntryKind::Directory {
        name.push(b'/');
    }
    name
}
