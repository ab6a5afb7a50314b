//! The only caller of libc: descriptors, memory, signals, processes and credentials as owned safe types.
