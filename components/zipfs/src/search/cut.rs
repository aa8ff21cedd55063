//! Cutting a search into parts that several instances work on.

use zipfs_sdk::fs::Dir;

use super::files::{Piece, Siblings};
use crate::lookup;

/// Less than this is searched sooner by one instance than by several.
const WORTH_SHARING: u64 = 4 << 20;

/// With more files than that, asking for the size of each would cost more than a fair division gains.
const MOST_WEIGHED: usize = 1000;

/// With that many directories to look into, looking is shared too.
pub const ENOUGH_DIRECTORIES: usize = 128;

/// What a directory weighs that nobody has looked into, in bytes searched: a few files.
const UNSEEN_WEIGHT: u64 = 64 << 10;

/// What is searched whole has no directory that nobody has looked into: what turns out to be too much there is only shared again by
/// those who take parts.
const _: () = assert!(ENOUGH_DIRECTORIES as u64 * UNSEEN_WEIGHT >= WORTH_SHARING);

/// Into how many parts a search is cut: enough that the cores finish together.
const PARTS: usize = 32;

/// Who searches the files.
pub enum Cut {
    Whole(Vec<Piece>),
    Parts(Vec<Vec<Piece>>),
}

/// Cuts the pieces into runs of about the same weight, in order.
pub fn cut(workspace: &Dir, pieces: Vec<Piece>) -> Cut {
    let count: usize = pieces.iter().map(|piece| if let Piece::Files(files) = piece { files.names.len() } else { 1 }).sum();
    if count < 2 {
        return Cut::Whole(pieces);
    }
    let all_seen = pieces.iter().all(|piece| matches!(piece, Piece::Files(_)));
    // A file that vanished weighs nothing. The constant is what opening one costs, in bytes searched.
    let weigh = |directory: &str, name: &str| match all_seen && count <= MOST_WEIGHED {
        true => 4096 + workspace.stat(&lookup::join(directory, name)).map_or(0, |found| found.size),
        false => 8192,
    };
    let weights = pieces.iter().flat_map(|piece| match piece {
        Piece::Files(files) => files.names.iter().map(|name| weigh(&files.directory, name)).collect(),
        Piece::Beneath(_) => vec![UNSEEN_WEIGHT],
    });
    let weights: Vec<u64> = weights.collect();
    let total: u64 = weights.iter().sum();
    if total < WORTH_SHARING {
        return Cut::Whole(pieces);
    }
    let share = (total / PARTS as u64).max(WORTH_SHARING / 8);
    let mut weights = weights.into_iter();
    let (mut parts, mut part, mut weight) = (Vec::new(), Vec::new(), 0);
    for piece in pieces {
        match piece {
            Piece::Files(Siblings { directory, names }) => {
                let mut run = Vec::new();
                for (name, own) in names.into_iter().zip(&mut weights) {
                    run.push(name);
                    weight += own;
                    if weight >= share {
                        part.push(Piece::Files(Siblings { directory: directory.clone(), names: std::mem::take(&mut run) }));
                        parts.push(std::mem::take(&mut part));
                        weight = 0;
                    }
                }
                if !run.is_empty() {
                    part.push(Piece::Files(Siblings { directory, names: run }));
                }
            }
            beneath => {
                part.push(beneath);
                weight += weights.next().unwrap_or(0);
                if weight >= share {
                    parts.push(std::mem::take(&mut part));
                    weight = 0;
                }
            }
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    Cut::Parts(parts)
}
