//! Buffers that an event loop uses again and again, so that a request allocates next to nothing and an
//! idle connection holds none.
//!
//! Buffers have three sizes, so that what a busy moment leaves behind is not all as large as its largest, and what
//! waits for a client takes little.

use std::cell::RefCell;
use std::mem;
use std::ops::Deref;

/// A fresh buffer for a line or a few holds this without growing: a path, or the fields of a reply.
const LINE_CAPACITY: usize = 1024;

/// Bytes that a fresh small buffer holds without growing: a typical head.
pub(crate) const SMALL_CAPACITY: usize = 4 * 1024;

/// A small buffer may grow up to this: a TLS record with what belongs to it.
const MAX_SMALL_CAPACITY: usize = 20 * 1024;

/// Room of a large buffer: for a body that travels with its head in one piece, and the head of a request with it.
pub(crate) const LARGE_CAPACITY: usize = corral_channel::MAX_INLINE_BODY + MAX_SMALL_CAPACITY;

/// Buffers for lines that are kept, and small ones; more are returned to the allocator.
const MAX_SMALL: usize = 64;

/// Large buffers that are kept. They are in use only while there is something to put into them.
const MAX_LARGE: usize = 8;

thread_local! {
    static LINES: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static SMALL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static LARGE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer for a line.
pub(crate) fn take_line() -> Vec<u8> {
    LINES.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(LINE_CAPACITY))
}

/// An empty buffer.
pub(crate) fn take() -> Vec<u8> {
    SMALL.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(SMALL_CAPACITY))
}

/// An empty buffer with room for `LARGE_CAPACITY` bytes.
pub(crate) fn take_large() -> Vec<u8> {
    LARGE.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(LARGE_CAPACITY))
}

/// Gives a buffer of any kind back.
pub(crate) fn give(mut buffer: Vec<u8>) {
    buffer.clear();
    match buffer.capacity() {
        LINE_CAPACITY..SMALL_CAPACITY => LINES.with_borrow_mut(|kept| keep(kept, MAX_SMALL, buffer)),
        SMALL_CAPACITY..=MAX_SMALL_CAPACITY => SMALL.with_borrow_mut(|kept| keep(kept, MAX_SMALL, buffer)),
        LARGE_CAPACITY => LARGE.with_borrow_mut(|kept| keep(kept, MAX_LARGE, buffer)),
        _ => {}
    }
}

/// Whether it is one of the large ones.
pub(crate) fn is_large(buffer: &Vec<u8>) -> bool {
    buffer.capacity() >= LARGE_CAPACITY
}

/// Frees a large buffer for other uses; what is in it goes to a small one, which has no more memory than it needs.
pub(crate) fn make_small(buffer: &mut Vec<u8>) {
    if is_large(buffer) {
        *buffer = Rest::from(mem::take(buffer)).into_small();
    }
}

/// A buffer whose first bytes have been used, and need not be moved out of the way for that.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    buffer: Vec<u8>,
    start: usize,
}

impl Rest {
    /// The bytes behind the first `start` ones.
    pub(crate) fn new(buffer: Vec<u8>, start: usize) -> Self {
        debug_assert!(start <= buffer.len());
        Self { buffer, start }
    }

    /// The memory that it takes, in bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// A buffer of what there is, to change it.
    pub(crate) fn to_mut(&mut self) -> &mut Vec<u8> {
        self.buffer.drain(..mem::take(&mut self.start));
        &mut self.buffer
    }

    /// The same, as its own.
    pub(crate) fn into_vec(mut self) -> Vec<u8> {
        mem::take(self.to_mut())
    }

    /// A copy of what there is, in a small buffer.
    pub(crate) fn into_small(self) -> Vec<u8> {
        let mut small = Vec::new();
        if !self.is_empty() {
            small = take();
            small.extend_from_slice(&self);
        }
        self.give();
        small
    }

    /// Gives the buffer back.
    pub(crate) fn give(self) {
        give(self.buffer);
    }
}

impl Deref for Rest {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

impl From<Vec<u8>> for Rest {
    fn from(buffer: Vec<u8>) -> Self {
        Self { buffer, start: 0 }
    }
}

fn keep(kept: &mut Vec<Vec<u8>>, max: usize, buffer: Vec<u8>) {
    if kept.len() < max {
        kept.push(buffer);
    }
}
