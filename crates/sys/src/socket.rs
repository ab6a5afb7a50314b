//! Socket pairs that carry datagrams and descriptors.
