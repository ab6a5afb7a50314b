//! Sessions of UDP: the datagrams of one client, by its address and port, go to one server by a socket of their own.
//! All that comes back there goes to the client.
//!
//! One event loop has all of a listener. A client may lie about its address: what it costs is bounded by the number of
//! sessions, and what others get by the number of responses.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_config::layer4::SessionLimits;
use corral_sys::datagram::{self, LocalIp};
use corral_sys::socket::{receive, send_some};
use corral_sys::watched::Watched;
use tokio::io::Interest;
use tokio::sync::Notify;

use super::attempts::{self, ServerUse};
use crate::clock::deadline::{Deadline, Elapsed};
use crate::counters::LoopCounters;
use crate::upstream::{
    LoopGroup, LoopServer, ServerAdmission, ServerFailure, ServerGroup, ServerWish, TriedServers,
};

/// No datagram is larger.
const MAX_DATAGRAM: usize = 64 * 1024;

/// Datagrams of one server that are passed on before others get their turn.
const DATAGRAMS_PER_TURN: usize = 32;

thread_local! {
    /// Room for the datagram at hand.
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A client, and the address of this machine that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    pub(crate) peer: SocketAddr,
    pub(crate) local: LocalIp,
}

/// All sessions of a listener.
pub(crate) struct Sessions {
    /// Where clients send to; none once it is closed.
    front: RefCell<Option<Arc<OwnedFd>>>,
    by_client: RefCell<HashMap<SessionKey, Rc<Session>>>,
    counters: Arc<LoopCounters>,
}

/// One session.
pub(crate) struct Session {
    key: SessionKey,
    /// Connected to the server.
    back: Watched,
    back_fd: Arc<OwnedFd>,
    using: ServerUse,
    group: Arc<ServerGroup>,
    limits: SessionLimits,
    /// Datagrams that the server may still send.
    n_awaited: Cell<u64>,
    last: Cell<Instant>,
    n_received: Cell<u64>,
    n_sent: Cell<u64>,
    /// Rings when the session is to end.
    closing: Notify,
    /// The server takes no datagrams.
    failure: Cell<Option<io::Error>>,
}

/// Why a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    /// The server has sent all datagrams that it may.
    Answered,
    Idle,
    /// The server does not take datagrams.
    Refused,
    /// The listener is gone, or the server is none of its servers any more.
    Closed,
}

impl Sessions {
    pub(crate) fn new(front: Arc<OwnedFd>, counters: Arc<LoopCounters>) -> Rc<Self> {
        Rc::new(Self { front: RefCell::new(Some(front)), by_client: RefCell::default(), counters })
    }

    pub(crate) fn find(&self, key: &SessionKey) -> Option<Rc<Session>> {
        self.by_client.borrow().get(key).map(Rc::clone)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_client.borrow().len()
    }

    /// Counts a datagram that goes nowhere.
    pub(crate) fn drop_datagram(&self) {
        self.counters.dropped_datagrams.add(1);
    }

    /// A session with a server of the group; none if no server takes it.
    pub(crate) fn open(
        &self,
        key: SessionKey,
        group: &LoopGroup,
        balance_key: &[u8],
        limits: SessionLimits,
        now: Instant,
    ) -> Option<Rc<Session>> {
        let mut tried = TriedServers::new();
        let most = group.shared.upstream.retries.most as usize;
        while tried.len() <= most {
            let wish = ServerWish { tried: &tried, key: balance_key, preferred: None, now };
            // Datagrams do not wait.
            let ServerAdmission::Granted(chosen, place) = group.admit(&wish) else { break };
            let server = group.begin_attempt(chosen, &tried);
            let using = ServerUse::begin(server, place);
            match connect(server) {
                Ok((back, back_fd)) => {
                    let session = Rc::new(Session {
                        key,
                        back,
                        back_fd,
                        using,
                        group: Arc::clone(&group.shared),
                        limits,
                        n_awaited: Cell::new(0),
                        last: Cell::new(now),
                        n_received: Cell::new(0),
                        n_sent: Cell::new(0),
                        closing: Notify::new(),
                        failure: Cell::default(),
                    });
                    self.by_client.borrow_mut().insert(key, Rc::clone(&session));
                    return Some(session);
                }
                Err(failure) => {
                    attempts::note_failure(&group.shared, server, &failure, Some(key.peer), now);
                    tried.push(chosen);
                }
            }
        }
        if tried.is_empty() {
            attempts::note_absence(&group.shared, Some(key.peer), now);
        }
        None
    }

    /// Ends sessions whose servers are not among these any more.
    pub(crate) fn keep_servers(&self, groups: &[&LoopGroup]) {
        let is_there = |server: &Rc<LoopServer>| {
            groups.iter().flat_map(|group| &group.servers).any(|known| Rc::ptr_eq(known, server))
        };
        self.end(|session| !is_there(session.using.server()));
    }

    /// Ends all sessions, and closes the socket of the listener.
    pub(crate) fn close(&self) {
        drop(self.front.take());
        self.end(|_| true);
    }

    fn end(&self, ends: impl Fn(&Session) -> bool) {
        self.by_client.borrow_mut().retain(|_, session| {
            let ends = ends(session);
            if ends {
                session.closing.notify_one();
            }
            !ends
        });
    }

    /// Sends a datagram of a server to its client.
    fn answer(&self, key: &SessionKey, bytes: &[u8]) -> io::Result<()> {
        let front = self.front.borrow();
        let front = front.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        datagram::send_from(front, bytes, key.peer, key.local)
    }
}

/// A socket of a server. The addresses of its name are those that are known: a datagram does not wait.
fn connect(server: &LoopServer) -> Result<(Watched, Arc<OwnedFd>), ServerFailure> {
    let address = server.datagram_address().ok_or(ServerFailure::Unresolved)?;
    let socket = datagram::connect(address).map_err(ServerFailure::of_connecting)?;
    let socket = Arc::new(socket);
    let watched = Watched::new(Arc::clone(&socket), Interest::READABLE);
    Ok((watched.map_err(ServerFailure::of_connecting)?, socket))
}

impl Session {
    pub(crate) fn server_address(&self) -> String {
        self.using.address()
    }

    /// Bytes of the client that the server has got, and of the server that the client has got.
    pub(crate) fn n_passed(&self) -> (u64, u64) {
        (self.n_received.get(), self.n_sent.get())
    }

    /// Sends a datagram of the client to the server. False when it goes nowhere.
    pub(crate) fn forward(&self, bytes: &[u8], now: Instant) -> bool {
        if let Err(error) = send_some(&self.back_fd, bytes) {
            if error.kind() != io::ErrorKind::WouldBlock {
                // What has become of an earlier datagram: the kernel tells it once.
                self.failure.set(Some(error));
                self.closing.notify_one();
            }
            return false;
        }
        self.last.set(now);
        add(&self.n_received, bytes.len());
        let responses = self.limits.responses.unwrap_or_default();
        self.n_awaited.set(self.n_awaited.get().saturating_add(u64::from(responses)));
        true
    }

    /// Passes on what the server sends, until the end.
    pub(crate) async fn serve(
        self: &Rc<Self>,
        sessions: &Sessions,
        deadline: &Deadline,
        idle: Duration,
        now: impl Fn() -> Instant,
    ) -> SessionEnd {
        let mut left = idle;
        let end = loop {
            let waiting = async {
                tokio::select! {
                    ready = self.back.readable() => ready.ok(),
                    () = self.closing.notified() => None,
                }
            };
            match deadline.limit(left, pin!(waiting)).await {
                Ok(None) => match self.failure.take() {
                    Some(error) => break self.refused(error, now()),
                    None => break SessionEnd::Closed,
                },
                Ok(Some(mut ready)) => match self.pass_on(sessions, now()) {
                    Ok(Passed::All) => ready.clear_ready(),
                    Ok(Passed::Some) => tokio::task::yield_now().await,
                    Ok(Passed::Last) => break SessionEnd::Answered,
                    Err(error) => break self.refused(error, now()),
                },
                Err(Elapsed) => {
                    let quiet = now().saturating_duration_since(self.last.get());
                    if quiet >= idle {
                        break SessionEnd::Idle;
                    }
                    left = idle - quiet;
                    continue;
                }
            }
            left = idle;
        };
        self.forget(sessions);
        end
    }

    fn refused(&self, error: io::Error, now: Instant) -> SessionEnd {
        let (server, failure) = (self.using.server(), ServerFailure::Receive(error));
        attempts::note_failure(&self.group, server, &failure, Some(self.key.peer), now);
        SessionEnd::Refused
    }

    /// Another session may have taken the place of this one.
    fn forget(self: &Rc<Self>, sessions: &Sessions) {
        let mut by_client = sessions.by_client.borrow_mut();
        if by_client.get(&self.key).is_some_and(|known| Rc::ptr_eq(known, self)) {
            by_client.remove(&self.key);
        }
    }

    fn pass_on(&self, sessions: &Sessions, now: Instant) -> io::Result<Passed> {
        ROOM.with_borrow_mut(|room| {
            for _ in 0..DATAGRAMS_PER_TURN {
                room.clear();
                room.reserve(MAX_DATAGRAM);
                match receive(&self.back_fd, room) {
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Passed::All),
                    Err(error) => return Err(error),
                }
                self.using.server().shared.health.succeeded();
                self.last.set(now);
                if self.limits.responses.is_some() && self.n_awaited.get() == 0 {
                    sessions.drop_datagram();
                    continue;
                }
                match sessions.answer(&self.key, room) {
                    Ok(()) => add(&self.n_sent, room.len()),
                    Err(_) => sessions.drop_datagram(),
                }
                self.n_awaited.set(self.n_awaited.get().saturating_sub(1));
                if self.limits.responses.is_some() && self.n_awaited.get() == 0 {
                    return Ok(Passed::Last);
                }
            }
            Ok(Passed::Some)
        })
    }
}

/// The part that has been passed on of all that a server has sent.
enum Passed {
    All,
    Some,
    /// The server may send nothing more.
    Last,
}

fn add(counter: &Cell<u64>, n: usize) {
    counter.set(counter.get() + n as u64);
}
