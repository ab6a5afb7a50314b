//! Who runs what, and what is in reach of whom.

mod beyond;
mod namespaces;
mod rootfs;
mod users;
