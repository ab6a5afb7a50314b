//! Buffers that an event loop uses again and again, so that a request allocates next to nothing and an
//! idle connection holds none.
//!
//! There are small and large ones, so that what a busy moment leaves behind is not all as large as its largest.

use std::cell::RefCell;

/// What a fresh small buffer holds without growing: a typical head.
const SMALL_CAPACITY: usize = 4 * 1024;

/// A small buffer may grow up to this: a TLS record with what belongs to it.
const MAX_SMALL_CAPACITY: usize = 20 * 1024;

/// What a large buffer has room for.
pub(crate) const LARGE_CAPACITY: usize = 64 * 1024;

/// Small buffers that are kept; more are returned to the allocator.
const MAX_SMALL: usize = 64;

/// Large buffers that are kept. They are in use only while there is something to put into them.
const MAX_LARGE: usize = 8;

thread_local! {
    static SMALL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static LARGE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer.
pub(crate) fn take() -> Vec<u8> {
    SMALL.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(SMALL_CAPACITY))
}

/// An empty buffer with room for `LARGE_CAPACITY` bytes.
pub(crate) fn take_large() -> Vec<u8> {
    LARGE.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(LARGE_CAPACITY))
}

/// Gives a buffer of either kind back.
pub(crate) fn give(mut buffer: Vec<u8>) {
    buffer.clear();
    match buffer.capacity() {
        1..=MAX_SMALL_CAPACITY => SMALL.with_borrow_mut(|kept| keep(kept, MAX_SMALL, buffer)),
        LARGE_CAPACITY => LARGE.with_borrow_mut(|kept| keep(kept, MAX_LARGE, buffer)),
        _ => {}
    }
}

fn keep(kept: &mut Vec<Vec<u8>>, max: usize, buffer: Vec<u8>) {
    if kept.len() < max {
        kept.push(buffer);
    }
}
