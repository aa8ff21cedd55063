//! The body of an answer, piece by piece.

#[cfg(target_family = "wasm")]
use super::system;
use crate::Error;

/// What is still to be read of an answer.
#[derive(Debug)]
pub struct Body(Source);

#[derive(Debug)]
enum Source {
    Bytes(Vec<u8>),
    #[cfg(target_family = "wasm")]
    Stream(system::Stream),
}

impl Body {
    pub(crate) fn of(bytes: Vec<u8>) -> Body {
        Body(Source::Bytes(bytes))
    }

    #[cfg(target_family = "wasm")]
    pub(super) fn streaming(stream: system::Stream) -> Body {
        Body(Source::Stream(stream))
    }

    /// The next piece; empty at the end.
    pub fn read_chunk(&mut self) -> Result<Vec<u8>, Error> {
        match &mut self.0 {
            Source::Bytes(bytes) => Ok(std::mem::take(bytes)),
            #[cfg(target_family = "wasm")]
            Source::Stream(stream) => stream.read_chunk(),
        }
    }
}
