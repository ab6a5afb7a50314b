//! Bytes on their way into frames.

use std::io::IoSlice;

use bytes::Buf;

use crate::storage::buffers;

/// Bytes in a buffer that others use after it.
pub(super) struct Piece {
    bytes: Vec<u8>,
    n_used: usize,
}

impl Piece {
    /// What the pieces hold, up to `len` bytes.
    pub(super) fn copy_of<'p>(pieces: impl IntoIterator<Item = &'p [u8]>, len: usize) -> Self {
        let mut bytes = if len > buffers::SMALL_CAPACITY { buffers::take_large() } else { buffers::take() };
        for piece in pieces {
            let room = len - bytes.len();
            bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        bytes.into()
    }
}

impl From<Vec<u8>> for Piece {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, n_used: 0 }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.bytes));
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.len() - self.n_used
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes[self.n_used..]
    }

    fn advance(&mut self, n: usize) {
        self.n_used += n;
        assert!(self.n_used <= self.bytes.len(), "more than there is");
    }

    fn chunks_vectored<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        match out.first_mut() {
            Some(first) if self.has_remaining() => {
                *first = IoSlice::new(self.chunk());
                1
            }
            _ => 0,
        }
    }
}
