//! Buffers that an event loop uses again and again, so that a request allocates next to nothing and an
//! idle connection holds none.

use std::cell::RefCell;

/// Buffers that are kept; more are returned to the allocator.
const MAX_KEPT: usize = 64;

/// A buffer that has grown beyond this is not kept.
const MAX_CAPACITY: usize = 64 * 1024;

/// What a fresh buffer holds without growing: a typical head.
const INITIAL_CAPACITY: usize = 4 * 1024;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer.
pub(crate) fn take() -> Vec<u8> {
    KEPT.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(INITIAL_CAPACITY))
}

/// Gives a buffer back.
pub(crate) fn give(mut buffer: Vec<u8>) {
    if buffer.capacity() == 0 || buffer.capacity() > MAX_CAPACITY {
        return;
    }
    buffer.clear();
    KEPT.with_borrow_mut(|kept| {
        if kept.len() < MAX_KEPT {
            kept.push(buffer);
        }
    });
}
