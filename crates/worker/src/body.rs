//! Bytes of a request's body that may lie behind its head, where they arrived.

use std::ops::Deref;
use std::sync::Arc;

/// A piece of a request's body.
#[derive(Debug, Clone)]
pub struct Body {
    /// With something else in front.
    bytes: Arc<Vec<u8>>,
    from: usize,
}

impl Body {
    /// The last `len` bytes.
    pub(crate) fn end_of(bytes: &Arc<Vec<u8>>, len: usize) -> Self {
        Self { bytes: Arc::clone(bytes), from: bytes.len() - len }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: Arc::new(bytes), from: 0 }
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}
