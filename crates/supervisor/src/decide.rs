//! Decisions of main: facts and the time come in, steps come out. Nothing here has a process, a socket or a file, so
//! that every decision is tested without any.

pub(crate) mod background;
pub(crate) mod backoff;
pub(crate) mod capacity;
pub(crate) mod changes;
pub(crate) mod descriptors;
pub(crate) mod life;
pub(crate) mod owed;
pub(crate) mod progress;
pub(crate) mod steps;
pub(crate) mod stop;
pub(crate) mod timers;
pub(crate) mod upgrade;
pub(crate) mod worker_end;
pub(crate) mod workers;
