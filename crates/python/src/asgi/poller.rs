//! The channel as the event loop sees it that looks at it.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex};

use corral_worker::{AsyncChannel, ChannelEvent};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::loop_inbox::LoopInbox;
use super::queue::SharedQueue;
use super::requests::LoopRequests;
use super::scope::Scopes;
use super::shared_channel::{SharedChannel, lock};

/// The state that the startup of each target has left for its requests, if it knows the lifespan protocol.
pub(super) type States = Vec<Option<Py<PyDict>>>;

/// The channel, and where requests run.
#[pyclass(frozen, module = "corral")]
pub(super) struct Poller {
    channel: SharedChannel,
    place: Delivery,
    fd: RawFd,
}

enum Delivery {
    /// In the loop that looks at the channel.
    Here(LoopRequests),
    /// In loops of other threads.
    Threads { queue: SharedQueue, inlets: Vec<Py<LoopInbox>> },
}

impl Poller {
    /// With the states of each loop that runs requests.
    pub(super) fn new(
        py: Python<'_>,
        channel: AsyncChannel,
        prefixes: &[Option<String>],
        states: Vec<States>,
    ) -> PyResult<Self> {
        let fd = channel.bell().as_raw_fd();
        let channel = Arc::new(Mutex::new(channel));
        let scopes = states.into_iter().map(|states| Scopes::new(py, prefixes.to_vec(), states));
        let mut scopes = scopes.collect::<PyResult<Vec<_>>>()?;
        let place = match scopes.pop() {
            Some(only) if scopes.is_empty() => Delivery::Here(LoopRequests::new(&channel, only, None)),
            last => {
                scopes.extend(last);
                let queue = SharedQueue::new(scopes.len());
                let inlets = scopes.into_iter().enumerate();
                let inlets =
                    inlets.map(|(idx, scopes)| Py::new(py, LoopInbox::new(&channel, &queue, idx, scopes)));
                Delivery::Threads { inlets: inlets.collect::<PyResult<_>>()?, queue }
            }
        };
        Ok(Self { channel, place, fd })
    }
}

#[pymethods]
impl Poller {
    /// Readable when something has come.
    fn fileno(&self) -> RawFd {
        self.fd
    }

    /// The loop is up.
    fn silence(&self) {
        lock(&self.channel).silence();
    }

    /// Whether the loop may sleep until the bell rings.
    fn may_sleep(&self) -> bool {
        lock(&self.channel).may_sleep()
    }

    /// Whether the worker is to leave.
    fn is_over(&self) -> bool {
        lock(&self.channel).is_over()
    }

    /// Takes what has come; true if that was something. `crew` begins requests, or calls the loops that do.
    fn poll(&self, py: Python<'_>, crew: &Bound<'_, PyAny>) -> PyResult<bool> {
        let mut events = Vec::new();
        lock(&self.channel).receive(&mut events);
        let is_busy = !events.is_empty();
        match &self.place {
            Delivery::Here(requests) => requests.take(py, crew, events)?,
            Delivery::Threads { queue, .. } if is_busy => hand_out(py, crew, queue, events)?,
            Delivery::Threads { .. } => {}
        }
        Ok(is_busy)
    }

    /// For the loop of each thread.
    fn inlets(&self, py: Python<'_>) -> Vec<Py<LoopInbox>> {
        match &self.place {
            Delivery::Here(_) => Vec::new(),
            Delivery::Threads { inlets, .. } => inlets.iter().map(|inlet| inlet.clone_ref(py)).collect(),
        }
    }

    /// The loops to call because those that were called let requests wait.
    fn others(&self) -> Vec<usize> {
        match &self.place {
            Delivery::Here(_) => Vec::new(),
            Delivery::Threads { queue, .. } => queue.lock().call_others(),
        }
    }
}

/// Leaves what has come to the loops of other threads, and calls them.
fn hand_out(
    py: Python<'_>,
    crew: &Bound<'_, PyAny>,
    queue: &SharedQueue,
    events: Vec<ChannelEvent>,
) -> PyResult<()> {
    let (called, has_others) = {
        let mut queue = queue.lock();
        let called = events.into_iter().filter_map(|event| match event {
            ChannelEvent::Begun(key, payload) => queue.add(key, payload),
            ChannelEvent::Changed(key) => queue.change(key),
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
