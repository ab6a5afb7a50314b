//! ASGI 3: many requests at once, in an event loop of Python or in one of each thread. What a coroutine is needed for
//! is in `shim/asgi.py`, and threads are in `shim/asgi_threads.py`.

mod ended;
mod events;
mod incoming;
mod loop_inbox;
mod poller;
mod queue;
mod request;
mod requests;
mod scope;
mod shared_channel;
mod state;
mod trailers;

use std::num::{NonZeroU32, NonZeroUsize};

use corral_worker::{AsyncChannel, EventLoop, Threads, complain, is_stranger};
use pyo3::prelude::*;
use pyo3::types::PyModule;

use self::poller::{Poller, States};
use crate::application::Target;
use crate::{errors, interpreter};

/// Requests that a worker runs at once: as many as come, WebSocket connections among them.
const HANDS: NonZeroU32 = NonZeroU32::new(65_536).expect("not zero");

/// The loop or loops, with applications that have started.
pub(crate) struct Asgi {
    crew: Py<PyAny>,
    /// The prefix of each target's paths.
    prefixes: Vec<Option<String>>,
}

impl Asgi {
    /// Makes the loop, or one in each of several threads, and runs it until the applications have started.
    ///
    /// # Errors
    /// When an application reports or raises that it cannot start.
    pub(crate) fn start(py: Python<'_>, targets: Vec<Target>, threads: Threads) -> PyResult<Self> {
        let asgi = PyModule::from_code(
            py,
            c_str(concat!(include_str!("../shim/asgi.py"), "\0")),
            c"corral/asgi.py",
            c"corral_asgi",
        )?;
        request::keep_exception(py, &asgi)?;
        let apps: Vec<_> = targets.iter().map(|target| target.callable.clone_ref(py)).collect();
        let crew = if threads.n.get() == 1 {
            asgi.getattr("Alone")?.call1((apps,))?
        } else {
            let crew = PyModule::from_code(
                py,
                c_str(concat!(include_str!("../shim/asgi_threads.py"), "\0")),
                c"corral/asgi_threads.py",
                c"corral_asgi_threads",
            )?;
            let stack_size = threads.stack_size.map(NonZeroUsize::get);
            crew.getattr("Crew")?.call1((apps, threads.n.get(), stack_size))?
        };
        let prefixes = targets.into_iter().map(|target| target.prefix).collect();
        Ok(Self { crew: crew.unbind(), prefixes })
    }
}

impl EventLoop for Asgi {
    fn concurrency(&self) -> NonZeroU32 {
        HANDS
    }

    fn run(&mut self, channel: AsyncChannel) {
        Python::attach(|py| {
            let run = || {
                let crew = self.crew.bind(py);
                let states: Vec<States> = crew.call_method0("states")?.extract()?;
                let board = Bound::new(py, Poller::new(py, channel, &self.prefixes, states)?)?;
                crew.call_method1("run", (board,))
            };
            let ran = run();
            if is_stranger() {
                interpreter::end_process(py, ran.err());
            }
            if let Err(error) = ran {
                complain(format_args!("the worker leaves: {}", errors::traceback(py, &error)));
            }
        });
    }
}

fn c_str(text: &'static str) -> &'static std::ffi::CStr {
    std::ffi::CStr::from_bytes_with_nul(text.as_bytes()).expect("it ends with the only NUL")
}
