//! Admission of clients: bounds on the connections of the whole server and on those of one client address
//! (`settings.limits`). Shared by all event loops.
//!
//! Without a free place, the event loop closes those of its connections that have waited longest for a request, or asks
//! the other loops to, and accepts nothing before one has ended.

mod bound;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use corral_channel::Lane;
use corral_config::settings::ServerLimits;
use corral_syntax::client_network;
use parking_lot::Mutex;
use tokio::sync::Notify;

pub(crate) use self::bound::{ConnectionBound, DescriptorShortage};
use crate::log_throttle::LogThrottle;

/// An event loop that waits for a permit looks again after this, whichever loop has taken the one that it was told of.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The connections of the server.
pub(crate) struct Admission {
    n_open: AtomicUsize,
    most: AtomicUsize,
    by_network: Mutex<HashMap<ClientNetwork, u32>>,
    /// 0 for any number.
    most_per_network: AtomicU32,
    n_waiting: AtomicUsize,
    /// A connection has ended while event loops waited.
    left: Notify,
    /// By event loop: others have no permit to give.
    crowded: Vec<Notify>,
    pub(crate) throttle: AdmissionThrottles,
}

/// Bounds the lines about connections that are not served at once.
#[derive(Default)]
pub(crate) struct AdmissionThrottles {
    /// Bounds the lines about a server without a permit.
    pub(crate) full: LogThrottle,
    /// An address has too many.
    pub(crate) refused: LogThrottle,
    /// The system has refused.
    pub(crate) exhausted: LogThrottle,
}

/// The clients whose connections are counted together: an address, or 64 bits of one, which is what a single client of
/// version 6 has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ClientNetwork(IpAddr);

/// The permit of a connection, as long as it is open.
pub(crate) struct ConnectionPermit {
    admission: Arc<Admission>,
    network: Option<ClientNetwork>,
    /// Whether it is one of those that there are only so many of.
    is_counted: bool,
}

impl Admission {
    pub(crate) fn new(n_loops: usize) -> Arc<Self> {
        Arc::new(Self {
            n_open: AtomicUsize::new(0),
            most: AtomicUsize::new(usize::MAX),
            by_network: Mutex::default(),
            most_per_network: AtomicU32::new(0),
            n_waiting: AtomicUsize::new(0),
            left: Notify::new(),
            crowded: (0..n_loops).map(|_| Notify::new()).collect(),
            throttle: AdmissionThrottles::default(),
        })
    }

    /// Connections that are there already stay, and are not counted for an address that had no bound before. Other
    /// things than connections take `n_fixed` descriptors.
    pub(crate) fn configure(&self, limits: &ServerLimits, n_fixed: u64) -> Option<DescriptorShortage> {
        let bound =
            ConnectionBound::new(limits.connections, corral_sys::process::descriptor_limit(), n_fixed);
        self.most.store(bound.connections, Ordering::Relaxed);
        let per_address = limits.connections_per_address.map_or(0, std::num::NonZeroU32::get);
        self.most_per_network.store(per_address, Ordering::Relaxed);
        if self.n_waiting.load(Ordering::SeqCst) > 0 {
            self.left.notify_one();
        }
        bound.shortage
    }

    /// How many connections there may be.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// A permit, if one is free.
    pub(crate) fn try_enter(self: &Arc<Self>) -> Option<ConnectionPermit> {
        let most = self.most();
        let enter = |n_open| (n_open < most).then_some(n_open + 1);
        self.n_open.fetch_update(Ordering::SeqCst, Ordering::SeqCst, enter).ok()?;
        Some(ConnectionPermit { admission: Arc::clone(self), network: None, is_counted: true })
    }

    /// A permit in any case: for connections that were accepted and cannot be asked to wait.
    pub(crate) fn enter(self: &Arc<Self>) -> ConnectionPermit {
        self.n_open.fetch_add(1, Ordering::SeqCst);
        ConnectionPermit { admission: Arc::clone(self), network: None, is_counted: true }
    }

    /// A permit that takes none from clients: for connections of the router to itself.
    pub(crate) fn beside(self: &Arc<Self>) -> ConnectionPermit {
        ConnectionPermit { admission: Arc::clone(self), network: None, is_counted: false }
    }

    /// Waits for a permit. `make_room` asks connections of this event loop to leave and says whether there were any.
    /// Cancel safe.
    pub(crate) async fn wait(self: &Arc<Self>, lane: Lane, make_room: impl Fn() -> bool) -> ConnectionPermit {
        let _waiting = WaiterCount::new(&self.n_waiting);
        let mut is_due = true;
        loop {
            if let Some(permit) = self.try_enter() {
                return permit;
            }
            if is_due && !make_room() {
                self.ask_others(lane);
            }
            // A loop that is told of a permit that another one has taken leaves the others alone for a while.
            is_due = tokio::time::timeout(LOOK_AGAIN, self.left.notified()).await.is_err();
        }
    }

    fn ask_others(&self, lane: Lane) {
        let others = self.crowded.iter().enumerate().filter(|(idx, _)| *idx != lane.index());
        others.for_each(|(_, crowded)| crowded.notify_one());
    }

    /// Waits until others need permits. Cancel safe.
    pub(crate) async fn crowded(&self, lane: Lane) {
        match self.crowded.get(lane.index()) {
            Some(crowded) => crowded.notified().await,
            None => std::future::pending().await,
        }
    }

    fn count(&self, network: ClientNetwork, most: u32) -> bool {
        let mut by_network = self.by_network.lock();
        let n_open = by_network.entry(network).or_default();
        let fits = *n_open < most;
        *n_open += u32::from(fits);
        fits
    }

    fn uncount(&self, network: ClientNetwork) {
        let mut by_network = self.by_network.lock();
        if let Some(n_open) = by_network.get_mut(&network) {
            *n_open -= 1;
            if *n_open == 0 {
                by_network.remove(&network);
            }
        }
    }
}

impl ConnectionPermit {
    /// Counts the connection for its client's address; false when that has too many already.
    pub(crate) fn claim(&mut self, address: IpAddr) -> bool {
        let most = self.admission.most_per_network.load(Ordering::Relaxed);
        if most == 0 {
            return true;
        }
        let network = ClientNetwork::of(address);
        let fits = self.admission.count(network, most);
        if fits {
            self.network = Some(network);
        }
        fits
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        if let Some(network) = self.network {
            self.admission.uncount(network);
        }
        if !self.is_counted {
            return;
        }
        self.admission.n_open.fetch_sub(1, Ordering::SeqCst);
        if self.admission.n_waiting.load(Ordering::SeqCst) > 0 {
            self.admission.left.notify_one();
        }
    }
}

impl ClientNetwork {
    pub(super) fn of(address: IpAddr) -> Self {
        Self(client_network(address))
    }
}

/// Counts an event loop that waits.
struct WaiterCount<'w>(&'w AtomicUsize);

impl<'w> WaiterCount<'w> {
    fn new(n_waiting: &'w AtomicUsize) -> Self {
        n_waiting.fetch_add(1, Ordering::SeqCst);
        Self(n_waiting)
    }
}

impl Drop for WaiterCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn admission(connections: u32, per_address: u32) -> Arc<Admission> {
        let admission = Admission::new(1);
        let limits = ServerLimits {
            connections: NonZeroU32::new(connections),
            connections_per_address: NonZeroU32::new(per_address),
            ..ServerLimits::default()
        };
        admission.configure(&limits, 0);
        admission
    }

    #[test]
    fn permits_are_given_until_there_are_no_more() {
        let admission = admission(2, 0);
        let permits = [admission.try_enter(), admission.try_enter()];
        assert!(permits.iter().all(Option::is_some) && admission.try_enter().is_none());
        drop(permits);
        assert!(admission.try_enter().is_some());
    }

    /// Claims permits for addresses and compares with `expect`, one sign for each.
    #[track_caller]
    fn check(per_address: u32, addresses: &[&str], expect: &str) {
        let admission = admission(100, per_address);
        let mut permits = Vec::new();
        let claim = |address: &&str| {
            permits.push(admission.enter());
            let permit = permits.last_mut().expect("it was pushed");
            if permit.claim(address.parse().expect("an address")) { '+' } else { '-' }
        };
        assert_eq!(addresses.iter().map(claim).collect::<String>(), expect);
        drop(permits);
        assert!(admission.by_network.lock().is_empty(), "nothing is left behind");
    }

    #[test]
    fn each_address_has_its_own() {
        check(
            2,
            &["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1", "::ffff:192.0.2.2", "192.0.2.2"],
            "+++-+-",
        );
        check(0, &["192.0.2.1", "192.0.2.1"], "++");
    }

    #[test]
    fn of_version_6_each_network() {
        check(1, &["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"], "+-+");
    }
}
