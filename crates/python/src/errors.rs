//! Exceptions of Python as text for the log.

use pyo3::exceptions::PySystemExit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// An exception with its traceback, as Python prints it. What cannot be formatted is told by its type.
pub(crate) fn traceback(py: Python<'_>, error: &PyErr) -> String {
    format(py, error).unwrap_or_else(|_| error.get_type(py).to_string())
}

/// As an error of this program.
pub(crate) fn describe(py: Python<'_>, error: &PyErr) -> anyhow::Error {
    anyhow::anyhow!("{}", traceback(py, error))
}

/// Whether the application wants its process to end.
pub(crate) fn is_exit(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PySystemExit>(py)
}

fn format(py: Python<'_>, error: &PyErr) -> PyResult<String> {
    static FORMAT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let format = FORMAT.import(py, "traceback", "format_exception")?;
    let lines = format.call1((error.get_type(py), error.value(py), error.traceback(py)))?;
    let text: Vec<String> = lines.extract()?;
    Ok(text.concat().trim_end().to_owned())
}
