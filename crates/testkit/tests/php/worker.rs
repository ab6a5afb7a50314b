//! Scripts that stay in memory.

mod errors;
mod extensions;
mod input;
mod life;
mod output;
mod settings;
mod state;
mod streaming;
mod suite;
mod variables;
