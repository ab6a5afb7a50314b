//! Applications whose code is hostile: it says to main what it likes, with any descriptor.

mod attack;
mod numbers;
