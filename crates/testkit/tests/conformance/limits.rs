//! What clients may take together, and what a server takes that has nothing to do.

mod clients;
mod descriptors;
mod idle;
mod linear;
