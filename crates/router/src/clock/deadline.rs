//! Coarse deadlines for connections: setting one costs a store, and one sweep a few times a second finds
//! those that have passed. Configured time-outs are whole seconds, so a quarter of one more does no harm.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use slab::Slab;
use tokio::sync::Notify;

/// How often the sweep runs.
const SWEEP_INTERVAL: Duration = Duration::from_millis(250);

/// When room is needed, one in so many of the connections that wait is ended at a time.
const SHARE_OF_IDLE: usize = 32;

/// Milliseconds since the event loop started; `NEVER` for none.
type Tick = u64;

const NEVER: Tick = Tick::MAX;

const NANOS_IN_TICK: u128 = 1_000_000;

/// All deadlines of one event loop.
pub(crate) struct Deadlines {
    start: Instant,
    /// Refreshed each time the loop wakes up: exact enough, and free to read.
    now: Cell<Instant>,
    /// The same, counted.
    tick: Cell<Tick>,
    entries: RefCell<Slab<DeadlineEntry>>,
    /// The first deadline was set after a time without any.
    first: Notify,
}

struct DeadlineEntry {
    at: Tick,
    waker: Option<Waker>,
    /// Connections in which no request has begun are ended together with their group.
    group: usize,
    work: TimedWork,
}

/// The work of a connection until its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimedWork {
    /// Something that is not to be interrupted.
    Busy,
    /// The connection reads what comes before the first request, and ends with its group.
    Greeting,
    /// The connection waits for a request, and can be ended at any time.
    Idle,
}

/// One connection's deadline; it has at most one at a time.
pub(crate) struct Deadline {
    all: Rc<Deadlines>,
    key: usize,
}

/// The deadline has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Elapsed;

impl Deadlines {
    pub(crate) fn new() -> Rc<Self> {
        let now = Instant::now();
        Rc::new(Self {
            start: now,
            now: Cell::new(now),
            tick: Cell::new(0),
            entries: RefCell::new(Slab::new()),
            first: Notify::new(),
        })
    }

    /// The time when the loop last woke up.
    pub(crate) fn now(&self) -> Instant {
        self.now.get()
    }

    /// Reads the clock; called each time the loop wakes up.
    pub(crate) fn refresh(&self) {
        self.set_now(Instant::now());
    }

    fn set_now(&self, now: Instant) {
        self.now.set(now);
        self.tick.set(ticks(now.duration_since(self.start)));
    }

    /// A deadline that is not set, in a group of connections.
    pub(crate) fn add(self: &Rc<Self>, group: usize) -> Deadline {
        let entry = DeadlineEntry { at: NEVER, waker: None, group, work: TimedWork::Busy };
        let mut entries = self.entries.borrow_mut();
        if entries.is_empty() {
            self.first.notify_one();
        }
        let key = entries.insert(entry);
        drop(entries);
        Deadline { all: Rc::clone(self), key }
    }

    /// Ends the wait of those connections of a group in which nothing has begun, after `limit` at the latest.
    pub(crate) fn expire_idle(&self, group: usize, limit: Duration) {
        let at = self.after(limit);
        for (_, entry) in &mut *self.entries.borrow_mut() {
            if entry.work != TimedWork::Busy && entry.group == group {
                entry.at = entry.at.min(at);
                if limit.is_zero() {
                    entry.wake();
                }
            }
        }
    }

    /// Ends the wait of some of those connections that have waited longest for a request, and says how many. A few of
    /// many, because looking for them takes as long as there are connections.
    pub(crate) fn expire_oldest_idle(&self) -> usize {
        let mut entries = self.entries.borrow_mut();
        let idle = entries.iter().filter(|(_, entry)| entry.work == TimedWork::Idle);
        let mut idle: Vec<(Tick, usize)> = idle.map(|(key, entry)| (entry.at, key)).collect();
        if idle.is_empty() {
            return 0;
        }
        let n_ended = idle.len().div_ceil(SHARE_OF_IDLE);
        idle.select_nth_unstable(n_ended - 1);
        for (_, key) in &idle[..n_ended] {
            let entry = &mut entries[*key];
            (entry.at, entry.work) = (0, TimedWork::Busy);
            entry.wake();
        }
        n_ended
    }

    /// Sweeps for ever; sleeps while there is no connection.
    pub(crate) async fn keep_sweeping(&self) {
        loop {
            if self.entries.borrow().is_empty() {
                self.first.notified().await;
            }
            tokio::time::sleep(SWEEP_INTERVAL).await;
            self.sweep();
        }
    }

    /// Wakes those whose deadline has passed.
    fn sweep(&self) {
        self.refresh();
        let now = self.tick.get();
        for (_, entry) in &mut *self.entries.borrow_mut() {
            if entry.at <= now {
                entry.wake();
            }
        }
    }

    /// Rounded up: a wait that goes on until its time is over must not end at once while less than a tick is left, or
    /// else it would be begun again and again in a loop whose time stands still.
    fn after(&self, limit: Duration) -> Tick {
        self.tick.get().saturating_add(limit.as_nanos().div_ceil(NANOS_IN_TICK) as Tick)
    }
}

fn ticks(span: Duration) -> Tick {
    span.as_millis() as Tick
}

impl DeadlineEntry {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Deadline {
    /// Runs `work` for at most `limit`. Cancel safe as far as `work` is, which is borrowed so that the future
    /// of a waiting connection stays small.
    pub(crate) fn limit<'a, F: Future>(&'a self, limit: Duration, work: Pin<&'a mut F>) -> Limited<'a, F> {
        self.set(limit, TimedWork::Busy);
        Limited { deadline: self, work }
    }

    /// The same for a connection that reads what comes before its first request, until it is said to be under way.
    pub(crate) fn limit_greeting<'a, F: Future>(
        &'a self,
        limit: Duration,
        work: Pin<&'a mut F>,
    ) -> Limited<'a, F> {
        self.set(limit, TimedWork::Greeting);
        Limited { deadline: self, work }
    }

    /// From now on the connection's work is not to be interrupted before its deadline.
    pub(crate) fn is_under_way(&self) {
        self.all.entries.borrow_mut()[self.key].work = TimedWork::Busy;
    }

    /// The same for a connection that waits for a request and can be ended at any time.
    pub(crate) fn limit_idle<'a, F: Future>(
        &'a self,
        limit: Duration,
        wait: Pin<&'a mut F>,
    ) -> Limited<'a, F> {
        self.set(limit, TimedWork::Idle);
        Limited { deadline: self, work: wait }
    }

    fn set(&self, limit: Duration, work: TimedWork) {
        let at = self.all.after(limit);
        let entry = &mut self.all.entries.borrow_mut()[self.key];
        (entry.at, entry.work) = (at, work);
    }

    fn clear(&self) {
        let entry = &mut self.all.entries.borrow_mut()[self.key];
        (entry.at, entry.work) = (NEVER, TimedWork::Busy);
    }

    fn check<T>(&self, waker: &Waker) -> Poll<Result<T, Elapsed>> {
        let mut entries = self.all.entries.borrow_mut();
        let entry = &mut entries[self.key];
        if entry.at <= self.all.tick.get() {
            return Poll::Ready(Err(Elapsed));
        }
        if !entry.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            entry.waker = Some(waker.clone());
        }
        Poll::Pending
    }
}

/// Work that has a deadline, see [`Deadline::limit`].
pub(crate) struct Limited<'a, F> {
    deadline: &'a Deadline,
    work: Pin<&'a mut F>,
}

impl<F: Future> Future for Limited<'_, F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(output) = self.work.as_mut().poll(context) {
            return Poll::Ready(Ok(output));
        }
        self.deadline.check(context.waker())
    }
}

impl<F> Drop for Limited<'_, F> {
    fn drop(&mut self) {
        self.deadline.clear();
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.all.entries.borrow_mut().remove(self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    /// Polls a wait without end, once before and once after `act`.
    #[track_caller]
    fn check(limit: Duration, act: impl FnOnce(&Rc<Deadlines>), expect: bool) {
        let all = Deadlines::new();
        let deadline = all.add(7);
        let pending = pin!(std::future::pending::<()>());
        let mut wait = deadline.limit_idle(limit, pending);
        let mut wait = Pin::new(&mut wait);
        let mut context = Context::from_waker(Waker::noop());
        assert!(wait.as_mut().poll(&mut context).is_pending(), "nothing has happened yet");
        act(&all);
        assert_eq!(wait.as_mut().poll(&mut context).is_ready(), expect);
    }

    #[test]
    fn a_deadline_that_has_passed_ends_the_wait() {
        check(Duration::from_secs(5), |all| all.set_now(all.start + Duration::from_secs(6)), true);
    }

    #[test]
    fn a_wait_of_less_than_a_tick_is_one() {
        for limit in [Duration::from_nanos(1), Duration::from_micros(999)] {
            check(limit, |_| (), false);
            check(limit, |all| all.set_now(all.start + Duration::from_millis(1)), true);
        }
    }

    #[test]
    fn one_that_has_not_passed_does_not() {
        check(Duration::from_secs(5), |all| all.set_now(all.start + Duration::from_secs(4)), false);
    }

    #[test]
    fn idle_connections_end_with_their_group() {
        check(Duration::from_secs(5), |all| all.expire_idle(7, Duration::ZERO), true);
        check(Duration::from_secs(5), |all| all.expire_idle(8, Duration::ZERO), false);
    }

    #[test]
    fn greetings_end_with_their_group_until_they_are_under_way() {
        for (is_under_way, expect) in [(false, true), (true, false)] {
            let all = Deadlines::new();
            let deadline = all.add(7);
            let pending = pin!(std::future::pending::<()>());
            let mut wait = deadline.limit_greeting(Duration::from_secs(5), pending);
            if is_under_way {
                deadline.is_under_way();
            }
            assert_eq!(all.expire_oldest_idle(), 0, "it makes no room");
            all.expire_idle(7, Duration::ZERO);
            let mut context = Context::from_waker(Waker::noop());
            assert_eq!(Pin::new(&mut wait).poll(&mut context).is_ready(), expect);
        }
    }

    #[test]
    fn or_are_given_less_time_but_never_more() {
        let leave = |seconds| {
            move |all: &Rc<Deadlines>| {
                all.expire_idle(7, Duration::from_secs(seconds));
                all.set_now(all.start + Duration::from_secs(3));
            }
        };
        check(Duration::from_secs(5), leave(2), true);
        check(Duration::from_secs(5), leave(4), false);
        check(Duration::from_secs(2), leave(60), true);
    }

    #[test]
    fn those_that_wait_longest_make_room() {
        let all = Deadlines::new();
        let deadlines: Vec<_> = (0..65).map(|_| all.add(1)).collect();
        assert_eq!(all.expire_oldest_idle(), 0, "none of them waits for a request");
        for (second, deadline) in deadlines.iter().enumerate().skip(1) {
            deadline.set(Duration::from_secs(100 - second as u64), TimedWork::Idle);
        }
        assert_eq!(all.expire_oldest_idle(), 2);
        assert_eq!(all.expire_oldest_idle(), 2);
        let ended = |key: &usize| all.entries.borrow()[deadlines[*key].key].at == 0;
        assert_eq!((0..65).filter(ended).collect::<Vec<_>>(), [61, 62, 63, 64]);
    }

    #[test]
    fn a_dropped_deadline_leaves_nothing_behind() {
        let all = Deadlines::new();
        drop(all.add(1));
        assert!(all.entries.borrow().is_empty());
    }
}
