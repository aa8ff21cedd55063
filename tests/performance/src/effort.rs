//! How much is measured: enough for figures that can be quoted, or just enough to see that nothing broke.

pub struct Effort {
    /// Rounds in which calls are timed one at a time.
    pub rounds: usize,
    /// Calls in the block that a peer has in each round.
    pub calls: usize,
    /// Calls at the beginning of a block that are not counted: the caches and the core belonged to somebody else just now.
    pub calls_to_settle: usize,
    /// Calls before the first round that are not counted: Node goes on compiling hot code for some thousands, and a
    /// peer that is not warm is not beaten.
    pub calls_to_warm_up: usize,
    pub start_rounds: usize,
    /// Starts in the block that a peer has in each round.
    pub starts: usize,
    pub flood_rounds: usize,
    /// Bursts of pipelined calls in the block that a peer has in each round.
    pub floods: usize,
    /// Calls in a burst.
    pub flood_calls: usize,
    /// Bursts before the first round that are not counted.
    pub floods_to_warm_up: usize,
    /// Rounds in which archives are unpacked.
    pub unpack_rounds: usize,
    /// Rounds in which one changed file goes back into an archive.
    pub sync_rounds: usize,
    /// Rounds in which workspaces are walked through or searched.
    pub walk_rounds: usize,
    /// Walks in the block that everybody has in each round.
    pub walks: usize,
    /// Rounds in which each operation is timed at each size.
    pub growth_rounds: usize,
    /// Sessions that are opened at the same time.
    pub sessions: usize,
}

impl Effort {
    pub const FULL: Self = Self {
        rounds: 20,
        calls: 200,
        calls_to_settle: 20,
        calls_to_warm_up: 4000,
        start_rounds: 8,
        starts: 3,
        flood_rounds: 8,
        floods: 3,
        flood_calls: 1000,
        floods_to_warm_up: 6,
        unpack_rounds: 5,
        sync_rounds: 9,
        walk_rounds: 9,
        walks: 3,
        growth_rounds: 5,
        sessions: 1000,
    };

    pub const QUICK: Self = Self {
        rounds: 5,
        calls: 100,
        calls_to_settle: 20,
        calls_to_warm_up: 1000,
        start_rounds: 3,
        starts: 2,
        flood_rounds: 3,
        floods: 1,
        flood_calls: 500,
        floods_to_warm_up: 2,
        unpack_rounds: 3,
        sync_rounds: 5,
        walk_rounds: 5,
        walks: 1,
        growth_rounds: 3,
        sessions: 1000,
    };
}
