//! A request as its coroutine sees it: `receive` and `send`, which never wait but give a future to wait for.

use std::os::fd::{BorrowedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_channel::Opcode;
use corral_channel::message::RequestHead;
use corral_worker::{ClientGone, FileRest, MOST_HELD_BACK, RequestKey, ResponsePhase, complain, warn_once};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule, PyString};

use super::ended::EndedRequests;
use super::events;
use super::incoming::{ClientEvent, NORMAL, Socket, next_body, next_message};
use super::shared_channel::{SharedChannel, lock};
use super::state::RequestState;
use super::trailers::{self, Trailers};
use crate::{errors, field, interpreter, lenient};

/// Bytes of a response that wait for the client before its coroutine does.
const MOST_PENDING: usize = 64 * 1024;

// A coroutine that waited for what is held back would not be told.
const _: () = assert!(MOST_HELD_BACK <= MOST_PENDING);

/// RFC 8297.
const EARLY_HINTS: u16 = 103;

/// Close codes (RFC 6455 section 7.4.1).
const NO_TEXT: u16 = 1007;
const INTERNAL: u16 = 1011;

static DISCONNECTED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Remembers the exception for clients that have left.
pub(super) fn keep_exception(py: Python<'_>, module: &Bound<'_, PyModule>) -> PyResult<()> {
    let class = module.getattr("ClientDisconnected")?.unbind();
    // There is one module in a process.
    let _ = DISCONNECTED.set(py, class);
    Ok(())
}

/// One request, or one WebSocket connection.
#[pyclass(frozen, module = "corral")]
pub(super) struct Request {
    channel: SharedChannel,
    ended: Arc<EndedRequests>,
    key: RequestKey,
    is_head: bool,
    #[pyo3(get)]
    scope: Py<PyDict>,
    state: Mutex<RequestState>,
}

impl Request {
    pub(super) fn new(
        channel: &SharedChannel,
        ended: &Arc<EndedRequests>,
        key: RequestKey,
        head: &RequestHead<'_>,
        scope: Py<PyDict>,
    ) -> Self {
        let is_head = head.method == b"HEAD";
        Self {
            channel: Arc::clone(channel),
            ended: Arc::clone(ended),
            key,
            is_head,
            scope,
            state: Mutex::new(RequestState::new(head)),
        }
    }

    /// Keeps its task: the loop does not.
    pub(super) fn keep(&self, task: Py<PyAny>) {
        self.state().task = Some(task);
    }

    fn state(&self) -> MutexGuard<'_, RequestState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something has come for it, or there is room.
    pub(super) fn on_change(&self, py: Python<'_>) -> PyResult<()> {
        loop {
            let Some(future) = self.state().receivers.pop() else { break };
            if is_done(py, &future)? {
                continue;
            }
            match self.next_event(py)? {
                Some(event) => set_result(py, &future, event.into_any())?,
                None => {
                    self.state().receivers.push(future);
                    break;
                }
            }
        }
        let has_room = {
            let channel = lock(&self.channel);
            channel.is_gone(self.key) || channel.n_pending(self.key) <= MOST_PENDING / 2
        };
        if has_room {
            let senders = std::mem::take(&mut self.state().senders);
            for future in senders {
                if !is_done(py, &future)? {
                    set_result(py, &future, py.None().into_bound(py))?;
                }
            }
        }
        Ok(())
    }

    fn next_event<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let incoming = {
            let (mut state, mut channel) = (self.state(), lock(&self.channel));
            let state = &mut *state;
            match &mut state.websocket {
                Some(_) if !std::mem::replace(&mut state.is_connect_told, true) => Some(ClientEvent::Connect),
                Some(socket) => next_message(socket, &mut channel, self.key),
                None => next_body(&mut state.is_body_taken, &mut channel, self.key),
            }
        };
        incoming.map(|incoming| self.tell(py, incoming)).transpose()
    }

    fn tell<'py>(&self, py: Python<'py>, incoming: ClientEvent) -> PyResult<Bound<'py, PyDict>> {
        match incoming {
            ClientEvent::Body(bytes, more) => events::body(py, &bytes, more),
            ClientEvent::Gone => events::of(py, "http.disconnect"),
            ClientEvent::Connect => events::of(py, "websocket.connect"),
            ClientEvent::Message { is_text, bytes } => events::message(py, is_text, &bytes).or_else(|_| {
                self.close(NO_TEXT, b"a text is not UTF-8");
                events::disconnect(py, NO_TEXT, b"")
            }),
            ClientEvent::Disconnect { code, reason } => {
                let (code, reason) = self.state().farewell.take().unwrap_or((code, reason));
                events::disconnect(py, code, &reason)
            }
        }
    }

    fn close(&self, code: u16, reason: &[u8]) {
        self.state().close(code, reason);
        // A client that is gone need not be told.
        let _ = lock(&self.channel).close(self.key, code, reason);
    }

    fn start(&self, event: &Bound<'_, PyDict>) -> PyResult<()> {
        let (status, mut fields) = (events::status(event)?, events::headers(event)?);
        self.state().promised = take_length(status, &mut fields).filter(|_| !self.is_head);
        self.respond(status, &fields);
        Ok(())
    }

    fn respond(&self, status: u16, fields: &[events::Field]) {
        lock(&self.channel).respond(self.key, status, &borrowed(fields));
    }

    /// Resources that the client may load while it waits (RFC 8297).
    fn hint(&self, event: &Bound<'_, PyDict>) -> PyResult<()> {
        let links = events::links(event)?;
        let fields: Vec<(&[u8], &[u8])> = links.iter().map(|link| (&b"Link"[..], &link[..])).collect();
        let informed = lock(&self.channel).inform(self.key, EARLY_HINTS, &fields);
        informed.map_err(|error| PyValueError::new_err(format!("links that cannot be sent: {error}")))
    }

    fn body(&self, event: &Bound<'_, PyDict>) -> PyResult<Result<(), ClientGone>> {
        let more = events::flag(event, "more_body")?;
        let body = events::get(event, "body")?.map(|body| events::bytes_like(&body, "a body")).transpose()?;
        let bytes = body.as_ref().map_or(&[][..], |body| body.as_bytes());
        let mut state = self.state();
        state.promised = state.promised.map(|promised| promised.saturating_sub(bytes.len() as u64));
        if !more && state.is_short() {
            return Err(PyValueError::new_err("the body of the response is shorter than its Content-Length"));
        }
        let ends = !more && state.trailers.end_body();
        drop(state);
        Ok(lock(&self.channel).write(self.key, bytes, ends))
    }

    fn trailers(&self, event: &Bound<'_, PyDict>) -> PyResult<()> {
        let event = trailers::TrailersEvent::read(event)?;
        let complete = self.state().trailers.add(event);
        if let Some(fields) = complete {
            lock(&self.channel).write_trailers(self.key, &borrowed(&fields));
        }
        Ok(())
    }

    /// One event of the HTTP protocol.
    fn send_http(&self, kind: &str, event: &Bound<'_, PyDict>) -> PyResult<Result<(), ClientGone>> {
        let phase = lock(&self.channel).phase(self.key);
        let are_trailers_next = self.state().trailers.are_next();
        match (kind, phase) {
            ("http.response.early_hint", ResponsePhase::Silent) => self.hint(event).map(Ok),
            ("http.response.start", ResponsePhase::Silent) => {
                let trailers = Trailers::announced(event)?;
                self.start(event)?;
                self.state().trailers = trailers;
                Ok(Ok(()))
            }
            ("http.response.body", ResponsePhase::Begun) if !are_trailers_next => self.body(event),
            ("http.response.trailers", ResponsePhase::Begun) if are_trailers_next => {
                self.trailers(event).map(Ok)
            }
            _ => Err(unexpected(kind)),
        }
    }

    /// One event of the WebSocket protocol.
    fn send_websocket(
        &self,
        socket: Socket,
        kind: &str,
        event: &Bound<'_, PyDict>,
    ) -> PyResult<Result<(), ClientGone>> {
        match (kind, socket) {
            ("websocket.accept", Socket::Connecting) => {
                self.accept(event)?;
                self.state().websocket = Some(Socket::Open);
                Ok(Ok(()))
            }
            ("websocket.send", Socket::Open) => self.message(event),
            ("websocket.close", Socket::Open) => {
                let code = events::get(event, "code")?.map_or(Ok(NORMAL), |code| code.extract())?;
                let reason = events::get(event, "reason")?.map(|reason| reason.extract::<String>());
                self.close(code, reason.transpose()?.unwrap_or_default().as_bytes());
                Ok(Ok(()))
            }
            ("websocket.close", Socket::Connecting) => {
                self.state().websocket = Some(Socket::Closed);
                self.respond(403, &[]);
                Ok(lock(&self.channel).write(self.key, b"", true))
            }
            ("websocket.close", Socket::Closed) => Ok(Ok(())),
            ("websocket.http.response.start", Socket::Connecting) => {
                self.start(event)?;
                self.state().websocket = Some(Socket::Denied);
                Ok(Ok(()))
            }
            ("websocket.http.response.body", Socket::Denied) => self.body(event),
            _ => Err(unexpected(kind)),
        }
    }

    fn accept(&self, event: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut fields = events::headers(event)?;
        if let Some(subprotocol) = events::get(event, "subprotocol")? {
            let subprotocol: String = subprotocol.extract()?;
            fields.push((b"Sec-WebSocket-Protocol".to_vec(), subprotocol.into_bytes()));
        }
        self.respond(101, &fields);
        Ok(())
    }

    fn message(&self, event: &Bound<'_, PyDict>) -> PyResult<Result<(), ClientGone>> {
        if let Some(text) = events::get(event, "text")? {
            let text = text.cast_into::<PyString>()?;
            return Ok(lock(&self.channel).write_message(self.key, Opcode::Text, text.to_str()?.as_bytes()));
        }
        let bytes = events::get(event, "bytes")?;
        let bytes = bytes.ok_or_else(|| PyValueError::new_err("a message needs bytes or a text"))?;
        let bytes = events::bytes_like(&bytes, "a message")?;
        Ok(lock(&self.channel).write_message(self.key, Opcode::Binary, bytes.as_bytes()))
    }

    /// For lines about it.
    fn describe(&self, py: Python<'_>) -> String {
        let scope = self.scope.bind(py);
        let get = |name: &str| scope.get_item(name).ok().flatten();
        let method = get("method").map_or_else(|| "WebSocket".to_owned(), |method| method.to_string());
        let bytes = |name: &str| {
            let value = get(name).and_then(|value| value.extract::<Vec<u8>>().ok());
            String::from_utf8_lossy(&value.unwrap_or_default()).into_owned()
        };
        let (path, query) = (bytes("raw_path"), bytes("query_string"));
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{method} {path}{mark}{query}")
    }

    /// Ends a response that the application has left as it is.
    fn complete(&self) {
        let (ends, fields) = self.state().trailers.conclude();
        let mut channel = lock(&self.channel);
        // A client that is gone does not miss it.
        let _ = channel.write(self.key, b"", ends);
        if !ends {
            channel.write_trailers(self.key, &borrowed(&fields));
        }
        channel.finish(self.key);
    }

    /// Ends the request; true if the worker is about to leave.
    fn end(&self) -> bool {
        self.ended.add(self.key);
        lock(&self.channel).is_leaving()
    }
}

#[pymethods]
impl Request {
    /// The next event, or a future of it.
    fn receive<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(event) = self.next_event(py)? {
            return Ok(event.into_any());
        }
        let future = new_future(py)?;
        self.state().receivers.insert(0, future.clone().unbind());
        Ok(future)
    }

    /// Sends an event. A future says when there is room for more, if there is none now.
    fn send<'py>(&self, py: Python<'py>, event: &Bound<'py, PyDict>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let kind = events::get(event, "type")?;
        let kind =
            kind.ok_or_else(|| PyValueError::new_err("an event needs a type"))?.cast_into::<PyString>()?;
        let socket = self.state().websocket;
        let is_gone = {
            let channel = lock(&self.channel);
            channel.is_gone(self.key) && channel.phase(self.key) != ResponsePhase::Ended
        };
        let sent = if is_gone {
            Err(ClientGone)
        } else {
            match socket {
                Some(socket) => self.send_websocket(socket, kind.to_str()?, event)?,
                None => self.send_http(kind.to_str()?, event)?,
            }
        };
        if sent.is_err() {
            let class = DISCONNECTED.get(py).expect("kept before the first request").bind(py);
            return Err(PyErr::from_value(class.call1(("the client is gone",))?));
        }
        if lock(&self.channel).n_pending(self.key) <= MOST_PENDING {
            return Ok(None);
        }
        let future = new_future(py)?;
        self.state().senders.push(future.clone().unbind());
        Ok(Some(future))
    }

    /// Leaves an open file to the server, as the rest of the body. False if it has to be sent by other events, which
    /// also say what is wrong.
    fn send_file(&self, number: RawFd) -> bool {
        let mut state = self.state();
        if number < 0 || state.websocket.is_some() || state.trailers.are_next() {
            return false;
        }
        // SAFETY: asgi.py has this file open, and closes it after this call.
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        let Some(rest) = FileRest::of(file, 0) else { return false };
        let sent = lock(&self.channel).send_file(self.key, &rest, state.trailers.are_none());
        if sent == Ok(true) {
            state.promised = None;
            state.trailers.end_body();
        }
        sent == Ok(true)
    }

    /// The application has returned. True when the worker is about to leave.
    fn finish(&self, py: Python<'_>) -> bool {
        let socket = self.state().websocket;
        if socket == Some(Socket::Open) {
            self.close(NORMAL, b"");
        }
        let phase = lock(&self.channel).phase(self.key);
        match phase {
            ResponsePhase::Ended => lock(&self.channel).finish(self.key),
            ResponsePhase::Silent => {
                if !lock(&self.channel).is_gone(self.key) {
                    complain(format_args!(
                        "{}: the application has returned without a response",
                        self.describe(py)
                    ));
                }
                lock(&self.channel).finish(self.key);
            }
            // A WebSocket connection that its client has closed.
            ResponsePhase::Begun if socket.is_some() || lock(&self.channel).is_gone(self.key) => {
                lock(&self.channel).finish(self.key);
            }
            ResponsePhase::Begun if self.state().is_short() => {
                complain(format_args!(
                    "{}: the application has returned before its response was complete",
                    self.describe(py)
                ));
                lock(&self.channel).abort(self.key);
            }
            ResponsePhase::Begun => {
                warn_once(lenient::UNENDED);
                self.complete();
            }
        }
        self.end()
    }

    /// The application has returned or raised an exception in a process that it has forked.
    fn end_process(&self, py: Python<'_>, error: Option<Bound<'_, PyAny>>) {
        interpreter::end_process(py, error.map(PyErr::from_value));
    }

    /// The application has raised an exception.
    fn fail(&self, py: Python<'_>, error: &Bound<'_, PyAny>) -> bool {
        let error = PyErr::from_value(error.clone());
        if !self.is_of_the_end(py, &error) {
            complain(format_args!("{}: {}", self.describe(py), errors::traceback(py, &error)));
        }
        let socket = self.state().websocket;
        if socket == Some(Socket::Open) {
            self.close(INTERNAL, b"");
        }
        let mut channel = lock(&self.channel);
        match channel.phase(self.key) {
            ResponsePhase::Begun => channel.abort(self.key),
            ResponsePhase::Silent | ResponsePhase::Ended => channel.finish(self.key),
        }
        drop(channel);
        self.end()
    }
}

impl Request {
    /// Whether an exception only says that the client has left, or that the worker ends.
    fn is_of_the_end(&self, py: Python<'_>, error: &PyErr) -> bool {
        let is = |class: &Bound<'_, PyAny>| error.value(py).is_instance(class).unwrap_or(false);
        let cancelled = py.import("asyncio").and_then(|asyncio| asyncio.getattr("CancelledError"));
        DISCONNECTED.get(py).is_some_and(|class| is(class.bind(py)))
            || cancelled.is_ok_and(|class| is(&class))
    }
}

fn borrowed(fields: &[events::Field]) -> Vec<(&[u8], &[u8])> {
    fields.iter().map(|(name, value)| (&name[..], &value[..])).collect()
}

/// Takes lengths away that are none, and says how many bytes of body the head speaks of.
fn take_length(status: u16, fields: &mut Vec<events::Field>) -> Option<u64> {
    let mut length = None;
    fields.retain(|(name, value)| {
        if !name.eq_ignore_ascii_case(b"content-length") {
            return true;
        }
        length = field::length(value);
        if length.is_none() {
            warn_once(lenient::ODD_LENGTH);
        }
        length.is_some()
    });
    length.filter(|_| !matches!(status, 204 | 304))
}

fn unexpected(kind: &str) -> PyErr {
    PyRuntimeError::new_err(format!("\"{kind}\" is not expected now"))
}

fn new_future(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let get_loop = LOOP.import(py, "asyncio", "get_running_loop")?;
    get_loop.call0()?.call_method0(pyo3::intern!(py, "create_future"))
}

fn is_done(py: Python<'_>, future: &Py<PyAny>) -> PyResult<bool> {
    future.bind(py).call_method0(pyo3::intern!(py, "done"))?.is_truthy()
}

fn set_result(py: Python<'_>, future: &Py<PyAny>, result: Bound<'_, PyAny>) -> PyResult<()> {
    future.bind(py).call_method1(pyo3::intern!(py, "set_result"), (result,))?;
    Ok(())
}
