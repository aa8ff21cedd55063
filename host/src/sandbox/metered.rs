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
    /// How long the file will be when the writes that were accepted are done.
    length: u64,
    allowance: Arc<Mutex<Allowance>>,
}

impl Metered {
    pub fn new(inner: DynOutputStream, file: Arc<File>, position: Option<u64>, allowance: Arc<Mutex<Allowance>>) -> Metered {
        Metered { inner, file, position, length: 0, allowance }
    }

    fn charge(&mut self, written: u64) -> StreamResult<()> {
        let length = self.file.metadata().map_err(|error| StreamError::LastOperationFailed(error.into()))?.len().max(self.length);
        let end = self.position.unwrap_or(length).saturating_add(written);
        let growth = end.saturating_sub(length);
        charge(&self.allowance, Usage { bytes: growth, files: 0 })
            .map_err(|error| StreamError::LastOperationFailed(error.into()))?;
        self.length = end.max(length);
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
