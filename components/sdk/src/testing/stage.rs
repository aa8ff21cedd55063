//! What the imports see while a bench runs a tool: the counterpart of the host's store for one call.

use std::cell::RefCell;
use std::rc::Rc;

use cap_std::fs::Dir;

use super::Progress;
use crate::client::Abilities;
use crate::log::Level;
use crate::tool::RunPart;
use crate::{Error, http};

/// What stands for the network in a unit test.
pub(crate) type Answering = dyn Fn(&http::Request) -> Result<http::Response, Error>;

/// One call, as far as its imports can tell.
pub(crate) struct Stage {
    /// The workspace, if the tool declared that it uses it.
    pub mounted: Option<Dir>,
    /// Whether it declared that it writes.
    pub writable: bool,
    /// A place outside the workspace for files on their way in.
    pub staging: Dir,
    /// The capabilities it declared.
    pub capabilities: Vec<&'static str>,
    pub abilities: Abilities,
    /// What answers its requests.
    pub http: Option<Rc<Answering>>,
    /// Names and bytes of its secrets.
    pub secrets: Vec<(String, Vec<u8>)>,
    /// How a part of its work is done.
    pub part_worker: Option<Rc<RunPart>>,
    pub progress: Vec<Progress>,
    pub log: Vec<(Level, String)>,
    pub changes: Vec<crate::changes::Changed>,
}

thread_local! {
    // Per thread, because the test harness runs tests side by side.
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

/// Runs `scene` on a stage, and returns its result with what was left on the stage.
pub(crate) fn play<T>(stage: Stage, scene: impl FnOnce() -> T) -> (T, Stage) {
    let previous = STAGE.replace(Some(stage));
    assert!(previous.is_none(), "a tool cannot call a bench");
    // Taken away also if the tool panics: the thread may go on to another test.
    struct Clear;
    impl Drop for Clear {
        fn drop(&mut self) {
            STAGE.take();
        }
    }
    let clear = Clear;
    let result = scene();
    let stage = STAGE.take().expect("nothing else clears the stage");
    drop(clear);
    (result, stage)
}

/// What the stage says, if a bench is running a tool on this thread.
pub(crate) fn with<T>(look: impl FnOnce(&mut Stage) -> T) -> Option<T> {
    STAGE.with_borrow_mut(|stage| stage.as_mut().map(look))
}
