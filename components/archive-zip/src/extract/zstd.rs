//! Zstandard: one frame behind the other, as parallel writers leave them, with what they put between them left out.

use std::io::{self, ErrorKind, Read};

use ruzstd::decoding::errors::{FrameDecoderError, FrameHeaderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::decoder::MAX_DICTIONARY;
use super::input::Input;
use crate::bytes::Bytes;

pub struct Zstd<'w, 'a, B: Bytes + ?Sized> {
    input: Input<'w, 'a, B>,
    decoder: FrameDecoder,
    has_begun: bool,
}

impl<'w, 'a, B: Bytes + ?Sized> Zstd<'w, 'a, B> {
    pub fn new(input: Input<'w, 'a, B>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(u64::from(MAX_DICTIONARY));
        Self { input, decoder, has_begun: false }
    }

    fn begin_frame(&mut self) -> io::Result<()> {
        match self.decoder.reset(&mut self.input) {
            Ok(()) => self.has_begun = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                self.input.skip(u64::from(length));
            }
            Err(
                FrameDecoderError::WindowSizeTooBig { .. }
                | FrameDecoderError::FrameHeaderError(FrameHeaderError::WindowTooBig { .. }),
            ) => return Err(ErrorKind::OutOfMemory.into()),
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(())
    }
}

impl<B: Bytes + ?Sized> Read for Zstd<'_, '_, B> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.has_begun && self.decoder.can_collect() > 0 {
                return self.decoder.read(room);
            }
            if self.has_begun && !self.decoder.is_finished() {
                // Block by block, so that no more is held than the window and one block.
                self.decoder.decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1)).map_err(io::Error::other)?;
            } else if self.input.is_empty() {
                return Ok(0);
            } else {
                self.begin_frame()?;
            }
        }
    }
}
