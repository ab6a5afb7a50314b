//! The requests of one event loop. All that happens to them does so in that loop's thread.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_channel::message;
use corral_worker::{ChannelEvent, RequestKey};
use pyo3::prelude::*;

use super::ended::EndedRequests;
use super::queue::SharedQueue;
use super::request::Request;
use super::scope::Scopes;
use super::shared_channel::{SharedChannel, lock};

/// The running requests, and what they have in common.
pub(super) struct LoopRequests {
    channel: SharedChannel,
    scopes: Scopes,
    running: Mutex<HashMap<RequestKey, Py<Request>>>,
    /// Requests among them that have ended.
    ended: Arc<EndedRequests>,
}

impl LoopRequests {
    pub(super) fn new(channel: &SharedChannel, scopes: Scopes, queue: Option<SharedQueue>) -> Self {
        let ended = EndedRequests::new(queue);
        Self { channel: Arc::clone(channel), scopes, running: Mutex::default(), ended }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<RequestKey, Py<Request>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what has come.
    pub(super) fn take(
        &self,
        py: Python<'_>,
        server: &Bound<'_, PyAny>,
        events: Vec<ChannelEvent>,
    ) -> PyResult<()> {
        for event in events {
            match event {
                ChannelEvent::Begun(key, payload) => self.begin(py, server, key, &payload).map(drop)?,
                ChannelEvent::Changed(key) => self.change(py, key)?,
            }
        }
        self.forget_ended();
        Ok(())
    }

    /// Begins a request; false if there is none to run, because its client is gone.
    pub(super) fn begin(
        &self,
        py: Python<'_>,
        server: &Bound<'_, PyAny>,
        key: RequestKey,
        payload: &[u8],
    ) -> PyResult<bool> {
        let view = message::decode_request(payload).map_err(|error| {
            pyo3::exceptions::PyValueError::new_err(format!("a request cannot be read: {error}"))
        })?;
        let target = usize::from(view.head.app_target);
        if !self.scopes.has(target) {
            let mut channel = lock(&self.channel);
            channel.respond(key, 404, &[]);
            channel.finish(key);
            return Ok(false);
        }
        let scope = self.scopes.build(py, &view, target)?;
        let request = Py::new(py, Request::new(&self.channel, &self.ended, key, &view.head, scope))?;
        self.running().insert(key, request.clone_ref(py));
        let task = server.call_method1(pyo3::intern!(py, "begin"), (&request, target))?;
        request.get().keep(task.unbind());
        Ok(true)
    }

    /// Something has come for a request.
    pub(super) fn change(&self, py: Python<'_>, key: RequestKey) -> PyResult<()> {
        let request = self.running().get(&key).map(|request| request.clone_ref(py));
        request.map_or(Ok(()), |request| request.get().on_change(py))
    }

    /// Whether any request has not been forgotten.
    pub(super) fn are_running(&self) -> bool {
        !self.running().is_empty()
    }

    /// Drops ended requests while the maps are not locked: an object may run code at its end.
    pub(super) fn forget_ended(&self) {
        let ended = self.ended.take();
        let gone: Vec<_> = ended.iter().filter_map(|key| self.running().remove(key)).collect();
        drop(gone);
    }
}
