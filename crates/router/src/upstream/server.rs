//! Servers and groups of them, as all event loops share them.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use corral_config::address::ListenAddress;
use corral_config::upstream::{
    AllowedServers, HealthCheck, Origin, PassiveHealth, ProxyOptions, Server as ConfiguredServer, Upstream,
    UpstreamHost,
};
use corral_ipc::bounded::MOST;
use corral_ipc::message::{ServerState, ServerStatus, UpstreamStatus};

use crate::clock::Millis;
use crate::counters::Counter;
use crate::log_throttle::LogThrottle;
use crate::upstream::durations::{self, ServerDurations};
use crate::upstream::health::Health;
use crate::upstream::places::{PlaceQueue, TakenPlaces};
use crate::upstream::process_slots::ProcessSlots;
use crate::upstream::resolve::ResolvedName;
use crate::upstream::response_times::ResponseTimes;
use crate::upstream::sticky::StickyValues;
use crate::upstream::tls::TlsTarget;

/// Servers that share the requests of an upstream, or the one of a `proxy`.
pub(crate) struct ServerGroup {
    pub(crate) upstream: Upstream,
    /// In the order of `upstream.servers`.
    pub(crate) servers: Vec<Arc<UpstreamServer>>,
    /// Some servers are only for when others are of no use.
    pub(super) has_backups: bool,
    /// The requests that wait for one of its servers, if some of these take only so many.
    pub(crate) places: Option<PlaceQueue>,
    /// The values of `sticky` cookies, if there are such.
    pub(crate) sticky: Option<StickyValues>,
    pub(crate) throttle: LogThrottle,
}

/// One server: where it is, how it is spoken to, and how it does.
pub(crate) struct UpstreamServer {
    pub(crate) origin: Origin,
    /// The origin as text; of a program, what messages call it.
    pub(crate) text: String,
    pub(crate) options: ProxyOptions,
    /// The server is a worker of an application.
    pub(crate) is_program: bool,
    pub(crate) passive: PassiveHealth,
    pub(crate) check: Option<HealthCheck>,
    /// The resolved host name, if it has one.
    pub(crate) name: Option<Arc<ResolvedName>>,
    /// The addresses that the name may stand for, if not all are.
    pub(super) allow: Option<Arc<AllowedServers>>,
    /// For `https://`.
    pub(crate) tls: Option<TlsTarget>,
    pub(crate) health: Health,
    /// Requests of those that are counted.
    pub(super) taken: TakenPlaces,
    /// Measured for `least_time` alone.
    pub(crate) times: ResponseTimes,
    /// The connections of one whose processes are counted.
    pub(crate) slots: Option<Arc<ProcessSlots>>,
    pub(crate) throttle: LogThrottle,
    /// One for each event loop; those of one that takes the place of another go on.
    pub(crate) figures: Arc<[ServerCounters]>,
}

/// The work that one event loop has done with a server. No two loops write to the same cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct ServerCounters {
    /// Requests in progress.
    pub(crate) active: Counter,
    pub(crate) requests: Counter,
    pub(crate) failures: Counter,
    pub(crate) retries: Counter,
    /// Connections that are kept.
    pub(super) kept: Counter,
    /// Made when there is something to measure: an event loop never asks most servers of a large configuration.
    durations: OnceLock<Box<ServerDurations>>,
}

/// A request that is with a server. It counts until this is dropped, also when nothing waits for the answer any more.
pub(crate) struct ActiveRequest<'s>(&'s ServerCounters);

impl ServerCounters {
    /// Counts a request that the server gets.
    pub(crate) fn begin_request(&self) -> ActiveRequest<'_> {
        self.active.add(1);
        self.requests.add(1);
        ActiveRequest(self)
    }

    /// The durations that are measured.
    pub(crate) fn times(&self) -> &ServerDurations {
        self.durations.get_or_init(Box::default)
    }
}

impl Drop for ActiveRequest<'_> {
    fn drop(&mut self) {
        self.0.active.subtract(1);
    }
}

impl ServerGroup {
    /// The group of these servers, which are those of `upstream`.
    pub(super) fn new(upstream: Upstream, servers: Vec<Arc<UpstreamServer>>) -> Self {
        let is_limited = upstream.servers.iter().any(|server| server.max_conns.is_some());
        Self {
            has_backups: upstream.servers.iter().any(|server| server.backup),
            places: is_limited.then(|| PlaceQueue::new(&upstream.queue)),
            sticky: upstream
                .sticky
                .as_ref()
                .map(|rules| StickyValues::new(rules, servers.iter().map(|server| server.text.as_str()))),
            upstream,
            servers,
            throttle: LogThrottle::default(),
        }
    }

    /// The group's part of `/status`.
    pub(super) fn status(&self, now: Millis) -> UpstreamStatus {
        let servers = self.servers.iter().zip(&self.upstream.servers);
        let servers = servers.map(|(server, configured)| {
            let status = server.status(now);
            if configured.down { ServerStatus { state: ServerState::Down, ..status } } else { status }
        });
        UpstreamStatus {
            name: self.upstream.name.clone(),
            servers: servers.take(MOST).collect(),
            waiting: self.places.as_ref().map(PlaceQueue::n_waiting),
        }
    }

    /// Whether all servers are spoken to over HTTP/2, so that no length of a body need be known.
    pub(crate) fn speaks_http2(&self) -> bool {
        self.servers.iter().all(|server| server.options.http2)
    }

    /// The group's, or the server's, name in messages.
    pub(crate) fn title(&self, server: Option<&UpstreamServer>) -> String {
        let name = &self.upstream.name;
        match server {
            // A proxy has no name but its server's.
            Some(server) if server.text == *name => format!("proxy \"{name}\""),
            Some(server) => format!("upstream \"{name}\", server \"{}\"", server.text),
            None => format!("upstream \"{name}\""),
        }
    }
}

impl UpstreamServer {
    /// One of the servers of `upstream`, without what has to be looked up.
    pub(super) fn at(upstream: &Upstream, server: &ConfiguredServer, n_loops: usize) -> Self {
        let options = upstream.options_for(server);
        let text = server.origin.url(options.gateway);
        Self {
            passive: upstream.passive,
            check: upstream.health.clone(),
            ..Self::new(server.origin.clone(), text, options, n_loops)
        }
    }

    /// A program that is a worker of an application. `title` is what messages call it.
    pub(crate) fn of_program(
        address: ListenAddress,
        title: String,
        options: ProxyOptions,
        n_loops: usize,
    ) -> Arc<Self> {
        let origin = Origin { tls: false, host: UpstreamHost::Address(address) };
        Arc::new(Self { is_program: true, ..Self::new(origin, title, options, n_loops) })
    }

    fn new(origin: Origin, text: String, options: ProxyOptions, n_loops: usize) -> Self {
        Self {
            slots: (options.processes > 0).then(|| ProcessSlots::new(options.processes, n_loops)),
            origin,
            text,
            options,
            is_program: false,
            passive: PassiveHealth::default(),
            check: None,
            name: None,
            allow: None,
            tls: None,
            health: Health::default(),
            taken: TakenPlaces::default(),
            times: ResponseTimes::default(),
            throttle: LogThrottle::default(),
            figures: (0..n_loops).map(|_| ServerCounters::default()).collect(),
        }
    }

    /// Whether it is exactly what `upstream` asks for as one of its servers.
    pub(super) fn suits(&self, upstream: &Upstream, server: &ConfiguredServer) -> bool {
        self.options == upstream.options_for(server)
            && self.passive == upstream.passive
            && self.check == upstream.health
            // The bundle behind the name may be another one by now.
            && self.options.tls.ca.is_none()
            && self.options.tls.certificate.is_none()
    }

    /// Where datagrams go, of several addresses of its name to the first; none for a Unix socket.
    pub(super) fn datagram_address(&self, addresses: &[IpAddr]) -> Option<SocketAddr> {
        match &self.origin.host {
            UpstreamHost::Address(ListenAddress::Inet(address)) => Some(*address),
            UpstreamHost::Address(_) => None,
            UpstreamHost::Named { port, .. } => Some(SocketAddr::new(*addresses.first()?, *port)),
        }
    }

    /// Where it is, as `/status` has it.
    pub(crate) fn address(&self) -> String {
        if self.origin.tls { self.text.clone() } else { self.origin.host.to_string() }
    }

    fn status(&self, now: Millis) -> ServerStatus {
        let sum = |figure: fn(&ServerCounters) -> u64| self.figures.iter().map(figure).sum();
        ServerStatus {
            address: self.address(),
            state: match (self.health.is_up(), self.health.is_avoided(now)) {
                (false, _) => ServerState::Down,
                (true, true) => ServerState::Avoided,
                (true, false) => ServerState::Up,
            },
            active: self.n_active(),
            requests: sum(|figures| figures.requests.get()),
            failures: sum(|figures| figures.failures.get()),
            retries: sum(|figures| figures.retries.get()),
            kept: sum(|figures| figures.kept.get())
                + self.slots.as_ref().map_or(0, |slots| slots.n_kept() as u64),
            times: durations::sum(
                self.figures.iter().filter_map(|figures| Some(&**figures.durations.get()?)),
            ),
            processes: self.slots.as_ref().map(|slots| slots.figures()),
        }
    }

    /// Requests in progress in all event loops.
    pub(crate) fn n_active(&self) -> u64 {
        self.figures.iter().map(|figures| figures.active.get()).sum()
    }
}
