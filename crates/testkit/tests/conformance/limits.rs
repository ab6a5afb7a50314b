//! Limits: what clients may take together, and what an idle server takes.

mod clients;
mod descriptors;
mod idle;
mod linear;
