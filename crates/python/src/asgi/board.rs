//! The channel as the event loop sees it that looks at it.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex};

use corral_worker::{Event, Switchboard};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::inlet::Inlet;
use super::queue::Shared;
use super::requests::Requests;
use super::scope::Scopes;
use super::shared_channel::{SharedSwitchboard, lock};

/// The state that the startup of each target has left for its requests, if it knows the lifespan protocol.
pub(super) type States = Vec<Option<Py<PyDict>>>;

/// The channel, and where requests run.
#[pyclass(frozen, module = "corral")]
pub(super) struct Board {
    switchboard: SharedSwitchboard,
    place: Place,
    fd: RawFd,
}

enum Place {
    /// In the loop that looks at the channel.
    Here(Requests),
    /// In loops of other threads.
    Threads { queue: Shared, inlets: Vec<Py<Inlet>> },
}

impl Board {
    /// With the states of each loop that runs requests.
    pub(super) fn new(
        py: Python<'_>,
        switchboard: Switchboard,
        prefixes: &[Option<String>],
        states: Vec<States>,
    ) -> PyResult<Self> {
        let fd = switchboard.bell().as_raw_fd();
        let switchboard = Arc::new(Mutex::new(switchboard));
        let scopes = states.into_iter().map(|states| Scopes::new(py, prefixes.to_vec(), states));
        let mut scopes = scopes.collect::<PyResult<Vec<_>>>()?;
        let place = match scopes.pop() {
            Some(only) if scopes.is_empty() => Place::Here(Requests::new(&switchboard, only, None)),
            last => {
                scopes.extend(last);
                let queue = Shared::new(scopes.len());
                let inlets = scopes.into_iter().enumerate();
                let inlets =
                    inlets.map(|(idx, scopes)| Py::new(py, Inlet::new(&switchboard, &queue, idx, scopes)));
                Place::Threads { inlets: inlets.collect::<PyResult<_>>()?, queue }
            }
        };
        Ok(Self { switchboard, place, fd })
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
        lock(&self.switchboard).silence();
    }

    /// Whether the loop may sleep until the bell rings.
    fn may_sleep(&self) -> bool {
        lock(&self.switchboard).may_sleep()
    }

    /// Whether the worker is to leave.
    fn is_over(&self) -> bool {
        lock(&self.switchboard).is_over()
    }

    /// Takes what has come; true if that was something. `crew` begins requests, or calls the loops that do.
    fn poll(&self, py: Python<'_>, crew: &Bound<'_, PyAny>) -> PyResult<bool> {
        let mut events = Vec::new();
        lock(&self.switchboard).receive(&mut events);
        let is_busy = !events.is_empty();
        match &self.place {
            Place::Here(requests) => requests.take(py, crew, events)?,
            Place::Threads { queue, .. } if is_busy => hand_out(py, crew, queue, events)?,
            Place::Threads { .. } => {}
        }
        Ok(is_busy)
    }

    /// For the loop of each thread.
    fn inlets(&self, py: Python<'_>) -> Vec<Py<Inlet>> {
        match &self.place {
            Place::Here(_) => Vec::new(),
            Place::Threads { inlets, .. } => inlets.iter().map(|inlet| inlet.clone_ref(py)).collect(),
        }
    }

    /// The loops to call because those that were called let requests wait.
    fn others(&self) -> Vec<usize> {
        match &self.place {
            Place::Here(_) => Vec::new(),
            Place::Threads { queue, .. } => queue.lock().call_others(),
        }
    }
}

/// Leaves what has come to the loops of other threads, and calls them.
fn hand_out(py: Python<'_>, crew: &Bound<'_, PyAny>, queue: &Shared, events: Vec<Event>) -> PyResult<()> {
    let (called, has_others) = {
        let mut queue = queue.lock();
        let called = events.into_iter().filter_map(|event| match event {
            Event::Begun(key, payload) => queue.add(key, payload),
            Event::Changed(key) => queue.change(key),
        });
        (called.collect::<Vec<_>>(), queue.has_others())
    };
    for idx in called {
        crew.call_method1(pyo3::intern!(py, "call"), (idx,))?;
    }
    if has_others {
        crew.call_method0(pyo3::intern!(py, "call_others_later"))?;
    }
    Ok(())
}
