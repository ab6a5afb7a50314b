//! Connections each of which keeps a process of its server for itself: never more of them than the server has
//! processes, for all event loops together. So no request waits for a process that is busy while another one idles, and
//! a request that finds all of them busy waits here, in the order in which they came.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corral_config::upstream::KeepAlive;
use corral_ipc::message::ServerProcesses;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::upstream::idle::Freshness;
use crate::upstream::server_connection::ServerConnection;

/// How long a request has to wait for its answer on a new connection before others are closed for it, at first and at
/// most.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// A connection stays with its event loop as long as no request has waited at another one for a quarter longer, and
/// this: a process that is to serve another event loop needs a new connection.
const PREFERENCE: Duration = Duration::from_millis(5);

/// The connections to one server.
pub(crate) struct ProcessSlots {
    /// Processes of the server.
    most: usize,
    /// The processes were seen to leave the last bytes of a request unread beyond its end, until they come back for the
    /// next one.
    are_late_readers: AtomicBool,
    state: Mutex<SlotsState>,
}

struct SlotsState {
    /// Connections that are open, idle ones among them, or about to be.
    n_open: usize,
    /// By event loop.
    sides: Vec<LoopSlots>,
}

/// The slots as one event loop sees them.
#[derive(Default)]
struct LoopSlots {
    /// The idle connections of the event loop; the one that has been idle longest is first.
    idle: VecDeque<IdleProcess>,
    /// The requests without a connection.
    queue: VecDeque<SlotWaiter>,
    /// So many of these have left.
    n_left: usize,
}

struct IdleProcess {
    kept: KeptConnection,
    /// The process waits for the next request.
    is_back: bool,
    until: Instant,
}

struct SlotWaiter {
    freshness: Freshness,
    since: Instant,
    granted: oneshot::Sender<Granted>,
}

/// A connection of the last one, or the right to make one.
enum Granted {
    Kept(IdleProcess),
    New,
}

/// A connection on which requests have ended.
pub(crate) struct KeptConnection {
    pub(crate) connection: ServerConnection,
    pub(crate) presence: ProcessPresence,
}

/// Whether the process at a connection waits for the next request: it may have told the end of the last one early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessPresence {
    Back,
    /// Back when it has read all that was sent.
    Away,
    /// Back when it has read what is sent from now on: the beginning of the next request.
    Unknown,
}

/// A request that wants a slot.
#[derive(Debug, Clone, Copy)]
struct SlotClaim {
    lane: usize,
    freshness: Freshness,
    /// The request has waited for longer than others may.
    is_urgent: bool,
}

/// A connection that is counted.
pub(crate) struct ProcessSlot {
    slots: Arc<ProcessSlots>,
    /// The event loop of its request.
    lane: usize,
}

/// A request that waits for a connection.
pub(crate) struct SlotFuture {
    slots: Arc<ProcessSlots>,
    lane: usize,
    granted: oneshot::Receiver<Granted>,
}

impl ProcessSlots {
    /// For a server with so many processes.
    pub(crate) fn new(processes: u32, n_loops: usize) -> Arc<Self> {
        let sides = (0..n_loops).map(|_| LoopSlots::default()).collect();
        let (most, state) = (processes as usize, Mutex::new(SlotsState { n_open: 0, sides }));
        Arc::new(Self { most, are_late_readers: AtomicBool::new(false), state })
    }

    /// A slot, and an idle connection if there is one of use; else a new one is to be made. Or a request that has to
    /// wait.
    pub(crate) fn take(
        self: &Arc<Self>,
        freshness: Freshness,
        lane: usize,
        now: Instant,
    ) -> Result<(ProcessSlot, Option<KeptConnection>), SlotFuture> {
        let mut state = self.state.lock();
        state.sweep(now);
        let granted = if state.sides[lane].queue.is_empty() {
            state.grant(self.most, SlotClaim { lane, freshness, is_urgent: false })
        } else {
            None
        };
        if let Some(granted) = granted {
            return Ok(self.slot(lane, granted));
        }
        let (granted, waiting) = oneshot::channel();
        state.sides[lane].queue.push_back(SlotWaiter { freshness, since: now, granted });
        Err(SlotFuture { slots: Arc::clone(self), lane, granted: waiting })
    }

    fn slot(self: &Arc<Self>, lane: usize, granted: Granted) -> (ProcessSlot, Option<KeptConnection>) {
        let kept = match granted {
            Granted::Kept(idle) => Some(idle.kept),
            Granted::New => None,
        };
        (ProcessSlot { slots: Arc::clone(self), lane }, kept)
    }

    /// Gives what has become free to requests that wait. True while requests of the event loop wait.
    pub(crate) fn serve(&self, lane: usize, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.sweep(now);
        state.serve(self.most, lane, now);
        !state.sides[lane].queue.is_empty()
    }

    /// As `take` where the caller has a process of the server for itself: one that is not back yet from its last
    /// request comes back to its connection, and to no other. So the oldest connection is as good as a new one, unless
    /// not all are open.
    pub(crate) fn take_own(
        self: &Arc<Self>,
        lane: usize,
        now: Instant,
    ) -> (ProcessSlot, Option<KeptConnection>) {
        let mut state = self.state.lock();
        state.sweep(now);
        let mut idle = state.take_of_any(IdleProcess::look_whether_back);
        if idle.is_none() && state.n_open >= self.most {
            idle = state.take_of_any(|_| true);
        }
        state.n_open += usize::from(idle.is_none());
        (ProcessSlot { slots: Arc::clone(self), lane }, idle.map(|idle| idle.kept))
    }

    /// The processes, and the requests that wait for one.
    pub(super) fn figures(&self) -> ServerProcesses {
        let state = self.state.lock();
        let n = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        ServerProcesses {
            most: n(self.most),
            busy: n(state.n_open.saturating_sub(state.n_idle())),
            waiting: n(state.sides.iter().map(|side| side.queue.len().saturating_sub(side.n_left)).sum()),
        }
    }

    /// Connections that are kept for further requests.
    pub(super) fn n_kept(&self) -> usize {
        self.state.lock().n_idle()
    }

    /// Closes the connections that are idle.
    pub(crate) fn close_idle(&self) {
        let mut state = self.state.lock();
        while state.take_of_any(|_| true).is_some() {
            state.n_open -= 1;
        }
    }

    /// Helps a request that gets no answer on a new connection, perhaps as no process has accepted that: the server has
    /// fewer than was said, or others use them, too. Never ends; nothing is lost when it is not waited for.
    pub(crate) async fn keep_relieving(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            tokio::time::sleep(pause).await;
            self.state.lock().close_idle(|_, _| true);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Drops what is too old or closed. True when something is left.
    pub(crate) fn sweep(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.sweep(now);
        state.sides.iter().any(|side| !side.idle.is_empty())
    }
}

impl SlotsState {
    /// A connection at which a process waits, or the right to make a new one. A process that has not come back to its
    /// connection is still busy with the last request, whose end it has said early: that one stays, and counts.
    /// Whatever must not be repeated gets a new connection, as a process that is back may be about to leave.
    fn grant(&mut self, most: usize, claim: SlotClaim) -> Option<Granted> {
        let SlotClaim { lane, freshness, is_urgent } = claim;
        let is_of_use = |idle: &mut IdleProcess| freshness == Freshness::Any && idle.look_whether_back();
        if let Some(idle) = self.sides[lane].take(is_of_use) {
            return Some(Granted::Kept(idle));
        }
        if self.n_open < most {
            self.n_open += 1;
            return Some(Granted::New);
        }
        // A process that waits at a connection of another event loop, or one that is too old, is free when that is
        // closed. A request that waits there comes first.
        self.close_idle(|side, other| side == lane || is_urgent || other.queue.is_empty()).then(|| {
            self.n_open += 1;
            Granted::New
        })
    }

    /// Gives slots to requests that wait, as long as there are any.
    fn serve(&mut self, most: usize, home: usize, now: Instant) {
        while let Some(claim) = self.next(home, now) {
            let lane = claim.lane;
            let Some(granted) = self.grant(most, claim) else { return };
            let Some(waiter) = self.sides[lane].queue.pop_front() else { return };
            if let Err(granted) = waiter.granted.send(granted) {
                self.sides[lane].n_left -= 1;
                self.take_back(granted, lane);
            }
        }
    }

    /// The request that is next: of the event loop that has something to give, unless others have waited for longer.
    fn next(&self, home: usize, now: Instant) -> Option<SlotClaim> {
        let fronts =
            self.sides.iter().enumerate().filter_map(|(lane, side)| Some((lane, side.queue.front()?)));
        let (lane, oldest) = fronts.min_by_key(|(_, waiter)| waiter.since)?;
        let waits = |waiter: &SlotWaiter| now.saturating_duration_since(waiter.since);
        let most = |own: &SlotWaiter| waits(own) * 5 / 4 + PREFERENCE;
        let at_home = self.sides[home].queue.front().filter(|own| waits(oldest) <= most(own));
        let (lane, waiter) = at_home.map_or((lane, oldest), |own| (home, own));
        Some(SlotClaim { lane, freshness: waiter.freshness, is_urgent: lane != home })
    }

    /// The request that was given this has left.
    fn take_back(&mut self, granted: Granted, lane: usize) {
        match granted {
            Granted::New => self.n_open -= 1,
            Granted::Kept(idle) => self.sides[lane].idle.push_front(idle),
        }
    }

    /// Closes a connection whose process is back, of an event loop that may lose one. True when there was one.
    fn close_idle(&mut self, may_lose: impl Fn(usize, &LoopSlots) -> bool) -> bool {
        let mut sides = self.sides.iter_mut().enumerate().filter(|(lane, side)| may_lose(*lane, side));
        let closed = sides.find_map(|(_, side)| side.take(IdleProcess::look_whether_back));
        self.n_open -= usize::from(closed.is_some());
        closed.is_some()
    }

    /// The first idle connection of use, of whatever event loop.
    fn take_of_any(&mut self, mut is_of_use: impl FnMut(&mut IdleProcess) -> bool) -> Option<IdleProcess> {
        self.sides.iter_mut().find_map(|side| side.take(&mut is_of_use))
    }

    fn n_idle(&self) -> usize {
        self.sides.iter().map(|side| side.idle.len()).sum()
    }

    /// Drops what is too old or closed.
    fn sweep(&mut self, now: Instant) {
        for side in &mut self.sides {
            let n_before = side.idle.len();
            side.idle.retain_mut(|idle| now < idle.until && idle.kept.connection.is_quiet());
            self.n_open -= n_before - side.idle.len();
        }
    }
}

impl LoopSlots {
    /// The first idle connection of use.
    fn take(&mut self, is_of_use: impl FnMut(&mut IdleProcess) -> bool) -> Option<IdleProcess> {
        let granted = self.idle.iter_mut().position(is_of_use)?;
        self.idle.remove(granted)
    }

    /// One more request does not wait any more. They go together, so that each costs little.
    fn forget_one(&mut self) {
        self.n_left += 1;
        if self.n_left * 2 > self.queue.len() {
            self.queue.retain(|waiter| !waiter.granted.is_closed());
            self.n_left = 0;
        }
    }
}

impl IdleProcess {
    /// Costs a system call until it is.
    fn look_whether_back(&mut self) -> bool {
        self.is_back = self.is_back || self.kept.connection.is_heard();
        self.is_back
    }
}

impl ProcessSlot {
    /// All slots of the server.
    pub(crate) fn slots(&self) -> Arc<ProcessSlots> {
        Arc::clone(&self.slots)
    }

    /// Where the process is whose request has just ended on the connection. Many leave the end of a request's body
    /// unread until they come back for the next request: once that was seen, nothing need be sent to find it out.
    pub(crate) fn presence(&self, connection: &ServerConnection) -> ProcessPresence {
        if !connection.is_heard() {
            self.slots.are_late_readers.store(true, Ordering::Relaxed);
            return ProcessPresence::Away;
        }
        let is_known =
            !connection.tells_what_is_heard() || self.slots.are_late_readers.load(Ordering::Relaxed);
        if is_known { ProcessPresence::Back } else { ProcessPresence::Unknown }
    }

    /// Keeps the connection for requests that wait, or for the next one. True when it is kept.
    pub(crate) fn keep(self, kept: KeptConnection, rules: &KeepAlive, now: Instant) -> bool {
        let is_used_up = rules.requests > 0 && kept.connection.n_requests() >= rules.requests;
        if is_used_up || kept.connection.is_spoiled() {
            return false;
        }
        let mut state = self.slots.state.lock();
        // It stays counted.
        state.n_open += 1;
        let is_back = kept.presence == ProcessPresence::Back;
        let idle = IdleProcess { kept, is_back, until: now + rules.idle_timeout };
        state.sides[self.lane].idle.push_back(idle);
        true
    }
}

impl Drop for ProcessSlot {
    fn drop(&mut self) {
        let mut state = self.slots.state.lock();
        state.n_open -= 1;
        state.serve(self.slots.most, self.lane, Instant::now());
    }
}

impl SlotFuture {
    /// Waits for a slot, and whether there is a connection already. Cancel safe.
    pub(crate) async fn slot(&mut self) -> (ProcessSlot, Option<KeptConnection>) {
        match (&mut self.granted).await {
            Ok(granted) => self.slots.slot(self.lane, granted),
            // A waiter that is not closed is never dropped.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for SlotFuture {
    fn drop(&mut self) {
        if self.granted.is_terminated() {
            return;
        }
        // It is given nothing while this is locked.
        let mut state = self.slots.state.lock();
        self.granted.close();
        match self.granted.try_recv() {
            Ok(granted) => {
                state.take_back(granted, self.lane);
                state.serve(self.slots.most, self.lane, Instant::now());
            }
            Err(_) => state.sides[self.lane].forget_one(),
        }
    }
}

#[cfg(test)]
mod tests;
