//! ASGI 3: many requests at once, in one event loop of Python. What a coroutine is needed for is in `shim/asgi.py`.

mod board;
mod events;
mod incoming;
mod request;
mod scope;
mod trailers;

use std::num::NonZeroU32;

use corral_worker::{EventLoop, Switchboard, complain};
use pyo3::prelude::*;
use pyo3::types::PyModule;

use self::board::Board;
use crate::application::Target;
use crate::errors;

/// Requests that a worker runs at once: as many as come, WebSocket connections among them.
const HANDS: NonZeroU32 = NonZeroU32::new(65_536).expect("not zero");

/// The loop, with applications that have started.
pub(crate) struct Asgi {
    server: Py<PyAny>,
    /// What the paths of each target begin with.
    prefixes: Vec<Option<String>>,
}

impl Asgi {
    /// Makes the loop, and runs it until the applications have started.
    ///
    /// # Errors
    /// What an application says or raises when it cannot start.
    pub(crate) fn start(py: Python<'_>, targets: Vec<Target>) -> PyResult<Self> {
        let module = PyModule::from_code(
            py,
            c_str(concat!(include_str!("../shim/asgi.py"), "\0")),
            c"corral/asgi.py",
            c"corral_asgi",
        )?;
        request::keep_exception(py, &module)?;
        let apps: Vec<_> = targets.iter().map(|target| target.callable.clone_ref(py)).collect();
        let server = module.getattr("Server")?.call1((apps,))?.unbind();
        Ok(Self { server, prefixes: targets.into_iter().map(|target| target.prefix).collect() })
    }
}

impl EventLoop for Asgi {
    fn hands(&self) -> NonZeroU32 {
        HANDS
    }

    fn run(&mut self, switchboard: Switchboard) {
        Python::attach(|py| {
            let run = || {
                let prefixes = std::mem::take(&mut self.prefixes);
                let server = self.server.bind(py);
                let states = server.call_method0("states")?.extract()?;
                let board = Bound::new(py, Board::new(py, switchboard, prefixes, states)?)?;
                server.call_method1("run", (board,))
            };
            if let Err(error) = run() {
                complain(format_args!("the worker leaves: {}", errors::traceback(py, &error)));
            }
        });
    }
}

fn c_str(text: &'static str) -> &'static std::ffi::CStr {
    std::ffi::CStr::from_bytes_with_nul(text.as_bytes()).expect("it ends with the only NUL")
}
