//! Where bytes wait: buffers that are used again, a bound on all of them, and unlinked files.

pub(crate) mod buffered;
pub(crate) mod buffers;
pub(crate) mod spool;
pub(crate) mod temp;
