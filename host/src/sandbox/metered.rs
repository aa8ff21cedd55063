//! A file's output stream with the session's quota in front of it.

use std::fs::File;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

use crate::workspace::quota::{Allowance, Usage};

/// Charges what a write adds to the file before it is done.
pub struct Metered {
    inner: DynOutputStream,
    file: Arc<File>,
    /// Where the next write goes; `None` for the end of the file.
    position: Option<u64>,
    allowance: Arc<Mutex<Allowance>>,
}

impl Metered {
    pub fn new(inner: DynOutputStream, file: Arc<File>, position: Option<u64>, allowance: Arc<Mutex<Allowance>>) -> Metered {
        Metered { inner, file, position, allowance }
    }

    /// A stream takes a write only when the one before is done, so the file's own length is the truth. Remembering it here
    /// would let a guest shrink the file behind our back and write again for free.
    fn charge(&mut self, written: u64) -> StreamResult<()> {
        let failed = |error: std::io::Error| StreamError::LastOperationFailed(error.into());
        let length = self.file.metadata().map_err(failed)?.len();
        let end = self.position.unwrap_or(length).saturating_add(written);
        charge(&self.allowance, Usage { bytes: end.saturating_sub(length), files: 0 }).map_err(failed)?;
        if let Some(position) = &mut self.position {
            *position = end;
        }
        Ok(())
    }
}

/// Takes from the allowance, or says what a full quota says.
pub fn charge(allowance: &Mutex<Allowance>, needed: Usage) -> std::io::Result<()> {
    let mut allowance = allowance.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    allowance.take(needed).map_err(|_| rustix::io::Errno::DQUOT.into())
}

#[async_trait::async_trait]
impl OutputStream for Metered {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.charge(bytes.len() as u64)?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.inner.check_write()
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.charge(bytes.len() as u64)?;
        self.inner.blocking_write_and_flush(bytes).await
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}

#[async_trait::async_trait]
impl Pollable for Metered {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}
