//! Bytes on their way into frames.

use std::io::IoSlice;
use std::rc::Rc;

use bytes::Buf;

use super::unsent::UnsentBytes;
use crate::storage::buffers;

/// Memory of a piece beside its bytes, about: its frame, and its place among those of its connection.
const OVERHEAD: usize = 320;

/// Bytes that count as unsent as long as they are there.
pub(super) struct UnsentPiece {
    bytes: Vec<u8>,
    n_used: usize,
    unsent: Rc<UnsentBytes>,
}

impl UnsentPiece {
    pub(super) fn new(bytes: Vec<u8>, unsent: &Rc<UnsentBytes>) -> Self {
        unsent.add(bytes.len() + OVERHEAD);
        Self { bytes, n_used: 0, unsent: Rc::clone(unsent) }
    }

    /// The first `len` bytes of the pieces, or all.
    pub(super) fn copy_of<'p>(
        pieces: impl IntoIterator<Item = &'p [u8]>,
        len: usize,
        unsent: &Rc<UnsentBytes>,
    ) -> Self {
        let mut bytes = Vec::with_capacity(len);
        for piece in pieces {
            let room = len - bytes.len();
            bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        Self::new(bytes, unsent)
    }
}

impl Drop for UnsentPiece {
    fn drop(&mut self) {
        self.unsent.remove(self.bytes.len() + OVERHEAD);
        buffers::give(std::mem::take(&mut self.bytes));
    }
}

impl Buf for UnsentPiece {
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
