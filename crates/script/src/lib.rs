//! JavaScript in configurations (contract 14.2): template literals and the modules that they call.
//!
//! A script sees a [`ScopeRequest`], whose values come from the caller. One [`Engine`] serves one thread and one
//! configuration.

#![forbid(unsafe_code)]

mod check;
mod engine;
mod machine;
mod modules;
mod scope;
mod text;

pub use check::{check_module, check_template};
pub use engine::{CompiledProgram, Engine, LoadedModule, ScriptLimits};
pub use machine::{ModuleError, ScriptException};
pub use scope::{Lookup, ScopePair, ScopeRequest};
