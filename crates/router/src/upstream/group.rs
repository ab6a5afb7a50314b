//! The servers of a configuration as one event loop uses them: whose turn it is, idle connections, addresses.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_channel::Lane;
use corral_config::gateway::Servers;
use corral_config::table::Table;
use corral_config::upstream::{Balance, Proxy, Upstream};
use smallvec::SmallVec;
use tokio::sync::Notify;

use crate::clock::Millis;
use crate::upstream::balance::{BalanceInput, BalanceMethod, Balancer};
use crate::upstream::connect::connect;
use crate::upstream::failure::ServerFailure;
use crate::upstream::http2::{H2Connections, StreamPermit};
use crate::upstream::idle::{Freshness, IdleConnections};
use crate::upstream::process_slots::{KeptConnection, ProcessSlot, ProcessSlots, SlotFuture};
use crate::upstream::resolve::LoopAddresses;
use crate::upstream::server::{ServerCounters, ServerGroup, ServerGroups, UpstreamServer};
use crate::upstream::server_connection::ServerConnection;

/// How often idle connections are looked at.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// How often it is looked whether a process is back for a request that waits. Whatever ends meanwhile does so, too.
const SERVE_INTERVAL: Duration = Duration::from_millis(2);

/// All groups of a generation.
pub(crate) struct LoopGroups {
    pub(crate) upstreams: Table<Upstream, LoopGroup>,
    pub(crate) proxies: Table<Proxy, LoopGroup>,
}

impl LoopGroups {
    /// The group that an action names.
    pub(crate) fn group(&self, servers: Servers) -> &LoopGroup {
        match servers {
            Servers::Upstream(upstream) => &self.upstreams[upstream],
            Servers::Proxy(proxy) => &self.proxies[proxy],
        }
    }
}

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
    pub(crate) pool: RefCell<IdleConnections>,
    /// The same for HTTP/2.
    h2_connections: H2Connections,
    addresses: Option<RefCell<LoopAddresses>>,
    /// Which of several addresses is next.
    turn: Cell<usize>,
}

/// Servers that a request has been given to in vain.
pub(crate) type TriedServers = SmallVec<[usize; 8]>;

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
    /// The groups of a new generation.
    pub(crate) fn groups(&self, groups: &ServerGroups, lane: Lane) -> LoopGroups {
        self.known.borrow_mut().retain(|_, server| server.strong_count() > 0);
        LoopGroups {
            upstreams: groups.upstreams.iter().map(|group| self.group(group, lane)).collect(),
            proxies: groups.proxies.iter().map(|group| self.group(group, lane)).collect(),
        }
    }

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

    fn is_crowded(&self, slots: &Arc<ProcessSlots>, lane: usize) {
        let mut crowded = self.crowded.borrow_mut();
        if !crowded.iter().any(|(known, _)| Arc::ptr_eq(known, slots)) {
            crowded.push((Arc::clone(slots), lane));
            self.crowd.notify_one();
        }
    }

    /// True when idle connections are left.
    fn sweep(&self, now: Instant) -> bool {
        let mut known = self.known.borrow_mut();
        // Programs come and go without a new generation.
        known.retain(|_, server| server.strong_count() > 0);
        let servers = known.values().filter_map(Weak::upgrade);
        // All of them are swept, so that this cannot be `any`.
        servers.filter(|server| server.sweep(now)).count() > 0
    }

    fn group(&self, group: &Arc<ServerGroup>, lane: Lane) -> LoopGroup {
        let method = match group.upstream.balance {
            Balance::RoundRobin => BalanceMethod::RoundRobin,
            Balance::LeastConnections => BalanceMethod::LeastConnections,
            Balance::RandomTwo => BalanceMethod::RandomTwo,
            Balance::Hash(_) => BalanceMethod::Hash,
        };
        let weights = group.upstream.servers.iter().map(|server| server.weight);
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
    /// The server that gets the request; none when there is none that could.
    pub(crate) fn choose(&self, tried: &TriedServers, key: &[u8], now: Instant) -> Option<usize> {
        let now = Millis::of(now);
        let is_up = |idx: usize| !tried.contains(&idx) && self.servers[idx].shared.health.is_up();
        let is_well = |idx: usize| is_up(idx) && !self.servers[idx].shared.health.is_avoided(now);
        let load = |idx: usize| self.servers[idx].shared.n_active();
        let mut balancer = self.balancer.borrow_mut();
        let well = balancer.choose(&BalanceInput { is_usable: &is_well, load: &load, key });
        // When requests to all of them have failed, that says little about any of them.
        well.or_else(|| balancer.choose(&BalanceInput { is_usable: &is_up, load: &load, key }))
    }
}

impl LoopServer {
    /// True when connections are left that are idle, or may soon be.
    fn sweep(&self, now: Instant) -> bool {
        let has_idle = self.pool.borrow_mut().sweep(now);
        let has_h2_connections = self.h2_connections.sweep(&self.shared.options.keepalive, now);
        let has_slots = self.shared.slots.as_ref().is_some_and(|slots| slots.sweep(now));
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

    /// A new connection. The caller limits the time.
    pub(crate) async fn connect(&self) -> Result<ServerConnection, ServerFailure> {
        self.resolved().await;
        let addresses = self.addresses();
        connect(&self.shared, &addresses).await
    }

    /// Where datagrams go, as far as that is known now; none for a Unix socket.
    pub(crate) fn datagram_address(&self) -> Option<SocketAddr> {
        self.shared.datagram_address(&self.addresses())
    }

    /// A place for a request to a server that speaks HTTP/2; `servers` are those of this event loop. The caller limits
    /// the time.
    pub(crate) async fn stream_permit(&self, servers: &LoopServers) -> Result<StreamPermit, ServerFailure> {
        let rules = &self.shared.options.keepalive;
        self.h2_connections.permit_or_open(rules, &servers.idle, self.connect()).await
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
