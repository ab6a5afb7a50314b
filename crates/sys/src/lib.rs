//! The only caller of libc: descriptors, memory, signals, processes and credentials as owned safe types.

pub mod aside;
pub mod confined;
pub mod doorbell;
pub mod eventfd;
pub mod file;
pub mod folder;
pub mod futex;
pub mod heap;
pub mod isolation;
pub mod landlock;
pub mod linkage;
pub mod listen;
pub mod machine;
pub mod memory;
pub mod poll;
pub mod process;
pub mod sealed;
pub mod seccomp;
pub mod sendable;
pub mod signal;
pub mod socket;
pub mod spawn;
pub mod usage;
pub mod user;
#[cfg(feature = "tokio")]
pub mod watched;
