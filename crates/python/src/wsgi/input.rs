//! `wsgi.input`: the request's body as a file.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList};

use super::Call;

/// Bytes that are read at a time.
const PIECE: usize = 64 * 1024;

/// The body of a request.
#[pyclass(frozen, module = "corral")]
pub(super) struct Input {
    /// Absent if there is no body.
    call: Option<Arc<Call>>,
    buffer: Mutex<Buffer>,
}

/// Bytes that were read of the body and not given to the application.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// Where the rest begins.
    at: usize,
    has_ended: bool,
}

impl Input {
    pub(super) fn empty() -> Self {
        let buffer = Mutex::new(Buffer { has_ended: true, ..Buffer::default() });
        Self { call: None, buffer }
    }

    pub(super) fn of(call: &Arc<Call>) -> Self {
        Self { call: Some(Arc::clone(call)), buffer: Mutex::default() }
    }

    /// Reads until `enough` says how many bytes that are, or all of it, and gives them.
    fn take<'py>(
        &self,
        py: Python<'py>,
        mut enough: impl FnMut(&[u8]) -> Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if let Some(taken) = self.take_at_hand(py, &mut enough) {
            return Ok(taken);
        }
        // Moved out, as it may not be locked while the client is waited for.
        let mut buffer =
            std::mem::take(&mut *self.buffer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner));
        let read = loop {
            if let Some(n) = enough(buffer.rest()) {
                break Ok(n);
            }
            if buffer.has_ended {
                break Ok(buffer.rest().len());
            }
            if let Err(error) = self.fill(py, &mut buffer) {
                break Err(error);
            }
        };
        let taken = read.map(|n| PyBytes::new(py, buffer.take(n)));
        *self.buffer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner) = buffer;
        taken
    }

    /// Gives what came along with the request's head, if that is enough: it needs no buffer.
    fn take_at_hand<'py>(
        &self,
        py: Python<'py>,
        enough: impl FnOnce(&[u8]) -> Option<usize>,
    ) -> Option<Bound<'py, PyBytes>> {
        let buffer = self.buffer.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if !buffer.rest().is_empty() {
            return None;
        }
        drop(buffer);
        let taken = self.call.as_ref()?.lease.peek(|exchange| {
            let (bytes, is_all) = exchange.body_at_hand();
            let n = enough(bytes).or_else(|| is_all.then_some(bytes.len()))?;
            let taken = PyBytes::new(py, &bytes[..n]);
            exchange.skip_body(n);
            Some(taken)
        });
        taken.flatten()
    }

    fn fill(&self, py: Python<'_>, buffer: &mut Buffer) -> PyResult<()> {
        let Some(call) = &self.call else {
            buffer.has_ended = true;
            return Ok(());
        };
        let read = call.lease.wait(py, |exchange| buffer.fill(|room| exchange.read_body(room)));
        match read {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => {
                Err(PyOSError::new_err(format!("the request's body cannot be read: {error}")))
            }
            None => Err(PyOSError::new_err("the request has ended")),
        }
    }
}

impl Buffer {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn take(&mut self, n: usize) -> &[u8] {
        let from = self.at;
        self.at += n;
        &self.bytes[from..self.at]
    }

    fn fill(&mut self, read: impl FnOnce(&mut [u8]) -> io::Result<usize>) -> io::Result<()> {
        self.bytes.drain(..self.at);
        self.at = 0;
        let len = self.bytes.len();
        self.bytes.resize(len + PIECE, 0);
        let n = read(&mut self.bytes[len..]);
        self.bytes.truncate(len + n.as_ref().copied().unwrap_or(0));
        self.has_ended |= n? == 0;
        Ok(())
    }
}

/// A size as files take it: none or a negative one means everything.
fn limit(size: Option<isize>) -> usize {
    size.and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX)
}

/// How much of `bytes` is a line of at most `limit` bytes, if that is known.
fn line(bytes: &[u8], limit: usize) -> Option<usize> {
    let within = &bytes[..bytes.len().min(limit)];
    let end = memchr::memchr(b'\n', within).map(|at| at + 1);
    end.or_else(|| (bytes.len() >= limit).then_some(limit))
}

#[pymethods]
impl Input {
    #[pyo3(signature = (size = None))]
    fn read<'py>(&self, py: Python<'py>, size: Option<isize>) -> PyResult<Bound<'py, PyBytes>> {
        let limit = limit(size);
        self.take(py, |bytes| (bytes.len() >= limit).then_some(limit))
    }

    #[pyo3(signature = (size = None))]
    fn readline<'py>(&self, py: Python<'py>, size: Option<isize>) -> PyResult<Bound<'py, PyBytes>> {
        let limit = limit(size);
        // What was searched once is not searched again: a line may be as long as the body.
        let mut n_searched = 0;
        self.take(py, |bytes| {
            let found = line(&bytes[n_searched..], limit - n_searched).map(|n| n_searched + n);
            n_searched = bytes.len().min(limit);
            found
        })
    }

    #[pyo3(signature = (hint = None))]
    fn readlines<'py>(&self, py: Python<'py>, hint: Option<isize>) -> PyResult<Bound<'py, PyList>> {
        let limit = hint.filter(|hint| *hint > 0).map_or(usize::MAX, isize::unsigned_abs);
        let lines = PyList::empty(py);
        let mut n_read = 0;
        while n_read < limit {
            let line = self.readline(py, None)?;
            if line.as_bytes().is_empty() {
                break;
            }
            n_read += line.as_bytes().len();
            lines.append(line)?;
        }
        Ok(lines)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let line = self.readline(py, None)?;
        Ok((!line.as_bytes().is_empty()).then_some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_their_line_feed_or_their_limit() {
        assert_eq!(line(b"a\nb", 10), Some(2));
        assert_eq!(line(b"abc", 10), None);
        assert_eq!(line(b"abc", 2), Some(2));
        assert_eq!(line(b"ab\n", 2), Some(2));
        assert_eq!(line(b"", 0), Some(0));
        assert_eq!(line(b"\n", 1), Some(1));
    }

    #[test]
    fn sizes_are_those_of_files() {
        assert_eq!(
            (limit(None), limit(Some(-1)), limit(Some(0)), limit(Some(7))),
            (usize::MAX, usize::MAX, 0, 7)
        );
    }
}
