//! Accepting connections of one listener in one event loop.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use corral_config::address::ListenAddress;
use corral_config::route::Destination;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Notify;

use crate::connection::{self, Connection};
use crate::event_loop::{Countdown, EventLoop};
use crate::generation::LoopGeneration;
use crate::io::Stream;

/// Pause after the system refused a connection for want of descriptors or memory.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// No accept queue is longer: who connects after the listener was closed must not keep it open.
const LONGEST_QUEUE: usize = 65_536;

/// A listening socket in an event loop.
pub(crate) enum Acceptor {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A listener as its connections know it.
pub(crate) struct Slot {
    pub(crate) address: ListenAddress,
    settings: RefCell<SlotSettings>,
    closed: Cell<bool>,
    closing: Notify,
    /// Held until the listening socket is closed, by which the address is free again.
    released: Cell<Option<Countdown>>,
}

/// Where requests go, in which configuration. Cheap to clone.
#[derive(Clone)]
pub(crate) struct SlotSettings {
    pub(crate) generation: Rc<LoopGeneration>,
    pub(crate) pass: Rc<Destination>,
}

impl Slot {
    pub(crate) fn new(address: ListenAddress, generation: Rc<LoopGeneration>, pass: Destination) -> Rc<Self> {
        let settings = RefCell::new(SlotSettings { generation, pass: Rc::new(pass) });
        let (closed, closing, released) = (Cell::new(false), Notify::new(), Cell::new(None));
        Rc::new(Self { address, settings, closed, closing, released })
    }

    /// From the next request on, connections of this listener use this configuration.
    pub(crate) fn configure(&self, generation: Rc<LoopGeneration>, pass: Destination) {
        self.settings.replace(SlotSettings { generation, pass: Rc::new(pass) });
    }

    pub(crate) fn settings(&self) -> SlotSettings {
        self.settings.borrow().clone()
    }

    /// No more connections; those that are open end after the request in progress.
    pub(crate) fn close(&self, released: Countdown) {
        self.released.set(Some(released));
        self.closed.set(true);
        self.closing.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get()
    }

    /// Tells the listeners of one loop apart.
    pub(crate) fn id(self: &Rc<Self>) -> usize {
        Rc::as_ptr(self) as usize
    }
}

/// Accepts until the slot is closed; what waited in the queue by then is still served.
pub(crate) async fn run(event_loop: Rc<EventLoop>, acceptor: Acceptor, slot: Rc<Slot>) {
    while !slot.is_closed() {
        let accepted = tokio::select! {
            biased;
            accepted = acceptor.accept() => accepted,
            () = slot.closing.notified() => break,
        };
        match accepted {
            Ok((stream, peer)) => serve(&event_loop, &slot, stream, peer),
            Err(error) if is_transient(&error) => {}
            Err(error) => {
                tracing::warn!("accept a connection: {error}");
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
            }
        }
    }
    for _ in 0..LONGEST_QUEUE {
        let Some((stream, peer)) = acceptor.accept_now().await else { break };
        serve(&event_loop, &slot, stream, peer);
    }
    drop(acceptor);
    drop(slot.released.take());
}

fn serve(event_loop: &Rc<EventLoop>, slot: &Rc<Slot>, stream: Stream, peer: Option<SocketAddr>) {
    event_loop.counters.accepted.add(1);
    let connection = Connection::new(Rc::clone(event_loop), Rc::clone(slot), stream, peer);
    tokio::task::spawn_local(connection::run(Box::new(connection)));
}

/// The client was gone before it was accepted: nobody's fault and nothing to wait for.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

impl Acceptor {
    async fn accept(&self) -> io::Result<(Stream, Option<SocketAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((Stream::Tcp(stream), Some(peer)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Stream::Unix(stream), None))
            }
        }
    }

    /// A connection that waits already, if there is one.
    async fn accept_now(&self) -> Option<(Stream, Option<SocketAddr>)> {
        poll_fn(|context| {
            let accepted = match self {
                Self::Tcp(listener) => {
                    listener.poll_accept(context).map_ok(|(stream, peer)| (Stream::Tcp(stream), Some(peer)))
                }
                Self::Unix(listener) => {
                    listener.poll_accept(context).map_ok(|(stream, _)| (Stream::Unix(stream), None))
                }
            };
            match accepted {
                Poll::Ready(Ok(connection)) => Poll::Ready(Some(connection)),
                Poll::Ready(Err(_)) | Poll::Pending => Poll::Ready(None),
            }
        })
        .await
    }
}
