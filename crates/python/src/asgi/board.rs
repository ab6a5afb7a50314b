//! The channel as the event loop sees it.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_channel::message;
use corral_worker::{Event, RequestKey, Switchboard};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::request::Request;
use super::scope::Scopes;

/// What requests share.
pub(super) type Line = Arc<Mutex<Switchboard>>;

/// Requests that have ended.
pub(super) type Ended = Arc<Mutex<Vec<RequestKey>>>;

/// No call into Python is made while it is held: that could come back to it.
pub(super) fn lock(line: &Line) -> MutexGuard<'_, Switchboard> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The channel, and the requests that run.
#[pyclass(frozen, module = "corral")]
pub(super) struct Board {
    line: Line,
    scopes: Scopes,
    requests: Mutex<HashMap<RequestKey, Py<Request>>>,
    /// Of those requests the ones that have ended.
    ended: Ended,
    fd: RawFd,
}

impl Board {
    pub(super) fn new(
        py: Python<'_>,
        switchboard: Switchboard,
        prefixes: Vec<Option<String>>,
        states: Vec<Option<Py<PyDict>>>,
    ) -> PyResult<Self> {
        let fd = switchboard.bell().as_raw_fd();
        let line = Arc::new(Mutex::new(switchboard));
        let scopes = Scopes::new(py, prefixes, states)?;
        Ok(Self { line, scopes, requests: Mutex::default(), ended: Ended::default(), fd })
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<RequestKey, Py<Request>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Their objects go when nobody holds the maps: whatever they refer to may say something at its end.
    fn forget_ended(&self) {
        let ended = std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner));
        let gone: Vec<_> = ended.iter().filter_map(|key| self.requests().remove(key)).collect();
        drop(gone);
    }

    fn begin(
        &self,
        py: Python<'_>,
        server: &Bound<'_, PyAny>,
        key: RequestKey,
        payload: &[u8],
    ) -> PyResult<()> {
        let view = message::decode_request(payload).map_err(|error| {
            pyo3::exceptions::PyValueError::new_err(format!("a request cannot be read: {error}"))
        })?;
        let target = usize::from(view.head.app_target);
        if !self.scopes.has(target) {
            let mut line = lock(&self.line);
            line.respond(key, 404, &[]);
            line.finish(key);
            return Ok(());
        }
        let scope = self.scopes.build(py, &view, target)?;
        let request = Py::new(py, Request::new(&self.line, &self.ended, key, view.head.websocket, scope))?;
        self.requests().insert(key, request.clone_ref(py));
        let task = server.call_method1(pyo3::intern!(py, "begin"), (&request, target))?;
        request.get().keep(task.unbind());
        Ok(())
    }
}

#[pymethods]
impl Board {
    /// Readable when something has come.
    fn fileno(&self) -> RawFd {
        self.fd
    }

    /// The loop is up.
    fn silence(&self) {
        lock(&self.line).silence();
    }

    /// Whether the loop may sleep until the bell rings.
    fn may_sleep(&self) -> bool {
        lock(&self.line).may_sleep()
    }

    /// Whether the worker is to leave.
    fn is_over(&self) -> bool {
        lock(&self.line).is_over()
    }

    /// Takes what has come; true if that was something.
    fn poll(&self, py: Python<'_>, server: &Bound<'_, PyAny>) -> PyResult<bool> {
        let mut events = Vec::new();
        lock(&self.line).receive(&mut events);
        let is_busy = !events.is_empty();
        for event in events {
            match event {
                Event::Begun(key, payload) => self.begin(py, server, key, &payload)?,
                Event::Changed(key) => {
                    let request = self.requests().get(&key).map(|request| request.clone_ref(py));
                    if let Some(request) = request {
                        request.get().on_change(py)?;
                    }
                }
            }
        }
        self.forget_ended();
        Ok(is_busy)
    }
}
