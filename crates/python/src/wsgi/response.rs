//! `start_response` and `write`: the head is kept until there is body, and the length that it promises is kept to.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_channel::message::RequestView;
use corral_worker::{FileRest, warn_once};
use pyo3::exceptions::{PyBrokenPipeError, PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PySequence, PyString, PyTuple};

use crate::lease::Lease;
use crate::{field, lenient};

/// One request, as the objects see it that the application gets.
pub(super) struct Call {
    pub(super) lease: Lease,
    progress: Mutex<ResponseProgress>,
    is_head: bool,
}

/// How far the response is. Only looked at for moments: no Python code runs while it is locked.
enum ResponseProgress {
    NotStarted,
    /// May still be replaced.
    Started(ResponseHead),
    /// Bytes of body that the head promises and that were not written; `None` without a promise.
    Sent {
        left: Option<u64>,
    },
}

/// The head of a response.
struct ResponseHead {
    status: u16,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    content_length: Option<u64>,
}

/// Why a response is not completed.
pub(super) enum Stop {
    /// The response is not read any more.
    ClientGone,
    Raised(PyErr),
}

impl<E: Into<PyErr>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Raised(error.into())
    }
}

impl Call {
    pub(super) fn new(request: &RequestView<'_>) -> Self {
        Self {
            lease: Lease::default(),
            progress: Mutex::new(ResponseProgress::NotStarted),
            is_head: request.head.method == b"HEAD",
        }
    }

    /// Begins the response, or begins it anew if nothing of it was sent.
    fn start(&self, head: ResponseHead, has_failed: bool) {
        let mut progress = self.progress();
        match *progress {
            ResponseProgress::Sent { .. } => warn_once(lenient::STARTED_LATE),
            ResponseProgress::NotStarted | ResponseProgress::Started(_) => {
                if matches!(*progress, ResponseProgress::Started(_)) && !has_failed {
                    warn_once(lenient::STARTED_TWICE);
                }
                *progress = ResponseProgress::Started(head);
            }
        }
    }

    /// Whether there is a head, sent or not.
    pub(super) fn is_started(&self) -> bool {
        !matches!(*self.progress(), ResponseProgress::NotStarted)
    }

    fn is_head_sent(&self) -> bool {
        matches!(*self.progress(), ResponseProgress::Sent { .. })
    }

    /// Adds to the body. What goes beyond the length in the head is left out, as the client would take it for the
    /// next response.
    pub(super) fn write(&self, py: Python<'_>, bytes: &[u8]) -> Result<(), Stop> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.send_head(py)?;
        let bytes = self.take_of_promise(bytes);
        let at_once = |exchange: &mut dyn corral_worker::Exchange| {
            exchange.collects(bytes.len()).then(|| exchange.write(bytes))
        };
        let written = match self.lease.now(py, at_once) {
            Some(None) => self.lease.wait(py, |exchange| exchange.write(bytes)),
            Some(Some(written)) => Some(written),
            None => None,
        };
        match written {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) => Err(Stop::ClientGone),
            None => Err(ended().into()),
        }
    }

    /// Leaves the rest of a file to the server. False if it has to be read.
    pub(super) fn send_file(
        &self,
        py: Python<'_>,
        file: BorrowedFd<'_>,
        position: u64,
    ) -> Result<bool, Stop> {
        let Some(rest) = FileRest::of(file, position).filter(|_| !self.is_head) else { return Ok(false) };
        self.send_head(py)?;
        let ResponseProgress::Sent { left } = *self.progress() else { return Ok(false) };
        // One that is shorter than promised must not be taken for all of the response.
        if left.is_some_and(|left| left > rest.n_bytes()) {
            return Ok(false);
        }
        let rest = rest.at_most(left.unwrap_or(u64::MAX));
        match self.lease.wait(py, |exchange| exchange.send_file(&rest)) {
            Some(Ok(true)) => {
                *self.progress() = ResponseProgress::Sent { left: Some(0) };
                Ok(true)
            }
            Some(Ok(false)) => Ok(false),
            Some(Err(_)) => Err(Stop::ClientGone),
            None => Err(ended().into()),
        }
    }

    /// Whether more of the body is of use. The head is sent if it was not yet.
    pub(super) fn wants_body(&self, py: Python<'_>) -> PyResult<bool> {
        self.send_head(py)?;
        Ok(!self.is_head && !self.is_complete())
    }

    /// Sends what was collected.
    pub(super) fn flush(&self, py: Python<'_>) -> Result<(), Stop> {
        if self.is_complete() {
            return self.finish(py);
        }
        self.lease.wait(py, |exchange| exchange.flush()).ok_or_else(|| ended().into())
    }

    /// Checks without anything to send whether the client is still there.
    pub(super) fn look_at_client(&self, py: Python<'_>) -> Result<(), Stop> {
        let look = |exchange: &mut dyn corral_worker::Exchange| {
            exchange.flush();
            exchange.client_gone()
        };
        match self.lease.wait(py, look) {
            Some(false) => Ok(()),
            Some(true) => Err(Stop::ClientGone),
            None => Err(ended().into()),
        }
    }

    /// All of the body has been given: the client need not wait for what the application does now.
    pub(super) fn finish(&self, py: Python<'_>) -> Result<(), Stop> {
        self.send_head(py)?;
        if !self.is_short() {
            self.lease.wait(py, |exchange| exchange.finish());
        }
        Ok(())
    }

    /// Everything has run. Less than was promised is not taken for a response.
    pub(super) fn conclude(&self, py: Python<'_>) -> Result<(), Stop> {
        self.send_head(py)?;
        if self.is_short() {
            return Err(
                PyValueError::new_err("the body of the response is shorter than its Content-Length").into()
            );
        }
        Ok(())
    }

    /// The response cannot be completed: the client sees an error, or that the response is cut.
    pub(super) fn abort(&self, py: Python<'_>) {
        let is_head_sent = self.is_head_sent();
        self.lease.wait(py, |exchange| {
            if is_head_sent {
                exchange.abort();
            } else {
                exchange.refuse(500);
            }
        });
    }

    /// Whether this exception is only the word that the client is gone.
    pub(super) fn is_client_gone(&self, py: Python<'_>, error: &PyErr) -> bool {
        error.is_instance_of::<PyOSError>(py)
            && self.lease.now(py, |exchange| exchange.client_gone()).unwrap_or(false)
    }

    fn send_head(&self, py: Python<'_>) -> PyResult<()> {
        let mut progress = self.progress();
        if matches!(*progress, ResponseProgress::Sent { .. }) {
            return Ok(());
        }
        let ResponseProgress::Started(head) = std::mem::replace(&mut *progress, ResponseProgress::NotStarted)
        else {
            return Err(PyRuntimeError::new_err("the application did not call start_response()"));
        };
        let is_bodiless = self.is_head || matches!(head.status, 204 | 304);
        *progress = ResponseProgress::Sent { left: head.content_length.filter(|_| !is_bodiless) };
        drop(progress);
        let sent = self.lease.now(py, |exchange| {
            let fields: Vec<(&[u8], &[u8])> =
                head.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
            exchange.respond(head.status, &fields);
        });
        sent.ok_or_else(ended)
    }

    fn take_of_promise<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let ResponseProgress::Sent { left: Some(left) } = &mut *self.progress() else { return bytes };
        let n = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        *left -= n as u64;
        if n < bytes.len() {
            warn_once(lenient::LONG_BODY);
        }
        &bytes[..n]
    }

    /// Whether the client knows that it has everything.
    fn is_complete(&self) -> bool {
        matches!(*self.progress(), ResponseProgress::Sent { left: Some(0) })
    }

    fn is_short(&self) -> bool {
        matches!(*self.progress(), ResponseProgress::Sent { left: Some(1..) })
    }

    fn progress(&self) -> MutexGuard<'_, ResponseProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err("the request has ended")
}

/// The `start_response` that an application is called with.
#[pyclass(frozen, module = "corral")]
pub(super) struct StartResponse(pub(super) Arc<Call>);

#[pymethods]
impl StartResponse {
    #[pyo3(signature = (status, headers, exc_info = None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        status: &Bound<'py, PyAny>,
        headers: &Bound<'py, PyAny>,
        exc_info: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Write>> {
        let exc_info = exc_info.filter(|exc_info| !exc_info.is_none());
        if let Some(exc_info) = &exc_info
            && self.0.is_head_sent()
        {
            return Err(PyErr::from_value(exc_info.get_item(1)?));
        }
        self.0.start(ResponseHead::read(status, headers)?, exc_info.is_some());
        Bound::new(py, Write(Arc::clone(&self.0)))
    }
}

/// The `write` that `start_response` returns.
#[pyclass(frozen, module = "corral")]
pub(super) struct Write(Arc<Call>);

#[pymethods]
impl Write {
    fn __call__(&self, py: Python<'_>, body: &Bound<'_, PyBytes>) -> PyResult<()> {
        let written = self.0.write(py, body.as_bytes()).and_then(|()| self.0.flush(py));
        written.map_err(|stop| match stop {
            Stop::ClientGone => PyBrokenPipeError::new_err("the client is gone"),
            Stop::Raised(error) => error,
        })
    }
}

impl ResponseHead {
    fn read(status: &Bound<'_, PyAny>, headers: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut head = Self { status: read_status(status)?, fields: Vec::new(), content_length: None };
        for field in headers.try_iter()? {
            let field = field?;
            let (name, value) = read_field(&field)?;
            if name.eq_ignore_ascii_case(b"content-length") {
                head.content_length = field::length(&value);
                if head.content_length.is_none() {
                    warn_once(lenient::ODD_LENGTH);
                    continue;
                }
            }
            head.fields.push((name, value));
        }
        Ok(head)
    }
}

/// Three digits; the reason phrase is not sent to clients.
fn read_status(status: &Bound<'_, PyAny>) -> PyResult<u16> {
    let text = native(status)?;
    let (digits, words) = text.split_at(text.len().min(3));
    let number = std::str::from_utf8(digits).ok().filter(|_| !words.first().is_some_and(u8::is_ascii_digit));
    let number = number.and_then(|digits| digits.parse().ok()).filter(|status| (200..=999).contains(status));
    let number = number.ok_or_else(|| {
        PyValueError::new_err(format!("{status:?} is not a status: three digits, a space, and words"))
    })?;
    if !matches!(words, [b' ', _, ..]) {
        warn_once(lenient::BARE_STATUS);
    }
    Ok(number)
}

fn read_field(field: &Bound<'_, PyAny>) -> PyResult<(Vec<u8>, Vec<u8>)> {
    let wrong =
        || PyTypeError::new_err(format!("a header of the response is a tuple of two strings, not {field:?}"));
    if field.is_instance_of::<PyList>() {
        warn_once(lenient::FIELD_LISTS);
    } else if !field.is_instance_of::<PyTuple>() {
        return Err(wrong());
    }
    let pair = field.cast::<PySequence>()?;
    if pair.len()? != 2 {
        return Err(wrong());
    }
    let (name, value) = (native(&pair.get_item(0)?)?, native(&pair.get_item(1)?)?);
    if !field::is_sound(&name, &value) {
        return Err(PyValueError::new_err(format!("a header of the response is none of HTTP: {field:?}")));
    }
    Ok((name, value))
}

/// The bytes that the characters of a string stand for.
fn native(text: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let text = text.cast::<PyString>().map_err(|_| {
        PyTypeError::new_err(format!("status and headers of a response are strings, not {}", text.get_type()))
    })?;
    let text = text.to_str()?;
    if text.is_ascii() {
        return Ok(text.as_bytes().to_vec());
    }
    let bytes: Result<Vec<u8>, _> = text.chars().map(|c| u8::try_from(u32::from(c))).collect();
    bytes.map_err(|_| PyValueError::new_err(format!("{text:?} has characters that HTTP has no bytes for")))
}
