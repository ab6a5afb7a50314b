//! The dictionary that describes a request (ASGI 3, HTTP and WebSocket 2.4).

use corral_channel::message::{RequestView, Version, params};
use corral_worker::cgi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::prefix::strip_prefix;

/// The parts of a scope that are the same in all requests.
pub(super) struct Scopes {
    http: Py<PyDict>,
    /// With what a client of HTTP/1.0 does not know left out.
    http_1_0: Py<PyDict>,
    websocket: Py<PyDict>,
    prefixes: Vec<Option<String>>,
    /// The state that the lifespan of each target has kept for its requests, if it knows that protocol.
    states: Vec<Option<Py<PyDict>>>,
}

impl Scopes {
    pub(super) fn new(
        py: Python<'_>,
        prefixes: Vec<Option<String>>,
        states: Vec<Option<Py<PyDict>>>,
    ) -> PyResult<Self> {
        let template = |kind: &str, extensions: &[&str]| -> PyResult<Py<PyDict>> {
            let scope = PyDict::new(py);
            let asgi = PyDict::new(py);
            asgi.set_item("version", "3.0")?;
            asgi.set_item("spec_version", "2.4")?;
            let known = PyDict::new(py);
            extensions.iter().try_for_each(|name| known.set_item(name, PyDict::new(py)))?;
            scope.set_item("type", kind)?;
            scope.set_item("asgi", asgi)?;
            scope.set_item("extensions", known)?;
            scope.set_item("root_path", "")?;
            Ok(scope.unbind())
        };
        Ok(Self {
            http: template(
                "http",
                &["http.response.pathsend", "http.response.early_hint", "http.response.trailers"],
            )?,
            http_1_0: template("http", &["http.response.pathsend"])?,
            websocket: template("websocket", &["websocket.http.response"])?,
            prefixes,
            states,
        })
    }

    /// Whether there is such a target.
    pub(super) fn has(&self, target: usize) -> bool {
        target < self.prefixes.len()
    }

    pub(super) fn build(
        &self,
        py: Python<'_>,
        request: &RequestView<'_>,
        target: usize,
    ) -> PyResult<Py<PyDict>> {
        let head = &request.head;
        let template = match (head.websocket, head.version) {
            (true, _) => &self.websocket,
            (false, Version::Http10) => &self.http_1_0,
            (false, _) => &self.http,
        };
        let scope = template.bind(py).copy()?;
        let text = |bytes: &[u8]| PyString::new(py, &String::from_utf8_lossy(bytes));
        scope.set_item(pyo3::intern!(py, "http_version"), version(py, head.version))?;
        scope.set_item(pyo3::intern!(py, "scheme"), scheme(py, head.tls, head.websocket))?;
        if !head.websocket {
            scope.set_item(pyo3::intern!(py, "method"), text(head.method))?;
        }
        scope.set_item(pyo3::intern!(py, "path"), text(head.path))?;
        scope.set_item(pyo3::intern!(py, "raw_path"), PyBytes::new(py, raw_path(head.target)))?;
        scope.set_item(pyo3::intern!(py, "query_string"), PyBytes::new(py, head.query))?;
        if let Some((prefix, _)) = strip_prefix(head.path, self.prefixes[target].as_deref()) {
            scope.set_item(pyo3::intern!(py, "root_path"), text(prefix))?;
        }
        scope.set_item(pyo3::intern!(py, "headers"), headers(py, request)?)?;
        scope.set_item(pyo3::intern!(py, "client"), client(py, request)?)?;
        scope.set_item(pyo3::intern!(py, "server"), server(py, request)?)?;
        if head.websocket {
            scope.set_item(pyo3::intern!(py, "subprotocols"), subprotocols(py, request)?)?;
        }
        if !head.params.is_empty() {
            add_params(py, head.params, &scope)?;
        }
        if let Some(state) = &self.states[target] {
            scope.set_item(pyo3::intern!(py, "state"), state.bind(py).copy()?)?;
        }
        Ok(scope.unbind())
    }
}

/// The variables of the configuration, which ASGI has no place for, as an extension, without those that are taken away.
fn add_params(py: Python<'_>, params: &[u8], scope: &Bound<'_, PyDict>) -> PyResult<()> {
    let text = |bytes: &[u8]| PyString::new(py, &String::from_utf8_lossy(bytes));
    let variables = PyDict::new(py);
    for (name, value) in params::iter(params) {
        if let Some(value) = value {
            variables.set_item(text(name), text(value))?;
        }
    }
    let name = pyo3::intern!(py, "extensions");
    let extensions = match scope.get_item(name)? {
        Some(known) => known.cast_into::<PyDict>()?.copy()?,
        None => PyDict::new(py),
    };
    extensions.set_item(pyo3::intern!(py, "corral.params"), variables)?;
    scope.set_item(name, extensions)
}

fn version(py: Python<'_>, version: Version) -> &Bound<'_, PyString> {
    match version {
        Version::Http10 => pyo3::intern!(py, "1.0"),
        Version::Http11 => pyo3::intern!(py, "1.1"),
        Version::Http2 => pyo3::intern!(py, "2"),
    }
}

fn scheme(py: Python<'_>, tls: bool, websocket: bool) -> &Bound<'_, PyString> {
    match (websocket, tls) {
        (false, false) => pyo3::intern!(py, "http"),
        (false, true) => pyo3::intern!(py, "https"),
        (true, false) => pyo3::intern!(py, "ws"),
        (true, true) => pyo3::intern!(py, "wss"),
    }
}

/// The path as the client has sent it.
fn raw_path(target: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'?', target).unwrap_or(target.len());
    &target[..end]
}

/// Names in lower case; each field for itself, in order.
fn headers<'py>(py: Python<'py>, request: &RequestView<'_>) -> PyResult<Bound<'py, PyList>> {
    let headers = PyList::empty(py);
    for (name, value) in request.fields {
        let name = PyBytes::new_with(py, name.len(), |lower| {
            lower.copy_from_slice(name);
            lower.make_ascii_lowercase();
            Ok(())
        })?;
        headers.append(PyTuple::new(py, [name, PyBytes::new(py, value)])?)?;
    }
    Ok(headers)
}

/// The client's address. The port is not known here (contract 22.2).
fn client<'py>(py: Python<'py>, request: &RequestView<'_>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let address = request.head.remote_addr;
    let is_known = !address.is_empty() && !address.starts_with(b"unix:");
    let port = request.head.remote_port;
    is_known.then(|| (String::from_utf8_lossy(address), port).into_pyobject(py)).transpose()
}

fn server<'py>(py: Python<'py>, request: &RequestView<'_>) -> PyResult<Bound<'py, PyTuple>> {
    let address = request.head.local_addr;
    if let Some(path) = address.strip_prefix(b"unix:") {
        return (String::from_utf8_lossy(path), py.None()).into_pyobject(py);
    }
    if address.is_empty() {
        let port: u16 = cgi::server_port(&request.head, &mut itoa::Buffer::new()).parse().unwrap_or(0);
        return (String::from_utf8_lossy(cgi::server_name(&request.head)), port).into_pyobject(py);
    }
    (String::from_utf8_lossy(address), request.head.local_port).into_pyobject(py)
}

fn subprotocols<'py>(py: Python<'py>, request: &RequestView<'_>) -> PyResult<Bound<'py, PyList>> {
    let named = request.fields.filter(|(name, _)| name.eq_ignore_ascii_case(b"sec-websocket-protocol"));
    let names: Vec<String> = named
        .flat_map(|(_, value)| value.split(|byte| *byte == b','))
        .map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned())
        .filter(|name| !name.is_empty())
        .collect();
    PyList::new(py, names)
}
