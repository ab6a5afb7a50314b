//! The targets of an application: imported, made by their factories, and looked at.

use corral_config::plan::{PythonProtocol, PythonSpec, PythonTarget};
use pyo3::exceptions::{PyAttributeError, PyModuleNotFoundError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A callable that answers requests.
pub(crate) struct Target {
    pub(crate) callable: Py<PyAny>,
    /// The prefix of its paths.
    pub(crate) prefix: Option<String>,
}

/// All targets of an application, with the interface that they have.
pub(crate) struct ImportedCallable {
    pub(crate) targets: Vec<Target>,
    pub(crate) protocol: PythonProtocol,
}

impl ImportedCallable {
    /// Imports all targets.
    ///
    /// # Errors
    /// When the application raises an exception, a callable is missing, or the targets have different interfaces.
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
    let module = py.import(&*target.module).map_err(|error| missing_module(py, error, target))?;
    let found =
        module.getattr(&*target.callable).map_err(|error| missing_callable(py, error, &module, target))?;
    let callable = if target.factory { found.call0()? } else { found };
    if callable.is_callable() {
        return Ok(callable);
    }
    let what = if target.factory { "what the factory returns" } else { "it" };
    Err(PyTypeError::new_err(format!(
        "\"{}\" of module \"{}\" is not an application: {what} cannot be called",
        target.callable, target.module
    )))
}

/// Servers that are started with `app:app` have taught many to write that.
fn missing_module(py: Python<'_>, error: PyErr, target: &PythonTarget) -> PyErr {
    match target.module.split_once(':') {
        Some((module, callable)) if error.is_instance_of::<PyModuleNotFoundError>(py) => {
            PyModuleNotFoundError::new_err(format!(
                "No module named '{}': write \"module\": \"{module}\", \"callable\": \"{callable}\"",
                target.module
            ))
        }
        _ => error,
    }
}

/// `error` is that of the attribute: nothing of the application has run.
fn missing_callable(
    py: Python<'_>,
    error: PyErr,
    module: &Bound<'_, PyModule>,
    target: &PythonTarget,
) -> PyErr {
    if !error.is_instance_of::<PyAttributeError>(py) {
        return error;
    }
    let usual = USUAL_NAMES.iter().find(|name| module.hasattr(**name).unwrap_or(false));
    let advice = usual.map_or_else(String::new, |name| format!(", it has \"{name}\""));
    PyAttributeError::new_err(format!(
        "module '{}' has no attribute '{}': \"callable\" names the application{advice}",
        target.module, target.callable
    ))
}

/// Usual names of applications and their factories.
const USUAL_NAMES: &[&str] = &["application", "app", "create_app", "make_app", "asgi", "wsgi"];

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
    let is_asgi = is_asgi || takes_one(&inspect, callable).unwrap_or(false);
    Ok(if is_asgi { PythonProtocol::Asgi } else { PythonProtocol::Wsgi })
}

/// Whether it is called with one argument, which is the scope of ASGI 2; WSGI has two. A class is told by its objects.
fn takes_one(inspect: &Bound<'_, PyModule>, callable: &Bound<'_, PyAny>) -> PyResult<bool> {
    let signature = inspect.call_method1("signature", (callable,))?;
    let bound = |n: usize| signature.call_method1("bind", PyTuple::new(callable.py(), vec![0; n])?);
    Ok(bound(1).is_ok() && bound(2).is_err())
}
