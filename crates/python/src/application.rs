//! The targets of an application: imported, made by their factories, and looked at.

use corral_config::plan::{PythonProtocol, PythonSpec, PythonTarget};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// A callable that answers requests.
pub(crate) struct Target {
    pub(crate) callable: Py<PyAny>,
    /// What its paths begin with.
    pub(crate) prefix: Option<String>,
}

/// What all targets of an application speak.
pub(crate) struct Application {
    pub(crate) targets: Vec<Target>,
    pub(crate) protocol: PythonProtocol,
}

impl Application {
    /// Imports all targets.
    ///
    /// # Errors
    /// What the application raises, and when a callable is missing or the targets speak different protocols.
    pub(crate) fn import(py: Python<'_>, spec: &PythonSpec) -> PyResult<Self> {
        let mut targets = Vec::with_capacity(spec.targets.len());
        let mut protocol = spec.protocol;
        for target in &spec.targets {
            let callable = import(py, target)?;
            let own = spec.protocol.map_or_else(|| protocol_of(&callable), Ok)?;
            if protocol.is_some_and(|known| known != own) {
                return Err(PyValueError::new_err(
                    "all targets of an application must speak the same protocol, either WSGI or ASGI",
                ));
            }
            protocol = Some(own);
            targets.push(Target { callable: callable.unbind(), prefix: target.prefix.clone() });
        }
        Ok(Self { targets, protocol: protocol.unwrap_or(PythonProtocol::Wsgi) })
    }
}

fn import<'py>(py: Python<'py>, target: &PythonTarget) -> PyResult<Bound<'py, PyAny>> {
    let module = py.import(&*target.module)?;
    let found = module.getattr(&*target.callable)?;
    let callable = if target.factory { found.call0()? } else { found };
    if callable.is_callable() {
        return Ok(callable);
    }
    let what = if target.factory { "what the factory returns" } else { "it" };
    Err(PyTypeError::new_err(format!(
        "\"{}\" of module \"{}\" is no application: {what} cannot be called",
        target.callable, target.module
    )))
}

/// ASGI has a coroutine function, or an object that is called like one.
fn protocol_of(callable: &Bound<'_, PyAny>) -> PyResult<PythonProtocol> {
    let inspect = callable.py().import("inspect")?;
    let is_coroutine = |object: &Bound<'_, PyAny>| -> PyResult<bool> {
        inspect.call_method1("iscoroutinefunction", (object,))?.extract()
    };
    let is_asgi = is_coroutine(callable)?
        || match callable.getattr_opt("__call__")? {
            Some(call) => is_coroutine(&call)?,
            None => false,
        };
    Ok(if is_asgi { PythonProtocol::Asgi } else { PythonProtocol::Wsgi })
}
