//! `wsgi.file_wrapper`: a file as a response. One of the system is left to the server, or read without Python.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pyo3::prelude::*;
use rustix::fs::FileType;

use super::Call;
use super::response::Stop;

/// Bytes that are read and sent at a time.
const PIECE: usize = 128 * 1024;

/// An iterable of a file's pieces.
#[pyclass(frozen, module = "corral")]
pub(super) struct FileWrapper {
    #[pyo3(get)]
    filelike: Py<PyAny>,
    #[pyo3(get)]
    blksize: usize,
}

#[pymethods]
impl FileWrapper {
    #[new]
    #[pyo3(signature = (filelike, blksize = 8192))]
    fn new(filelike: Py<PyAny>, blksize: usize) -> Self {
        Self { filelike, blksize }
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let piece = self.filelike.bind(py).call_method1("read", (self.blksize,))?;
        Ok(piece.is_truthy()?.then_some(piece))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        match self.filelike.bind(py).getattr_opt("close")? {
            Some(close) => close.call0().map(drop),
            None => Ok(()),
        }
    }
}

/// Sends the rest of the file; false if it has to be read by its methods.
pub(super) fn send(py: Python<'_>, call: &Call, wrapper: &Bound<'_, FileWrapper>) -> Result<bool, Stop> {
    let Some((file, mut position)) = regular_file(wrapper.get().filelike.bind(py)) else {
        return Ok(false);
    };
    if call.send_file(py, file.as_fd(), position)? {
        return Ok(true);
    }
    let mut piece = vec![0; PIECE];
    while call.wants_body(py)? {
        let n = py.detach(|| rustix::io::pread(&file, &mut piece, position)).map_err(std::io::Error::from)?;
        if n == 0 {
            break;
        }
        call.write(py, &piece[..n])?;
        position += n as u64;
    }
    Ok(true)
}

/// The file and where its reader is, if it is one that can be read at any place.
fn regular_file(filelike: &Bound<'_, PyAny>) -> Option<(OwnedFd, u64)> {
    let number: i32 = filelike.call_method0("fileno").ok()?.extract().ok()?;
    let position = filelike.call_method0("tell").ok()?.extract().ok()?;
    if number < 0 {
        return None;
    }
    // SAFETY: the file object has just said that this is its descriptor, and this thread holds Python's lock until it
    // is duplicated; a number that is nobody's is an error of the call.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    let file = rustix::io::fcntl_dupfd_cloexec(borrowed, 0).ok()?;
    let is_regular = FileType::from_raw_mode(rustix::fs::fstat(&file).ok()?.st_mode) == FileType::RegularFile;
    is_regular.then_some((file, position))
}
