//! Accepting connections of one listener in one event loop.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use corral_config::address::ListenAddress;
use corral_config::listener::Listener;
use corral_sys::listen;
use corral_sys::watched::Watched;
use rustls::ServerConfig;
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Notify;

use crate::client::admission::Place;
use crate::client::connection::{self, Connection};
use crate::client::prelude::Shown;
use crate::event_loop::clock::Millis;
use crate::event_loop::{Countdown, EventLoop};
use crate::generation::LoopGeneration;
use crate::io::{Socket, Stream};

/// Pause after the system refused a connection for want of descriptors or memory.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// Connections of one event loop that are told at a time why they are refused.
const MOST_REFUSING: usize = 64;

/// No accept queue is longer: who connects after the listener was closed must not keep it open.
const LONGEST_QUEUE: usize = 65_536;

/// The sockets of one listener in one event loop: one, unless they were bound for more loops than there are.
pub(crate) struct Acceptor {
    sockets: Vec<Watched>,
    is_inet: bool,
    /// Whose turn it is.
    next: Cell<usize>,
}

/// A listener as its connections know it.
pub(crate) struct Slot {
    pub(crate) address: ListenAddress,
    settings: RefCell<SlotSettings>,
    /// Closed, and for how long connections may wait for a request all the same.
    closed: Cell<Option<Duration>>,
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

    /// Whether connections begin with something else than a request.
    pub(crate) fn has_prelude(&self) -> bool {
        self.tls().is_some() || self.listener().proxy_protocol.is_some()
    }

    /// Whether the connection will begin with a header that names the client.
    fn will_name_client(&self, peer: Option<SocketAddr>) -> bool {
        self.listener().proxy_protocol.as_ref().is_some_and(|source| source.matches(peer))
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
        let (closed, closing, released) = (Cell::new(None), Notify::new(), Cell::new(None));
        Rc::new(Self { address, settings, closed, closing, released })
    }

    /// From the next request on, connections of this listener use this configuration.
    pub(crate) fn configure(&self, generation: Rc<LoopGeneration>, listener: usize) {
        self.settings.replace(SlotSettings { generation, listener });
    }

    pub(crate) fn settings(&self) -> SlotSettings {
        self.settings.borrow().clone()
    }

    /// No more connections; those that are open end after the request in progress, or the next one if it comes
    /// in time.
    pub(crate) fn close(&self, keep_idle: Duration, released: Countdown) {
        self.released.set(Some(released));
        self.closed.set(Some(keep_idle));
        self.closing.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get().is_some()
    }

    /// For how long a connection may wait for a request, if the listener is closed.
    pub(crate) fn keep_idle(&self) -> Option<Duration> {
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
            Ok((socket, peer)) => {
                let place = place(&event_loop, &slot).await;
                serve(&event_loop, &slot, socket, peer, place);
            }
            Err(error) if is_transient(&error) => {}
            Err(error) => recover(&event_loop, &error).await,
        }
    }
    for _ in 0..LONGEST_QUEUE {
        let Some((socket, peer)) = acceptor.accept_now().await else { break };
        serve(&event_loop, &slot, socket, peer, event_loop.admission.enter());
    }
    drop(acceptor);
    drop(slot.released.take());
}

/// A place for a connection. While there is none, others wait in the queue of the socket, and connections that wait for
/// a request make room.
async fn place(event_loop: &EventLoop, slot: &Slot) -> Place {
    let admission = &event_loop.admission;
    if let Some(place) = admission.try_enter() {
        return place;
    }
    if let Some(unsaid) = admission.complaints.full.admit(Millis::of(event_loop.deadlines.now())) {
        let most = admission.most();
        tracing::warn!(
            "there are {most} connections (settings.limits.connections): idle ones are closed, new ones wait{unsaid}"
        );
    }
    let make_room = || event_loop.deadlines.expire_oldest_idle() > 0;
    tokio::select! {
        biased;
        place = admission.wait(event_loop.lane(), make_room) => place,
        () = slot.closing.notified() => admission.enter(),
    }
}

/// The system is short of something: connections that wait for a request give some of it back.
async fn recover(event_loop: &EventLoop, error: &io::Error) {
    let complaints = &event_loop.admission.complaints;
    if let Some(unsaid) = complaints.exhausted.admit(Millis::of(event_loop.deadlines.now())) {
        tracing::warn!("accept a connection: {error}; idle connections are closed{unsaid}");
    }
    event_loop.deadlines.expire_oldest_idle();
    tokio::time::sleep(EXHAUSTED_PAUSE).await;
}

fn serve(
    event_loop: &Rc<EventLoop>,
    slot: &Rc<Slot>,
    socket: Socket,
    peer: Option<SocketAddr>,
    mut place: Place,
) {
    event_loop.counters.accepted.add(1);
    let settings = slot.settings();
    let is_refused = !settings.will_name_client(peer) && !admit(event_loop, &settings, peer, &mut place);
    // In a flood nobody is told why.
    if is_refused && (settings.tls().is_some() || Rc::strong_count(&event_loop.refusing) > MOST_REFUSING) {
        event_loop.counters.closed.add(1);
        return;
    }
    let stream = Stream::new(socket);
    let mut connection = Connection::new(Rc::clone(event_loop), Rc::clone(slot), stream, peer, place);
    if is_refused {
        connection.refuse();
    }
    tokio::task::spawn_local(connection::run(Box::new(connection)));
}

/// Whether the client may have one more connection. Proxies that are trusted to name their clients may have any number.
pub(crate) fn admit(
    event_loop: &EventLoop,
    settings: &SlotSettings,
    peer: Option<SocketAddr>,
    place: &mut Place,
) -> bool {
    let Some(address) = peer else { return true };
    let listener = settings.listener();
    if listener.forwarded.iter().any(|rule| rule.source.matches(peer)) || place.claim(address.ip()) {
        return true;
    }
    event_loop.counters.refused.add(1);
    let complaints = &event_loop.admission.complaints;
    if let Some(unsaid) = complaints.refused.admit(Millis::of(event_loop.deadlines.now())) {
        tracing::warn!(
            "{}: refused, its address has too many connections (settings.limits.connections_per_address){unsaid}",
            Shown(peer)
        );
    }
    false
}

/// The client was gone before it was accepted: nobody's fault and nothing to wait for.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

impl Acceptor {
    /// Takes over the sockets of an address.
    ///
    /// # Errors
    /// When one cannot be watched.
    pub(crate) fn new(address: &ListenAddress, sockets: Vec<Arc<OwnedFd>>) -> io::Result<Self> {
        let is_inet = matches!(address, ListenAddress::Inet(_));
        let sockets = sockets.into_iter().map(|socket| Watched::new(socket, Interest::READABLE));
        Ok(Self { sockets: sockets.collect::<io::Result<_>>()?, is_inet, next: Cell::new(0) })
    }

    /// Looks at the sockets in turns, so that no queue waits for another to become empty.
    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(Socket, Option<SocketAddr>)>> {
        let n_sockets = self.sockets.len();
        for _ in 0..n_sockets {
            let idx = self.next.get() % n_sockets;
            self.next.set(idx + 1);
            if let Poll::Ready(accepted) = poll_accept(&self.sockets[idx], context) {
                return Poll::Ready(accepted.and_then(|(socket, peer)| Ok((self.open(socket)?, peer))));
            }
        }
        Poll::Pending
    }

    fn open(&self, socket: OwnedFd) -> io::Result<Socket> {
        Ok(if self.is_inet {
            Socket::Tcp(TcpStream::from_std(StdTcpStream::from(socket))?)
        } else {
            Socket::unix(UnixStream::from_std(StdUnixStream::from(socket))?)
        })
    }

    async fn accept(&self) -> io::Result<(Socket, Option<SocketAddr>)> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    /// A connection that waits already, if there is one.
    async fn accept_now(&self) -> Option<(Socket, Option<SocketAddr>)> {
        poll_fn(|context| match self.poll_accept(context) {
            Poll::Ready(Ok(connection)) => Poll::Ready(Some(connection)),
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Ready(None),
        })
        .await
    }
}

fn poll_accept(
    listening: &Watched,
    context: &mut Context<'_>,
) -> Poll<io::Result<(OwnedFd, Option<SocketAddr>)>> {
    loop {
        let mut guard = ready!(listening.poll_readable(context))?;
        if let Ok(accepted) = guard.try_io(|socket| listen::accept(socket.get_ref())) {
            return Poll::Ready(accepted);
        }
    }
}
