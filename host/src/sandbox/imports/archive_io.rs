//! `archive-io`: the bytes of an archive, for its driver. Nothing here knows a format.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime::{Error, Result};

use crate::sandbox::bindings::archive::zipfs::plugin::archive_io::{Host, HostSource, HostStaged};
use crate::sandbox::guest::Guest;
use crate::workspace::copy::{Range, copy_range};
use crate::workspace::copying::Underway;

/// One read returns no more, whatever the guest asks for.
const MOST_READ: u64 = 1 << 20;

/// An archive that is read.
pub struct Source {
    pub file: Arc<File>,
    pub size: u64,
    /// What is still being copied into it.
    pub underway: Option<Underway>,
}

/// An archive that is written.
pub struct Staged {
    pub file: Arc<File>,
    /// Where in the file it begins.
    pub start: u64,
    pub position: u64,
    /// Of blocks that can be shared, or 0.
    pub block_size: u32,
    /// What it may grow to.
    pub most: u64,
    /// Who copies large ranges into it, if that is not done at once.
    pub underway: Option<Underway>,
}

impl Host for Guest {}

impl HostSource for Guest {
    fn size(&mut self, this: Resource<Source>) -> Result<u64> {
        Ok(self.table.get(&this)?.size)
    }

    fn read(&mut self, this: Resource<Source>, offset: u64, len: u32) -> Result<Vec<u8>> {
        let source = self.table.get(&this)?;
        let len = u64::from(len).min(MOST_READ).min(source.size.saturating_sub(offset));
        let there = source.underway.as_ref().map_or(Ok(()), |underway| underway.wait_for(offset, len));
        // The copy is private and does not change, so a short or failing read is the disk's, and ends the call.
        let read = there.and_then(|()| read_exactly(&source.file, offset, len as usize));
        read.map_err(|error| Error::new(error).context("the archive cannot be read"))
    }

    fn drop(&mut self, this: Resource<Source>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl HostStaged for Guest {
    fn position(&mut self, this: Resource<Staged>) -> Result<u64> {
        Ok(self.table.get(&this)?.position)
    }

    fn block_size(&mut self, this: Resource<Staged>) -> Result<u32> {
        Ok(self.table.get(&this)?.block_size)
    }

    fn append(&mut self, this: Resource<Staged>, bytes: Vec<u8>) -> Result<Result<(), String>> {
        let staged = self.table.get_mut(&this)?;
        let at = staged.start + staged.position;
        let appended = staged.grow(bytes.len() as u64).and_then(|()| staged.file.write_all_at(&bytes, at));
        if let (Ok(()), Some(underway)) = (&appended, &staged.underway) {
            underway.appended(at + bytes.len() as u64);
        }
        Ok(appended.map_err(|error| error.to_string()))
    }

    fn append_from(
        &mut self,
        this: Resource<Staged>,
        source: Resource<Source>,
        offset: u64,
        len: u64,
    ) -> Result<Result<(), String>> {
        let from = self.table.get(&source)?;
        if offset.checked_add(len).is_none_or(|end| end > from.size) {
            return Ok(Err("the range is not in the archive".into()));
        }
        let from = from.file.clone();
        let staged = self.table.get_mut(&this)?;
        let range = Range { offset, len, at: staged.start + staged.position };
        let copied = staged.grow(len).and_then(|()| match &staged.underway {
            Some(underway) => underway.add(&from, range),
            None => copy_range(&from, &staged.file, range, staged.block_size, |_| Ok(())),
        });
        Ok(copied.map_err(|error| error.to_string()))
    }

    fn drop(&mut self, this: Resource<Staged>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

/// Reads without clearing the memory first, which for a large archive would be as much work as reading it.
fn read_exactly(file: &File, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let at = offset + bytes.len() as u64;
        // The room may be larger than what was asked for.
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), at))?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.truncate(len);
    }
    Ok(bytes)
}

impl Staged {
    fn grow(&mut self, len: u64) -> io::Result<()> {
        match self.position.checked_add(len).filter(|&end| end <= self.most) {
            Some(end) => {
                self.position = end;
                Ok(())
            }
            None => Err(io::Error::new(io::ErrorKind::FileTooLarge, "the new archive would be too large")),
        }
    }
}
