//! The servers of a configuration as one event loop uses them: whose turn it is, idle connections, addresses.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_channel::Lane;
use corral_config::upstream::{Balance, Server as ConfiguredServer};
use corral_http::proxy_protocol::ProxiedConnection;
use smallvec::SmallVec;
use tokio::sync::Notify;

use crate::clock::Millis;
use crate::upstream::balance::{BalanceInput, BalanceMethod, Balancer};
use crate::upstream::connect::connect;
use crate::upstream::failure::ServerFailure;
use crate::upstream::http2::{H2Connections, StreamPermit};
use crate::upstream::idle::{Freshness, IdleConnections};
use crate::upstream::places::{Place, PlaceFuture, TriedServers};
use crate::upstream::process_slots::{KeptConnection, ProcessSlot, ProcessSlots, SlotFuture};
use crate::upstream::resolve::LoopAddresses;
use crate::upstream::server::{ServerCounters, ServerGroup, UpstreamServer};
use crate::upstream::server_connection::ServerConnection;

/// How often idle connections are looked at.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// How often it is looked whether a process is back for a request that waits. Whatever ends meanwhile does so, too.
const SERVE_INTERVAL: Duration = Duration::from_millis(2);

/// A group in one event loop.
pub(crate) struct LoopGroup {
    pub(crate) shared: Arc<ServerGroup>,
    pub(crate) servers: Vec<Rc<LoopServer>>,
    balancer: RefCell<Balancer>,
}

/// A server in one event loop.
pub(crate) struct LoopServer {
    pub(crate) shared: Arc<UpstreamServer>,
    lane: usize,
    pub(super) pool: RefCell<IdleConnections>,
    /// Connections that are counted as kept.
    pub(super) n_kept: Cell<u64>,
    /// The same for HTTP/2.
    pub(super) h2_connections: H2Connections,
    addresses: Option<RefCell<LoopAddresses>>,
    /// Which of several addresses is next.
    turn: Cell<usize>,
}

/// The facts of a request by which its server is chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerWish<'w> {
    pub(crate) tried: &'w TriedServers,
    /// The text that `hash` is made of.
    pub(crate) key: &'w [u8],
    /// The server that the client wants to stay with.
    pub(crate) preferred: Option<usize>,
    pub(crate) now: Instant,
}

/// The lot of a request that wants a server.
pub(crate) enum ServerAdmission {
    /// The server that gets it, and the place that it takes if that has a number of them.
    Granted(usize, Option<Place>),
    /// All servers have as many requests as they may.
    Waits(PlaceFuture),
    /// As many requests wait as may.
    Full,
    /// No server could get it.
    Absent,
}

/// The choice among the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Server(usize),
    /// The servers that could get the request have no place left.
    Full,
    Absent,
}

/// The servers of one event loop over all generations: a server that stays keeps its connections.
#[derive(Default)]
pub(crate) struct LoopServers {
    /// By where the shared one is in memory, which nothing else can be as long as this one lives.
    known: RefCell<HashMap<*const UpstreamServer, Weak<LoopServer>>>,
    /// Notified of the first idle connection after a time without any.
    pub(crate) idle: Rc<Notify>,
    /// Servers for whose processes requests of this event loop wait.
    crowded: RefCell<Vec<(Arc<ProcessSlots>, usize)>>,
    /// Rings when such a server is added.
    crowd: Notify,
}

impl LoopServers {
    /// Closes idle connections that are too old or that the server has closed, for ever.
    pub(crate) async fn keep_sweeping(&self) {
        loop {
            if !self.sweep(Instant::now()) {
                self.idle.notified().await;
            }
            tokio::time::sleep(SWEEP_INTERVAL).await;
        }
    }

    /// Gives processes that are back to requests that wait for them, for ever.
    pub(crate) async fn keep_serving(&self) {
        loop {
            self.crowd.notified().await;
            while !self.crowded.borrow().is_empty() {
                tokio::time::sleep(SERVE_INTERVAL).await;
                let now = Instant::now();
                self.crowded.borrow_mut().retain(|(slots, lane)| slots.serve(*lane, now));
            }
        }
    }

    /// Forgets servers that no generation has any more.
    pub(super) fn forget_unused(&self) {
        self.known.borrow_mut().retain(|_, server| server.strong_count() > 0);
    }

    fn is_crowded(&self, slots: &Arc<ProcessSlots>, lane: usize) {
        let mut crowded = self.crowded.borrow_mut();
        if !crowded.iter().any(|(known, _)| Arc::ptr_eq(known, slots)) {
            crowded.push((Arc::clone(slots), lane));
            self.crowd.notify_one();
        }
    }

    /// True when idle connections are left.
    fn sweep(&self, now: Instant) -> bool {
        // Programs come and go without a new generation.
        self.forget_unused();
        let known = self.known.borrow();
        let servers = known.values().filter_map(Weak::upgrade);
        // All of them are swept, so that this cannot be `any`.
        servers.filter(|server| server.sweep(now)).count() > 0
    }

    /// A group's part in one event loop.
    pub(super) fn group(&self, group: &Arc<ServerGroup>, lane: Lane) -> LoopGroup {
        let method = match group.upstream.balance {
            Balance::RoundRobin => BalanceMethod::RoundRobin,
            Balance::LeastConnections | Balance::LeastTime => BalanceMethod::LeastLoad,
            Balance::RandomTwo => BalanceMethod::RandomTwo,
            Balance::Hash(_) => BalanceMethod::Hash,
        };
        let weights = group.upstream.servers.iter().map(ConfiguredServer::share);
        let names = group.servers.iter().map(|server| server.text.as_str());
        let balancer = RefCell::new(Balancer::new(method, names.zip(weights)));
        let servers = group.servers.iter().map(|server| self.server(server, lane)).collect();
        LoopGroup { shared: Arc::clone(group), servers, balancer }
    }

    /// A server's part in one event loop.
    pub(crate) fn server(&self, server: &Arc<UpstreamServer>, lane: Lane) -> Rc<LoopServer> {
        let mut known = self.known.borrow_mut();
        let address = Arc::as_ptr(server);
        known.get(&address).and_then(Weak::upgrade).unwrap_or_else(|| {
            let server = Rc::new(LoopServer {
                shared: Arc::clone(server),
                lane: lane.index(),
                pool: RefCell::new(IdleConnections::default()),
                n_kept: Cell::new(0),
                h2_connections: H2Connections::default(),
                addresses: server.name.as_ref().map(|name| RefCell::new(name.addresses())),
                turn: Cell::new(0),
            });
            known.insert(address, Rc::downgrade(&server));
            server
        })
    }
}

impl LoopGroup {
    /// A server for the request and a place there, or the right to wait for one.
    pub(crate) fn admit(&self, wish: &ServerWish<'_>) -> ServerAdmission {
        let Some(places) = &self.shared.places else { return self.admit_by(self.pick(wish)) };
        let mut waiting = places.lock();
        match self.admit_by(self.pick(wish)) {
            ServerAdmission::Full => {
                waiting.push(&self.shared, wish.tried).map_or(ServerAdmission::Full, ServerAdmission::Waits)
            }
            admission => admission,
        }
    }

    /// As `admit` for a request that waits already.
    pub(crate) fn admit_again(&self, wish: &ServerWish<'_>) -> Option<(usize, Option<Place>)> {
        let _waiting = self.shared.places.as_ref()?.lock();
        match self.admit_by(self.pick(wish)) {
            ServerAdmission::Granted(server, place) => Some((server, place)),
            _ => None,
        }
    }

    /// The server that a request or a connection is admitted to. That is a retry for the last of those that were tried.
    pub(crate) fn begin_attempt(&self, admitted: usize, tried: &[usize]) -> &Rc<LoopServer> {
        if let Some(&failed) = tried.last() {
            self.servers[failed].figures().retries.add(1);
        }
        &self.servers[admitted]
    }

    fn admit_by(&self, choice: Choice) -> ServerAdmission {
        match choice {
            Choice::Absent => ServerAdmission::Absent,
            Choice::Full => ServerAdmission::Full,
            // Another group may have the last place of a server that is shared by two generations.
            Choice::Server(server) => self
                .shared
                .take_place(server)
                .map_or(ServerAdmission::Full, |place| ServerAdmission::Granted(server, place)),
        }
    }

    fn pick(&self, wish: &ServerWish<'_>) -> Choice {
        let now = Millis::of(wish.now);
        let health = |idx: usize| &self.servers[idx].shared.health;
        let is_up = |idx: usize| !wish.tried.contains(&idx) && health(idx).is_up();
        let is_well = |idx: usize| is_up(idx) && !health(idx).is_avoided(now);
        if let Some(server) = wish.preferred.filter(|&server| is_well(server) && self.takes_more(server)) {
            return Choice::Server(server);
        }
        // When requests to all of them have failed, that says little about any of them.
        match self.pick_among(&is_well, wish, now) {
            Choice::Absent => self.pick_among(&is_up, wish, now),
            choice => choice,
        }
    }

    /// Whether a server that is well could get a further request.
    fn takes_more(&self, server: usize) -> bool {
        self.shared.upstream.servers[server].share() > 0 && self.shared.has_room(server)
    }

    /// Whether another server could get a request that these have been given to in vain.
    pub(crate) fn has_other(&self, tried: &[usize], now: Instant) -> bool {
        let now = Millis::of(now);
        (0..self.servers.len()).any(|idx| {
            let health = &self.servers[idx].shared.health;
            !tried.contains(&idx) && health.is_up() && !health.is_avoided(now) && self.takes_more(idx)
        })
    }

    fn pick_among(&self, is_one: &dyn Fn(usize) -> bool, wish: &ServerWish<'_>, now: Millis) -> Choice {
        let group = &*self.shared;
        if !group.has_backups && group.places.is_none() {
            return self.balance(is_one, wish, now).map_or(Choice::Absent, Choice::Server);
        }
        let configured = &group.upstream.servers;
        for is_backup in [false, true] {
            let is_free =
                |idx: usize| configured[idx].backup == is_backup && is_one(idx) && group.has_room(idx);
            if let Some(server) = self.balance(&is_free, wish, now) {
                return Choice::Server(server);
            }
        }
        let is_full = (0..configured.len()).any(|idx| configured[idx].share() > 0 && is_one(idx));
        if is_full { Choice::Full } else { Choice::Absent }
    }

    fn balance(
        &self,
        is_usable: &dyn Fn(usize) -> bool,
        wish: &ServerWish<'_>,
        now: Millis,
    ) -> Option<usize> {
        let connections = |idx: usize| self.servers[idx].shared.n_active();
        let unknown = if self.measures_times() { self.least_average(now) } else { 0 };
        // The time until the requests are answered that are there, and one more.
        let time = |idx: usize| match self.servers[idx].shared.times.average(now) {
            0 => unknown.saturating_mul(connections(idx) + 1),
            average => average.saturating_mul(connections(idx) + 1),
        };
        let load: &dyn Fn(usize) -> u64 = if self.measures_times() { &time } else { &connections };
        let slow_start = self.shared.upstream.slow_start;
        let ramp = slow_start
            .map(|time| move |idx: usize, weight| self.servers[idx].shared.health.ramped(weight, time, now));
        let ramp = ramp.as_ref().map(|ramp| ramp as &dyn Fn(usize, u64) -> u64);
        let input = BalanceInput { is_usable, load, key: wish.key, ramp };
        self.balancer.borrow_mut().choose(&input)
    }

    /// Whether a server is chosen by the time that it takes to answer.
    pub(crate) fn measures_times(&self) -> bool {
        self.shared.upstream.balance == Balance::LeastTime
    }

    /// The least average that is known, which is taken for that of servers of which nothing is known.
    fn least_average(&self, now: Millis) -> u64 {
        let averages = self.servers.iter().map(|server| server.shared.times.average(now));
        averages.filter(|&average| average > 0).min().unwrap_or(1)
    }
}

impl LoopServer {
    /// True when connections are left that are idle, or may soon be.
    fn sweep(&self, now: Instant) -> bool {
        let has_idle = self.pool.borrow_mut().sweep(now);
        let has_h2_connections = self.h2_connections.sweep(&self.shared.options.keepalive, now);
        let has_slots = self.shared.slots.as_ref().is_some_and(|slots| slots.sweep(now));
        self.note_kept();
        has_idle || has_h2_connections || has_slots
    }

    pub(crate) fn figures(&self) -> &ServerCounters {
        &self.shared.figures[self.lane]
    }

    /// A slot at a server whose processes are counted, and a kept connection, if there is one of use; or a future of
    /// both. `servers` are those of this event loop.
    pub(crate) fn take_slot(
        &self,
        servers: &LoopServers,
        freshness: Freshness,
        now: Instant,
    ) -> Option<Result<(ProcessSlot, Option<KeptConnection>), SlotFuture>> {
        let slots = self.shared.slots.as_ref()?;
        let taken = slots.take(freshness, self.lane, now);
        if taken.is_err() {
            servers.is_crowded(slots, self.lane);
        }
        Some(taken)
    }

    /// A slot at a program of FastCGI, whose turn the caller has, and a kept connection.
    pub(crate) fn take_own_slot(&self, now: Instant) -> Option<(ProcessSlot, Option<KeptConnection>)> {
        self.shared.slots.as_ref().map(|slots| slots.take_own(self.lane, now))
    }

    /// Leaves a connection to the next one. True when it is kept.
    pub(crate) fn leave_slot(&self, slot: ProcessSlot, kept: KeptConnection, now: Instant) -> bool {
        slot.keep(kept, &self.shared.options.keepalive, now)
    }

    /// A new connection. The caller limits the time. `client` is the one that it is for, see `names_clients`.
    pub(crate) async fn connect(
        &self,
        client: Option<&ProxiedConnection>,
    ) -> Result<ServerConnection, ServerFailure> {
        self.resolved().await;
        let (addresses, begun) = (self.addresses(), Instant::now());
        let connected = connect(&self.shared, &addresses, client).await;
        // Programs come and go, and have no figures of their own.
        if connected.is_ok() && !self.shared.is_program {
            self.figures().times().connect.note(begun.elapsed());
        }
        connected
    }

    /// Whether the server learns by a connection which client that is for.
    pub(crate) fn names_clients(&self) -> bool {
        self.shared.options.proxy_protocol.is_some()
    }

    /// Where datagrams go, as far as that is known now; none for a Unix socket.
    pub(crate) fn datagram_address(&self) -> Option<SocketAddr> {
        self.shared.datagram_address(&self.addresses())
    }

    /// A place for a request to a server that speaks HTTP/2; `servers` are those of this event loop. The caller limits
    /// the time.
    pub(crate) async fn stream_permit(&self, servers: &LoopServers) -> Result<StreamPermit, ServerFailure> {
        let rules = &self.shared.options.keepalive;
        let permit = self.h2_connections.permit_or_open(rules, &servers.idle, self.connect(None)).await;
        self.note_kept();
        permit
    }

    /// Waits for the addresses of the server's name, if that was never looked up.
    async fn resolved(&self) {
        // A copy, because nothing may be borrowed while others run.
        let waiting = self.addresses.as_ref().map(|addresses| addresses.borrow().clone());
        if let Some(mut addresses) = waiting {
            addresses.wait().await;
        }
    }

    /// The addresses of the server's name, beginning with the one whose turn it is.
    fn addresses(&self) -> SmallVec<[IpAddr; 4]> {
        let Some(addresses) = &self.addresses else { return SmallVec::new() };
        let mut addresses: SmallVec<[IpAddr; 4]> = addresses.borrow_mut().current().iter().copied().collect();
        let turn = self.turn.get();
        self.turn.set(turn.wrapping_add(1));
        if !addresses.is_empty() {
            let first = turn % addresses.len();
            addresses.rotate_left(first);
        }
        addresses
    }
}
