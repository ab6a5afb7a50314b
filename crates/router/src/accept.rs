//! Accepting connections of one listener in one event loop.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use corral_config::address::ListenAddress;
use corral_config::listener::Listener;
use rustls::ServerConfig;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Notify;

use crate::connection::{self, Connection};
use crate::event_loop::{Countdown, EventLoop};
use crate::generation::LoopGeneration;
use crate::io::{Socket, Stream};

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

/// Which listener it is, in which configuration. Cheap to clone.
#[derive(Clone)]
pub(crate) struct SlotSettings {
    pub(crate) generation: Rc<LoopGeneration>,
    listener: usize,
}

impl SlotSettings {
    pub(crate) fn listener(&self) -> &Listener {
        &self.generation.config.listeners[self.listener]
    }

    /// What is needed to speak TLS, if it is to be spoken.
    pub(crate) fn tls(&self) -> Option<&Arc<ServerConfig>> {
        self.generation.shared.tls[self.listener].as_ref().map(|context| &context.config)
    }
}

impl Slot {
    /// `listener` is its index in the generation.
    pub(crate) fn new(address: ListenAddress, generation: Rc<LoopGeneration>, listener: usize) -> Rc<Self> {
        let settings = RefCell::new(SlotSettings { generation, listener });
        let (closed, closing, released) = (Cell::new(false), Notify::new(), Cell::new(None));
        Rc::new(Self { address, settings, closed, closing, released })
    }

    /// From the next request on, connections of this listener use this configuration.
    pub(crate) fn configure(&self, generation: Rc<LoopGeneration>, listener: usize) {
        self.settings.replace(SlotSettings { generation, listener });
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
            Ok((socket, peer)) => serve(&event_loop, &slot, socket, peer),
            Err(error) if is_transient(&error) => {}
            Err(error) => {
                tracing::warn!("accept a connection: {error}");
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
            }
        }
    }
    for _ in 0..LONGEST_QUEUE {
        let Some((socket, peer)) = acceptor.accept_now().await else { break };
        serve(&event_loop, &slot, socket, peer);
    }
    drop(acceptor);
    drop(slot.released.take());
}

fn serve(event_loop: &Rc<EventLoop>, slot: &Rc<Slot>, socket: Socket, peer: Option<SocketAddr>) {
    event_loop.counters.accepted.add(1);
    let connection = Connection::new(Rc::clone(event_loop), Rc::clone(slot), Stream::new(socket), peer);
    tokio::task::spawn_local(connection::run(Box::new(connection)));
}

/// The client was gone before it was accepted: nobody's fault and nothing to wait for.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

impl Acceptor {
    async fn accept(&self) -> io::Result<(Socket, Option<SocketAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((Socket::Tcp(stream), Some(peer)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Socket::Unix(stream), None))
            }
        }
    }

    /// A connection that waits already, if there is one.
    async fn accept_now(&self) -> Option<(Socket, Option<SocketAddr>)> {
        poll_fn(|context| {
            let accepted = match self {
                Self::Tcp(listener) => {
                    listener.poll_accept(context).map_ok(|(stream, peer)| (Socket::Tcp(stream), Some(peer)))
                }
                Self::Unix(listener) => {
                    listener.poll_accept(context).map_ok(|(stream, _)| (Socket::Unix(stream), None))
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
