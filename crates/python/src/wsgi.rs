//! WSGI, by PEP 3333.

mod environ;
mod file_wrapper;
mod input;
mod response;

use std::sync::Arc;

use corral_channel::message::RequestView;
use corral_worker::{
    Exchange, RequestEnd, Server, ThreadLoop, Threads, WorkerThreads, complain, is_stranger, warn_once,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use self::environ::Environ;
use self::file_wrapper::FileWrapper;
use self::response::{Call, StartResponse, Stop};
use crate::application::Target;
use crate::{errors, interpreter, lenient};

/// The application, and what its requests have in common.
pub(crate) struct Wsgi {
    targets: Vec<Target>,
    environ: Environ,
    threads: Threads,
}

impl Wsgi {
    pub(crate) fn new(py: Python<'_>, targets: Vec<Target>, threads: Threads) -> PyResult<Self> {
        Ok(Self { targets, environ: Environ::new(py, threads.n.get() > 1)?, threads })
    }

    /// Answers a request.
    pub(crate) fn serve(&self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd {
        let Some(target) = self.targets.get(usize::from(request.head.app_target)) else {
            exchange.refuse(404);
            return RequestEnd::Done;
        };
        let call = Arc::new(Call::new(request));
        // SAFETY: the loan is dropped at the end of this function, and `exchange` is not used before.
        let _loan = unsafe { call.lease.lend(exchange) };
        Python::attach(|py| self.answer(py, target, request, &call))
    }

    /// Answers a request, which is lent to `call`.
    fn answer(
        &self,
        py: Python<'_>,
        target: &Target,
        request: &RequestView<'_>,
        call: &Arc<Call>,
    ) -> RequestEnd {
        let ran = self.run(py, target, request, call);
        if is_stranger() {
            let raised = if let Err(Stop::Raised(error)) = ran { Some(error) } else { None };
            interpreter::end_process(py, raised);
        }
        match ran {
            Ok(()) | Err(Stop::ClientGone) => RequestEnd::Done,
            Err(Stop::Raised(error)) => fail(py, request, call, &error),
        }
    }

    fn run(
        &self,
        py: Python<'_>,
        target: &Target,
        request: &RequestView<'_>,
        call: &Arc<Call>,
    ) -> Result<(), Stop> {
        let environ = self.environ.build(py, request, target, call)?;
        let start_response = Bound::new(py, StartResponse(Arc::clone(call)))?;
        let body = target.callable.bind(py).call1((environ, start_response))?;
        let sent = send(py, call, &body);
        // Whatever happened, and once the client has everything: what is closed may take its time.
        let closed = match body.getattr_opt(pyo3::intern!(py, "close"))? {
            Some(close) => {
                let finished = if sent.is_ok() { call.finish(py) } else { Ok(()) };
                if let Err(error) = close.call0() {
                    // The one that is not passed on.
                    if let Err(Stop::Raised(first)) = &sent {
                        complain_of(py, request, first);
                    }
                    return Err(error.into());
                }
                finished
            }
            None => Ok(()),
        };
        sent.and(closed)?;
        call.conclude(py)
    }
}

impl WorkerThreads for Wsgi {
    fn run(&mut self, life: &dyn ThreadLoop) {
        let server = &*self;
        self.threads.run(|| interpreter::in_thread(&mut || life.live(&mut { server })));
    }
}

impl Server for &Wsgi {
    fn serve(&mut self, request: &RequestView<'_>, exchange: &mut dyn Exchange) -> RequestEnd {
        (**self).serve(request, exchange)
    }
}

/// Sends what the application has returned.
fn send(py: Python<'_>, call: &Call, body: &Bound<'_, PyAny>) -> Result<(), Stop> {
    if let Ok(list) = body.cast::<PyList>() {
        return list.iter().try_for_each(|piece| call.write(py, bytes_of(&piece)?));
    }
    if let Ok(tuple) = body.cast::<PyTuple>() {
        return tuple.iter_borrowed().try_for_each(|piece| call.write(py, bytes_of(&piece)?));
    }
    if let Ok(wrapper) = body.cast::<FileWrapper>()
        && file_wrapper::send(py, call, wrapper)?
    {
        return Ok(());
    }
    if let Ok(piece) = body.cast::<PyBytes>() {
        warn_once(lenient::ONE_PIECE);
        return call.write(py, piece.as_bytes());
    }
    if body.is_none() && call.is_started() {
        warn_once(lenient::NOTHING);
        return Ok(());
    }
    if body.is_instance_of::<PyString>() {
        let what = body.get_type();
        return Err(
            PyTypeError::new_err(format!("an application returns an iterable of bytes, not {what}")).into()
        );
    }
    for piece in body.try_iter()? {
        let piece = piece?;
        let piece = bytes_of(&piece)?;
        if piece.is_empty() {
            call.look_at_client(py)?;
        } else {
            call.write(py, piece)?;
            // The time of the next piece is unknown.
            call.flush(py)?;
        }
    }
    Ok(())
}

fn bytes_of<'a>(piece: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    let bytes = piece.cast::<PyBytes>().map_err(|_| {
        PyTypeError::new_err(format!("the body of a response consists of bytes, not of {}", piece.get_type()))
    })?;
    Ok(bytes.as_bytes())
}

fn complain_of(py: Python<'_>, request: &RequestView<'_>, error: &PyErr) {
    let method = String::from_utf8_lossy(request.head.method);
    let target = String::from_utf8_lossy(request.head.target);
    complain(format_args!("{method} {target}: {}", errors::traceback(py, error)));
}

/// The application has raised an exception.
fn fail(py: Python<'_>, request: &RequestView<'_>, call: &Call, error: &PyErr) -> RequestEnd {
    if !call.is_client_gone(py, error) {
        complain_of(py, request, error);
    }
    call.abort(py);
    if errors::is_exit(py, error) { RequestEnd::Leave } else { RequestEnd::Done }
}
