//! Events as dictionaries: what the application is told, and what is read out of what it says.

use corral_worker::warn_once;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMemoryView, PyString};

use crate::{field, lenient};

/// A field of a response.
pub(super) type Field = (Vec<u8>, Vec<u8>);

/// The client has sent some of the body.
pub(super) fn body<'py>(py: Python<'py>, bytes: &[u8], more: bool) -> PyResult<Bound<'py, PyDict>> {
    let event = of(py, "http.request")?;
    event.set_item(pyo3::intern!(py, "body"), PyBytes::new(py, bytes))?;
    event.set_item(pyo3::intern!(py, "more_body"), more)?;
    Ok(event)
}

/// An event that says nothing but its type.
pub(super) fn of<'py>(py: Python<'py>, kind: &str) -> PyResult<Bound<'py, PyDict>> {
    let event = PyDict::new(py);
    event.set_item(pyo3::intern!(py, "type"), PyString::intern(py, kind))?;
    Ok(event)
}

/// A text or binary message of the client.
///
/// # Errors
/// `UnicodeDecodeError` for a text that is none.
pub(super) fn message<'py>(py: Python<'py>, is_text: bool, bytes: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let event = of(py, "websocket.receive")?;
    let (bytes, text) = if is_text {
        (None, Some(PyString::from_bytes(py, bytes)?))
    } else {
        (Some(PyBytes::new(py, bytes)), None)
    };
    event.set_item(pyo3::intern!(py, "bytes"), bytes)?;
    event.set_item(pyo3::intern!(py, "text"), text)?;
    Ok(event)
}

/// The end of a WebSocket connection.
pub(super) fn disconnect<'py>(py: Python<'py>, code: u16, reason: &[u8]) -> PyResult<Bound<'py, PyDict>> {
    let event = of(py, "websocket.disconnect")?;
    event.set_item(pyo3::intern!(py, "code"), code)?;
    event.set_item(pyo3::intern!(py, "reason"), String::from_utf8_lossy(reason))?;
    Ok(event)
}

/// A member that may be absent, or None.
pub(super) fn get<'py>(event: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(event.get_item(PyString::intern(event.py(), name))?.filter(|value| !value.is_none()))
}

/// A member that says yes or no, and no where it is absent.
pub(super) fn flag(event: &Bound<'_, PyDict>, name: &str) -> PyResult<bool> {
    get(event, name)?.map_or(Ok(false), |value| value.is_truthy())
}

/// The status of a response.
pub(super) fn status(event: &Bound<'_, PyDict>) -> PyResult<u16> {
    let status = get(event, "status")?.ok_or_else(|| PyValueError::new_err("a response needs a status"))?;
    let status: u16 = status.extract()?;
    if (200..1000).contains(&status) {
        return Ok(status);
    }
    Err(PyValueError::new_err(format!("{status} is not a status of a response")))
}

/// The links of an early hint: byte strings.
pub(super) fn links(event: &Bound<'_, PyDict>) -> PyResult<Vec<Vec<u8>>> {
    let links = get(event, "links")?.ok_or_else(|| PyValueError::new_err("an early hint needs links"))?;
    links.try_iter()?.map(|link| Ok(bytes_like(&link?, "a link")?.as_bytes().to_vec())).collect()
}

/// The fields of a response: pairs of byte strings.
pub(super) fn headers(event: &Bound<'_, PyDict>) -> PyResult<Vec<Field>> {
    let Some(headers) = get(event, "headers")? else { return Ok(Vec::new()) };
    let mut fields = Vec::with_capacity(headers.len().unwrap_or(8));
    for pair in headers.try_iter()? {
        let pair = pair?;
        let (name, value) = (pair.get_item(0)?, pair.get_item(1)?);
        let what = "names and values of headers";
        let (name, value) = (bytes_of(&name, what)?, bytes_of(&value, what)?);
        if !field::is_sound(&name, &value) {
            return Err(PyValueError::new_err(format!("a header of the response is none of HTTP: {pair:?}")));
        }
        fields.push((name, value));
    }
    Ok(fields)
}

/// Bytes of a body or a message, of whatever type.
pub(super) fn bytes_like<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    if value.is_instance_of::<PyByteArray>() || value.is_instance_of::<PyMemoryView>() {
        return Ok(value.py().get_type::<PyBytes>().call1((value,))?.cast_into()?);
    }
    Err(PyTypeError::new_err(format!("{what} consists of bytes, not of {}", value.get_type())))
}

/// Bytes of a field. A string stands for the bytes of its characters.
fn bytes_of(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_str()?;
        if text.is_ascii() {
            warn_once(lenient::TEXT_FIELDS);
            return Ok(text.as_bytes().to_vec());
        }
    }
    bytes_like(value, what)
        .map(|bytes| bytes.as_bytes().to_vec())
        .map_err(|_| PyTypeError::new_err(format!("{what} are bytes, not {}", value.get_type())))
}
