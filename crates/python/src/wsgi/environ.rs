//! The dictionary that describes a request.

use std::collections::HashMap;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use corral_channel::message::{RequestView, Version, params};
use corral_worker::cgi;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::Call;
use super::file_wrapper::FileWrapper;
use super::input::Input;
use crate::application::Target;
use crate::prefix::strip_prefix;

/// Names of fields that are remembered as keys. A client that invents more gets them made each time.
const MAX_REMEMBERED: usize = 512;

/// The part of the environment that is the same in all requests.
pub(super) struct Environ {
    template: Py<PyDict>,
    keys: Keys,
    /// Names of request fields, as clients write them, as keys.
    names: Mutex<HashMap<Box<[u8]>, Py<PyString>>>,
    empty_input: Py<Input>,
    values: Values,
}

macro_rules! strings {
    ($type:ident { $($name:ident = $text:literal),* $(,)? }) => {
        struct $type { $($name: Py<PyString>),* }

        impl $type {
            fn new(py: Python<'_>) -> Self {
                Self { $($name: PyString::intern(py, $text).unbind()),* }
            }
        }
    };
}

strings!(Keys {
    request_method = "REQUEST_METHOD",
    request_uri = "REQUEST_URI",
    path_info = "PATH_INFO",
    script_name = "SCRIPT_NAME",
    query_string = "QUERY_STRING",
    content_type = "CONTENT_TYPE",
    content_length = "CONTENT_LENGTH",
    server_name = "SERVER_NAME",
    server_addr = "SERVER_ADDR",
    server_port = "SERVER_PORT",
    server_protocol = "SERVER_PROTOCOL",
    remote_addr = "REMOTE_ADDR",
    remote_port = "REMOTE_PORT",
    remote_user = "REMOTE_USER",
    auth_type = "AUTH_TYPE",
    https = "HTTPS",
    request_scheme = "REQUEST_SCHEME",
    url_scheme = "wsgi.url_scheme",
    input = "wsgi.input",
});

strings!(Values {
    on = "on",
    http = "http",
    https = "https",
    http_1_0 = "HTTP/1.0",
    http_1_1 = "HTTP/1.1",
    http_2 = "HTTP/2.0",
});

impl Environ {
    pub(super) fn new(py: Python<'_>, is_multithreaded: bool) -> PyResult<Self> {
        let template = PyDict::new(py);
        template.set_item("SERVER_SOFTWARE", cgi::SOFTWARE)?;
        template.set_item("GATEWAY_INTERFACE", cgi::GATEWAY_INTERFACE)?;
        template.set_item("SCRIPT_NAME", "")?;
        template.set_item("wsgi.version", PyTuple::new(py, [1, 0])?)?;
        template.set_item("wsgi.errors", py.import("sys")?.getattr("stderr")?)?;
        template.set_item("wsgi.multithread", is_multithreaded)?;
        template.set_item("wsgi.multiprocess", true)?;
        template.set_item("wsgi.run_once", false)?;
        // The end of the body is the end of the input, whether its length was declared or not.
        template.set_item("wsgi.input_terminated", true)?;
        template.set_item("wsgi.file_wrapper", py.get_type::<FileWrapper>())?;
        Ok(Self {
            template: template.unbind(),
            keys: Keys::new(py),
            names: Mutex::default(),
            empty_input: Py::new(py, Input::empty())?,
            values: Values::new(py),
        })
    }

    pub(super) fn build<'py>(
        &self,
        py: Python<'py>,
        request: &RequestView<'_>,
        target: &Target,
        call: &Arc<Call>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let environ = self.template.bind(py).copy()?;
        let (head, keys) = (&request.head, &self.keys);
        let set = |key: &Py<PyString>, value: &[u8]| environ.set_item(key, latin1(py, value)?);
        set(&keys.request_method, head.method)?;
        set(&keys.request_uri, head.target)?;
        set(&keys.query_string, head.query)?;
        set(&keys.remote_addr, head.remote_addr)?;
        if head.remote_port != 0 {
            set(&keys.remote_port, itoa::Buffer::new().format(head.remote_port).as_bytes())?;
        }
        for (key, value) in [(&keys.remote_user, head.remote_user), (&keys.auth_type, head.auth_type)] {
            if !value.is_empty() {
                set(key, value)?;
            }
        }
        set(&keys.server_addr, head.local_addr)?;
        set(&keys.server_port, cgi::server_port(&request.head, &mut itoa::Buffer::new()).as_bytes())?;
        set(&keys.server_name, cgi::server_name(&request.head))?;
        match strip_prefix(head.path, target.prefix.as_deref()) {
            Some((prefix, rest)) => {
                set(&keys.script_name, prefix)?;
                set(&keys.path_info, rest)?;
            }
            None => set(&keys.path_info, head.path)?,
        }
        if let Some(length) = head.content_length {
            set(&keys.content_length, itoa::Buffer::new().format(length).as_bytes())?;
        }
        self.set_scheme(request, &environ)?;
        self.set_input(py, request, call, &environ)?;
        self.add_fields(py, request, &environ)?;
        set_params(py, head.params, &environ)?;
        Ok(environ)
    }

    fn set_scheme(&self, request: &RequestView<'_>, environ: &Bound<'_, PyDict>) -> PyResult<()> {
        let (keys, values) = (&self.keys, &self.values);
        let protocol = match request.head.version {
            Version::Http10 => &values.http_1_0,
            Version::Http11 => &values.http_1_1,
            Version::Http2 => &values.http_2,
        };
        environ.set_item(&keys.server_protocol, protocol)?;
        if request.head.tls {
            environ.set_item(&keys.https, &values.on)?;
        }
        let scheme = if request.head.tls { &values.https } else { &values.http };
        environ.set_item(&keys.request_scheme, scheme)?;
        environ.set_item(&keys.url_scheme, scheme)
    }

    fn set_input(
        &self,
        py: Python<'_>,
        request: &RequestView<'_>,
        call: &Arc<Call>,
        environ: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        if request.head.body_complete && request.body.is_empty() {
            return environ.set_item(&self.keys.input, &self.empty_input);
        }
        environ.set_item(&self.keys.input, Bound::new(py, Input::of(call))?)
    }

    fn add_fields(
        &self,
        py: Python<'_>,
        request: &RequestView<'_>,
        environ: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        for (name, value) in request.fields {
            let value = latin1(py, value)?;
            if name.eq_ignore_ascii_case(b"content-type") {
                environ.set_item(&self.keys.content_type, value)?;
            } else if !name.eq_ignore_ascii_case(b"content-length") {
                let key = self.key_of(py, name)?;
                match environ.get_item(&key)? {
                    None => environ.set_item(key, value)?,
                    Some(before) => {
                        let glue = if name.eq_ignore_ascii_case(b"cookie") { "; " } else { ", " };
                        environ.set_item(key, before.add(glue)?.add(value)?)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// `HTTP_ACCEPT_LANGUAGE` for `Accept-Language`.
    fn key_of<'py>(&self, py: Python<'py>, name: &[u8]) -> PyResult<Bound<'py, PyString>> {
        let mut names = self.names.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return Ok(known.bind(py).clone());
        }
        let upper = name.iter().map(|&byte| if byte == b'-' { b'_' } else { byte.to_ascii_uppercase() });
        let key = latin1(py, &b"HTTP_".iter().copied().chain(upper).collect::<Vec<_>>())?;
        if names.len() < MAX_REMEMBERED {
            names.insert(name.into(), key.clone().unbind());
        }
        Ok(key)
    }
}

/// The variables of the configuration.
fn set_params(py: Python<'_>, params: &[u8], environ: &Bound<'_, PyDict>) -> PyResult<()> {
    for (name, value) in params::iter(params) {
        let name = latin1(py, name)?;
        match value {
            Some(value) => environ.set_item(name, latin1(py, value)?)?,
            None if environ.contains(&name)? => environ.del_item(name)?,
            None => {}
        }
    }
    Ok(())
}

/// Bytes as WSGI has them in strings: each is the character with its number.
fn latin1<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    let len = bytes.len().cast_signed();
    // SAFETY: `bytes` are readable during the call.
    let text = unsafe { ffi::PyUnicode_DecodeLatin1(bytes.as_ptr().cast(), len, ptr::null()) };
    // SAFETY: a new reference, or none with an exception set.
    let text = unsafe { Bound::from_owned_ptr_or_err(py, text)? };
    Ok(text.cast_into()?)
}
