//! A file by its path: what is there, what its hash is, and changing it so that the change is one of the file that was read.

use sha2::{Digest, Sha256};
use zipfs_sdk::fs::{self, Dir, File, Kind};
use zipfs_sdk::path::{PathArgument, WorkspacePath};
use zipfs_sdk::{Error, files};

use crate::digest::{Hash, HashArgument};
use crate::edit::{Edit, Problem, flow};
use crate::lines::LineRange;
use crate::trouble::{is_directory, is_link, not_found, of_change, of_io, shown, stale};

/// A file that is there.
pub struct Place {
    pub path: WorkspacePath,
    workspace: Dir,
}

/// What came of an edit.
pub struct Edited {
    pub hash: Hash,
    pub total_lines: u64,
}

impl Place {
    /// Finds a regular file. What it is behind a link is only of interest to who reads.
    pub fn find(path: &PathArgument, follow: bool) -> Result<Place, Error> {
        let path = path.resolve()?;
        let workspace = fs::workspace()?;
        let mut stat = workspace.stat(path.as_str()).map_err(|error| of_io(error, &path))?;
        if stat.kind == Kind::Symlink {
            if !follow {
                return Err(is_link(&path));
            }
            stat = workspace.stat_target(path.as_str()).map_err(|error| of_io(error, &path))?;
        }
        match stat.kind {
            Kind::File => Ok(Place { path, workspace }),
            Kind::Dir => Err(is_directory(&path)),
            // Opening a pipe would wait for whoever writes to it.
            Kind::Symlink | Kind::Other => Err(not_found(&path)),
        }
    }

    /// Opens it, with its size.
    pub fn open(&self) -> Result<(File, u64), Error> {
        let file = self.workspace.open_file(self.path.as_str()).map_err(|error| self.failed(error))?;
        let size = file.size().map_err(|error| self.failed(error))?;
        Ok((file, size))
    }

    pub fn failed(&self, error: fs::IoError) -> Error {
        of_io(error, &self.path)
    }

    /// Changes the file if it is the one with this hash. `make` gets the open file and its size, to look ahead.
    pub fn edit<E: Edit>(
        &self,
        hash: &HashArgument,
        range: LineRange,
        make: impl FnOnce(&File, u64) -> fs::Result<E>,
    ) -> Result<(Edited, E), Error> {
        let expected = hash.check()?;
        let held = files::hold(&self.path).map_err(|error| of_change(error, &self.path))?;
        let (file, size) = self.open()?;
        let mut edit = make(&file, size).map_err(|error| self.failed(error))?;
        let replacement = held.replace().map_err(|error| of_change(error, &self.path))?;
        let mut offset = 0;
        let next = || {
            let chunk = file.read_chunk(offset, usize::MAX).map_err(|error| self.failed(error))?;
            offset += chunk.len() as u64;
            Ok(chunk)
        };
        let flowed = flow(&mut edit, next, &mut |bytes| replacement.write(bytes))?;
        if flowed.old != expected {
            return Err(stale(&self.path));
        }
        if let Some(problem) = flowed.problem {
            return Err(self.explain(problem, range, &file));
        }
        replacement.commit().map_err(|error| of_change(error, &self.path))?;
        Ok((Edited { hash: flowed.new, total_lines: flowed.total_lines }, edit))
    }

    /// Removes the file if it is the one with this hash.
    pub fn remove(&self, hash: &HashArgument) -> Result<(), Error> {
        let expected = hash.check()?;
        let held = files::hold(&self.path).map_err(|error| of_change(error, &self.path))?;
        let (file, _) = self.open()?;
        let (mut hasher, mut offset) = (Sha256::new(), 0);
        loop {
            let chunk = file.read_chunk(offset, usize::MAX).map_err(|error| self.failed(error))?;
            if chunk.is_empty() {
                break;
            }
            offset += chunk.len() as u64;
            hasher.update(&chunk);
        }
        if Hash::end(hasher) != expected {
            return Err(stale(&self.path));
        }
        held.remove().map_err(|error| of_change(error, &self.path))
    }

    /// A problem in words, with a look at the line that is in the way.
    pub fn explain(&self, problem: Problem, range: LineRange, file: &File) -> Error {
        problem.into_error(&shown(&self.path), range, &mut |offset, len| file.read_at(offset, len))
    }
}
