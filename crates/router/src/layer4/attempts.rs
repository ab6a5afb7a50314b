//! A server of a group that takes a connection: one after the other is asked.

use std::fmt;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use corral_config::upstream::Retries;

use super::RawClient;
use crate::clock::Millis;
use crate::clock::deadline::Elapsed;
use crate::error_chain::Chain;
use crate::upstream::{
    LoopGroup, LoopServer, Place, PlaceFuture, ServerAdmission, ServerConnection, ServerFailure, ServerGroup,
    ServerWish, TriedServers,
};

/// A server that has taken a connection.
pub(crate) struct PassedConnection {
    pub(crate) connection: ServerConnection,
    pub(crate) server: ServerUse,
}

/// A connection that a server has; it counts until this is dropped.
pub(crate) struct ServerUse {
    server: Rc<LoopServer>,
    /// The place that it takes at a server with a number of them.
    _place: Option<Place>,
}

impl ServerUse {
    pub(super) fn begin(server: &Rc<LoopServer>, place: Option<Place>) -> Self {
        let figures = server.figures();
        figures.active.add(1);
        figures.requests.add(1);
        Self { server: Rc::clone(server), _place: place }
    }

    pub(super) fn server(&self) -> &Rc<LoopServer> {
        &self.server
    }

    /// Where the server is, as `/status` has it.
    pub(crate) fn address(&self) -> String {
        self.server.shared.address()
    }
}

impl Drop for ServerUse {
    fn drop(&mut self) {
        self.server.figures().active.subtract(1);
    }
}

/// Why there is no server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoServer {
    /// No server takes connections, or none of those that were asked.
    Available,
    /// The last one that was asked did not answer in time.
    InTime,
    /// The client has left.
    Wanted,
    /// The name that the client asks for leads to none.
    Named,
}

/// Connects to a server of the group; `key` is the text by which one is chosen, if that is so.
pub(crate) async fn connect(
    client: &RawClient<'_>,
    group: &LoopGroup,
    key: &[u8],
) -> Result<PassedConnection, NoServer> {
    let Retries { most, timeout } = group.shared.upstream.retries;
    let now = || client.services.deadlines.now();
    let (begun, mut tried) = (now(), TriedServers::new());
    loop {
        let wish = ServerWish { tried: &tried, key, preferred: None, now: now() };
        let (chosen, place) = match group.admit(&wish) {
            ServerAdmission::Granted(chosen, place) => (chosen, place),
            ServerAdmission::Waits(waiting) => wait(client, group, waiting).await?,
            ServerAdmission::Full | ServerAdmission::Absent => {
                note_absence(&group.shared, client.peer, now());
                return Err(NoServer::Available);
            }
        };
        let server = group.begin_attempt(chosen, &tried);
        let using = ServerUse::begin(server, place);
        let failure = match attempt(client, server).await {
            None => return Err(NoServer::Wanted),
            Some(Ok(connection)) => {
                server.shared.health.succeeded();
                return Ok(PassedConnection { connection, server: using });
            }
            Some(Err(failure)) => failure,
        };
        note_failure(&group.shared, server, &failure, client.peer, now());
        let is_last = tried.len() as u32 >= most.min(group.servers.len() as u32);
        if is_last || timeout.is_some_and(|limit| now().saturating_duration_since(begun) >= limit) {
            let is_late = matches!(failure, ServerFailure::ConnectTimedOut(_));
            return Err(if is_late { NoServer::InTime } else { NoServer::Available });
        }
        tried.push(chosen);
    }
}

/// Waits for a place at a server, in the queue of the group.
async fn wait(
    client: &RawClient<'_>,
    group: &LoopGroup,
    mut waiting: PlaceFuture,
) -> Result<(usize, Option<Place>), NoServer> {
    let limit = group.shared.places.as_ref().map_or(Duration::ZERO, |places| places.timeout);
    let place = pin!(async {
        tokio::select! {
            biased;
            (server, place) = waiting.place() => Ok((server, Some(place))),
            () = client.stream.broken() => Err(NoServer::Wanted),
        }
    });
    client.deadline.limit(limit, place).await.unwrap_or(Err(NoServer::Available))
}

/// A connection to one server, within its time; none if the client has left before.
async fn attempt(
    client: &RawClient<'_>,
    server: &LoopServer,
) -> Option<Result<ServerConnection, ServerFailure>> {
    let limit = server.shared.options.timeouts.connect;
    let named = if server.names_clients() { client.addresses() } else { None };
    let connecting = async {
        tokio::select! {
            biased;
            connected = server.connect(named.as_ref()) => Some(connected),
            () = client.stream.broken() => None,
        }
    };
    let connected = client.deadline.limit(limit, pin!(connecting)).await;
    connected.unwrap_or_else(|Elapsed| Some(Err(ServerFailure::ConnectTimedOut(limit))))
}

pub(super) fn note_failure(
    group: &ServerGroup,
    server: &LoopServer,
    failure: &ServerFailure,
    peer: Option<SocketAddr>,
    now: Instant,
) {
    let (shared, now) = (&server.shared, Millis::of(now));
    let title = || group.title(Some(shared));
    if let Some(suppressed) = shared.throttle.admit(now) {
        tracing::error!("{}: {}, client {}{suppressed}", title(), Chain(failure), ShownClient(peer));
    }
    if !failure.is_theirs() {
        return;
    }
    server.figures().failures.add(1);
    let has_changed = shared.health.failed(&shared.passive, now);
    if has_changed && group.servers.len() > 1 {
        tracing::warn!("{}: avoided for {:?}", title(), shared.passive.fail_timeout);
    }
}

pub(super) fn note_absence(group: &ServerGroup, peer: Option<SocketAddr>, now: Instant) {
    if let Some(suppressed) = group.throttle.admit(Millis::of(now)) {
        let title = group.title(None);
        tracing::error!("{title}: no server is available, client {}{suppressed}", ShownClient(peer));
    }
}

/// A client's address as log lines show it.
struct ShownClient(Option<SocketAddr>);

impl fmt::Display for ShownClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("unix:"),
        }
    }
}
