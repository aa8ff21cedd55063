//! `changes`: what a plugin offers is not what it was; whoever listens is told.

use wasmtime::Result;

use crate::sandbox::bindings::plugin::zipfs::plugin::changes::{Changed, Host};
use crate::sandbox::guest::{Change, Guest};

/// Each makes clients ask anew. Test: `protocol::list_changed::a_guest_cannot_flood_listeners`.
const MOST_RESOURCES: usize = 16;

/// A URI is kept for whoever listens; longer ones are nobody's.
const MOST_URI: usize = 2048;

impl Host for Guest {
    fn announce(&mut self, what: Changed) -> Result<()> {
        let change = match what {
            Changed::Tools => Change::Tools,
            Changed::Prompts => Change::Prompts,
            Changed::Resources => Change::Resources,
            Changed::ResourceContents(uri) if uri.len() <= MOST_URI => Change::Resource(uri),
            Changed::ResourceContents(_) => return Ok(()),
        };
        let single = self.announced.iter().filter(|known| matches!(known, Change::Resource(_))).count();
        let full = matches!(change, Change::Resource(_)) && single >= MOST_RESOURCES;
        if !full && !self.announced.contains(&change) {
            self.announced.push(change.clone());
            if let Some(changes) = &self.call.changes {
                changes.send(change);
            }
        }
        Ok(())
    }
}
