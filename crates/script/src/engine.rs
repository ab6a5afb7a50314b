//! A thread's JavaScript of a configuration: a machine that is made when it is first needed and made anew when a script
//! has spoilt it.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use crate::machine::{Machine, ModuleError, ScriptException};
use crate::scope::ScopeRequest;

/// An ES module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedModule {
    /// The name by which others import it, and of its exports in templates.
    pub name: String,
    /// The module's text.
    pub source: Vec<u8>,
}

/// Bounds on scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Bytes of one event loop's scripts together.
    pub memory: usize,
    /// For one evaluation.
    pub time: Duration,
}

/// The JavaScript of one configuration, shared by all event loops.
#[derive(Debug)]
pub struct CompiledProgram {
    pub(crate) modules: Vec<LoadedModule>,
    pub(crate) limits: ScriptLimits,
}

impl CompiledProgram {
    /// Loads the modules once to see that they can be.
    ///
    /// # Errors
    ///
    /// When a module does not compile, imports what does not exist, or throws.
    pub fn new(modules: Vec<LoadedModule>, limits: ScriptLimits) -> Result<Arc<Self>, ModuleError> {
        let program = Self { modules, limits };
        if !program.modules.is_empty() {
            Machine::new(&program)?;
        }
        Ok(Arc::new(program))
    }
}

/// Evaluates the templates of one configuration on one thread.
pub struct Engine {
    program: Arc<CompiledProgram>,
    machine: RefCell<Option<Machine>>,
}

impl Engine {
    /// Costs nothing until the first evaluation.
    #[must_use]
    pub fn new(program: Arc<CompiledProgram>) -> Self {
        Self { program, machine: RefCell::new(None) }
    }

    /// Appends the value of `source`, a template literal. Blocks for at most the time limit.
    ///
    /// # Errors
    ///
    /// When the script throws or exceeds a limit; nothing is appended then.
    pub fn evaluate(
        &self,
        source: &[u8],
        request: &mut dyn ScopeRequest,
        out: &mut Vec<u8>,
    ) -> Result<(), ScriptException> {
        let mut machine = self.machine.borrow_mut();
        let ready = match &mut *machine {
            Some(machine) => machine,
            none => {
                let made = Machine::new(&self.program);
                none.insert(made.map_err(|error| ScriptException(error.to_string()))?)
            }
        };
        let result = ready.evaluate(source, request, out);
        if ready.is_spent() {
            *machine = None;
        }
        result
    }
}

#[cfg(test)]
mod tests;
