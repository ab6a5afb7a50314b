//! A connection that streams share, and the task that drives it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use corral_config::upstream::KeepAlive;
use h2::client::{Connection, SendRequest};
use tokio::sync::Notify;

use super::settings::{MOST_STREAMS, UNSAID, builder};
use crate::upstream::failure::ServerFailure;
use crate::upstream::server_connection::ServerConnection;

/// How long a connection that is not used any more may take to say so.
const GOODBYE: Duration = Duration::from_secs(5);

/// A connection to a server.
pub(super) struct H2Connection {
    sender: SendRequest<Bytes>,
    state: Rc<ConnectionStatus>,
    is_tls: bool,
    n_streams: Cell<usize>,
    n_requests: Cell<u32>,
    /// Nothing new is sent on it.
    is_retired: Cell<bool>,
    idle_since: Cell<Instant>,
}

/// Words between the task that drives a connection and those that use it.
#[derive(Default)]
struct ConnectionStatus {
    /// The server's SETTINGS have come.
    is_settled: Cell<bool>,
    end: RefCell<Option<ServerFailure>>,
    has_ended: Cell<bool>,
    changed: Notify,
    abandoned: Notify,
}

/// A permit for one request on a connection.
pub(crate) struct StreamPermit {
    h2_connection: Rc<H2Connection>,
    sender: SendRequest<Bytes>,
    /// The connection was not used before.
    is_first: bool,
}

impl H2Connection {
    /// Begins to speak HTTP/2, and waits until the server does. The caller limits the time.
    pub(super) async fn open(server_connection: ServerConnection) -> Result<Rc<Self>, ServerFailure> {
        let is_tls = server_connection.plain().is_none();
        let (sender, connection) =
            builder().handshake(server_connection).await.map_err(ServerFailure::NotHttp2)?;
        let state = Rc::<ConnectionStatus>::default();
        tokio::task::spawn_local(drive(connection, Rc::clone(&state)));
        let h2_connection = Rc::new(Self {
            sender,
            state,
            is_tls,
            n_streams: Cell::new(0),
            n_requests: Cell::new(0),
            is_retired: Cell::new(false),
            idle_since: Cell::new(Instant::now()),
        });
        h2_connection.state.settled().await?;
        Ok(h2_connection)
    }

    /// A permit on it, if there is one; `Err` when it is of no use any more.
    pub(super) fn permit(self: &Rc<Self>, rules: &KeepAlive) -> Result<Option<StreamPermit>, Unusable> {
        let mut sender = self.sender.clone();
        // An error is the server's GOAWAY, or the connection's end.
        let refuses =
            matches!(sender.poll_ready(&mut Context::from_waker(Waker::noop())), Poll::Ready(Err(_)));
        if refuses || self.state.has_ended.get() || self.is_retired.get() || self.is_used_up(rules) {
            return Err(Unusable);
        }
        if self.n_streams.get() >= MOST_STREAMS.min(self.sender.current_max_send_streams()) {
            return Ok(None);
        }
        let n_requests = self.n_requests.get();
        self.n_streams.set(self.n_streams.get() + 1);
        self.n_requests.set(n_requests.saturating_add(1));
        Ok(Some(StreamPermit { h2_connection: Rc::clone(self), sender, is_first: n_requests == 0 }))
    }

    fn is_used_up(&self, rules: &KeepAlive) -> bool {
        let most = if rules.connections == 0 { 1 } else { rules.requests };
        most > 0 && self.n_requests.get() >= most
    }

    /// The moment since which it is idle, if it is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (self.n_streams.get() == 0).then(|| self.idle_since.get())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state.has_ended.get()
    }
}

/// Nothing new can be sent on a connection.
pub(super) struct Unusable;

impl Drop for H2Connection {
    fn drop(&mut self) {
        self.state.abandoned.notify_one();
    }
}

impl ConnectionStatus {
    /// Waits for the server's SETTINGS.
    async fn settled(&self) -> Result<(), ServerFailure> {
        while !self.is_settled.get() {
            if self.has_ended.get() {
                return Err(self.end.take().unwrap_or(ServerFailure::Closed));
            }
            self.changed.notified().await;
        }
        Ok(())
    }
}

/// Reads and writes frames until the connection has ended.
async fn drive(mut connection: Connection<ServerConnection, Bytes>, state: Rc<ConnectionStatus>) {
    let mut driven = pin!(poll_fn(|context| {
        let end = Pin::new(&mut connection).poll(context);
        if !state.is_settled.get() && connection.max_concurrent_send_streams() != UNSAID {
            state.is_settled.set(true);
            state.changed.notify_waiters();
        }
        end
    }));
    let end = tokio::select! {
        end = &mut driven => end,
        () = state.abandoned.notified() => tokio::time::timeout(GOODBYE, driven).await.unwrap_or(Ok(())),
    };
    state.end.replace(end.err().map(ServerFailure::NotHttp2));
    state.has_ended.set(true);
    state.changed.notify_waiters();
}

impl StreamPermit {
    /// A request may meet a connection that the server is about to close, unless it is the first one on it.
    pub(crate) fn is_first(&self) -> bool {
        self.is_first
    }

    /// Nothing new is sent on the connection, as it is unknown whether anything arrives.
    pub(crate) fn retire(&self) {
        self.h2_connection.is_retired.set(true);
    }

    /// Whether the server takes an extended CONNECT (RFC 8441).
    pub(super) fn takes_tunnels(&self) -> bool {
        self.sender.is_extended_connect_protocol_enabled()
    }

    pub(super) fn is_tls(&self) -> bool {
        self.h2_connection.is_tls
    }

    pub(super) fn sender(&mut self) -> &mut SendRequest<Bytes> {
        &mut self.sender
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.h2_connection.n_streams.set(self.h2_connection.n_streams.get() - 1);
        self.h2_connection.idle_since.set(Instant::now());
    }
}
