//! Accepting connections of one listener in one event loop.

use std::cell::Cell;
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
use corral_sys::listen;
use corral_sys::watched::Watched;
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::client::address;
use crate::client::connection::ClientConnection;
use crate::client::layer4;
use crate::client::listener_handle::ListenerHandle;
use crate::client::serve;
use crate::clock::Millis;
use crate::io::{AnySocket, ClientStream};
use crate::services::LoopServices;
use crate::services::admission::ConnectionPermit;

/// Pause after the system refused a connection for want of descriptors or memory.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// Connections of one event loop that are told at a time why they are refused.
const MOST_REFUSING: usize = 64;

/// No accept queue is longer: a client that connects after the listener was closed must not keep it open.
const LONGEST_QUEUE: usize = 65_536;

/// The sockets of one listener in one event loop: one, unless they were bound for more loops than there are.
pub(crate) struct Acceptor {
    sockets: Vec<Watched>,
    is_inet: bool,
    /// The socket whose turn it is.
    next: Cell<usize>,
}

/// Accepts until the listener is closed; what waited in the queue by then is still served.
pub(crate) async fn run(services: Rc<LoopServices>, acceptor: Acceptor, handle: Rc<ListenerHandle>) {
    while !handle.is_closed() {
        let accepted = tokio::select! {
            biased;
            accepted = acceptor.accept() => accepted,
            () = handle.closing() => break,
        };
        match accepted {
            Ok((socket, peer)) => {
                let permit = permit(&services, &handle).await;
                take(&services, &handle, socket, peer, permit);
            }
            Err(error) if is_transient(&error) => {}
            Err(error) => recover(&services, &error).await,
        }
    }
    for _ in 0..LONGEST_QUEUE {
        let Some((socket, peer)) = acceptor.accept_now().await else { break };
        take(&services, &handle, socket, peer, services.admission.enter());
    }
    drop(acceptor);
    handle.release();
}

/// A permit for a connection. While there is none, others wait in the queue of the socket, and connections that wait
/// for a request make room.
async fn permit(services: &LoopServices, handle: &ListenerHandle) -> ConnectionPermit {
    let admission = &services.admission;
    if let Some(permit) = admission.try_enter() {
        return permit;
    }
    if let Some(suppressed) = admission.throttle.full.admit(Millis::of(services.deadlines.now())) {
        let most = admission.most();
        tracing::warn!(
            "there are {most} connections (settings.limits.connections): idle ones are closed, new ones \
            wait{suppressed}"
        );
    }
    let make_room = || services.deadlines.expire_oldest_idle() > 0;
    tokio::select! {
        biased;
        permit = admission.wait(services.lane, make_room) => permit,
        () = handle.closing() => admission.enter(),
    }
}

/// The system is short of something: connections that wait for a request give some of it back.
async fn recover(services: &LoopServices, error: &io::Error) {
    let throttle = &services.admission.throttle;
    if let Some(suppressed) = throttle.exhausted.admit(Millis::of(services.deadlines.now())) {
        tracing::warn!("accept a connection: {error}; idle connections are closed{suppressed}");
    }
    services.deadlines.expire_oldest_idle();
    tokio::time::sleep(EXHAUSTED_PAUSE).await;
}

fn take(
    services: &Rc<LoopServices>,
    handle: &Rc<ListenerHandle>,
    socket: AnySocket,
    peer: Option<SocketAddr>,
    mut permit: ConnectionPermit,
) {
    services.counters.accepted.add(1);
    let settings = handle.settings();
    let is_refused =
        !settings.will_name_client(peer) && !address::admit(services, &settings, peer, &mut permit);
    let is_raw = settings.listener().layer4.is_some();
    // In a flood clients are not told why.
    let is_silent =
        is_raw || settings.tls().is_some() || Rc::strong_count(&services.refusing) > MOST_REFUSING;
    if is_refused && is_silent {
        services.counters.closed.add(1);
        return;
    }
    // A client that begins with TLS or a header takes no memory before that, and one that is told to go is not waited
    // for.
    if settings.has_prelude() || handle.is_closed() {
        // An error shows when it is read.
        let _ = socket.watch();
    }
    let stream = ClientStream::new(socket);
    let mut connection = ClientConnection::new(Rc::clone(services), Rc::clone(handle), stream, peer, permit);
    if is_refused {
        connection.refuse();
    }
    if is_raw {
        tokio::task::spawn_local(layer4::run(Box::new(connection)));
    } else {
        tokio::task::spawn_local(serve::run(Box::new(connection)));
    }
}

/// Whether the client was gone before it was accepted, which is not a fault and nothing to wait for.
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
    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(AnySocket, Option<SocketAddr>)>> {
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

    fn open(&self, socket: OwnedFd) -> io::Result<AnySocket> {
        Ok(if self.is_inet {
            AnySocket::accepted(StdTcpStream::from(socket))
        } else {
            AnySocket::unix(UnixStream::from_std(StdUnixStream::from(socket))?)
        })
    }

    async fn accept(&self) -> io::Result<(AnySocket, Option<SocketAddr>)> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    /// A connection that waits already, if there is one.
    async fn accept_now(&self) -> Option<(AnySocket, Option<SocketAddr>)> {
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
