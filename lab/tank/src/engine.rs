//! One thread of the generator: sends what is due, reads what comes, gives up what takes too long. All of its sockets
//! are in one epoll set, and no call but the wait for events blocks.

mod deadlines;
mod poller;
mod pool;
mod source;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::ClientConfig;
use slab::Slab;
use tokio::sync::mpsc::UnboundedSender;

use self::poller::{Poller, SocketEvent};
use self::pool::Pool;
use self::source::Source;
use crate::clock::{Clock, Nanos, SECOND, nanos, thread_busy};
use crate::connection::{Connection, Context};
use crate::expect::Expectation;
use crate::failure::Failure;
use crate::outcome::{Job, Marks, Outcome};
use crate::phout::PhoutLines;
use crate::requests::{Protocol, Requests};
use crate::tally::Tally;
use crate::transport::Transport;

pub(crate) use self::source::Plan;

/// How long the thread sleeps at most, so that it sees when it is to stop.
const LONGEST_SLEEP: Nanos = SECOND / 10;

/// How long a closed loop leaves a place free after no connection could be made: or else it would only do that.
const PAUSE: Nanos = SECOND / 10;

const BUFFER: usize = 64 * 1024;

/// Settings that all threads of a run share.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) clock: Clock,
    pub(crate) requests: Arc<Requests>,
    pub(crate) expectation: Arc<Expectation>,
    pub(crate) plan: Plan,
    pub(crate) protocol: Protocol,
    pub(crate) tls: Option<Arc<ClientConfig>>,
    /// From when a request is due.
    pub(crate) timeout: Nanos,
    pub(crate) n_threads: usize,
    /// Connections to each server, of all threads together.
    pub(crate) n_connections: usize,
    /// Requests at a time on each connection.
    pub(crate) n_streams: usize,
    pub(crate) stop: Arc<AtomicBool>,
}

impl Settings {
    /// The share of the connections that one thread makes.
    fn share(&self, thread: usize) -> usize {
        let (each, rest) = (self.n_connections / self.n_threads, self.n_connections % self.n_threads);
        each + usize::from(thread < rest)
    }
}

/// Figures of one second of one thread.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) thread: usize,
    pub(crate) second: u64,
    pub(crate) tally: Tally,
    /// Requests that were due and have not ended, sent or not.
    pub(crate) n_open: usize,
    /// How long the thread ran or waited for a processor, since its start.
    pub(crate) busy: Nanos,
    /// When the figures were taken.
    pub(crate) moment: Nanos,
    /// Whether this is the thread's last one.
    pub(crate) is_last: bool,
}

pub(crate) struct Engine {
    settings: Settings,
    thread: usize,
    cx: Context,
    poller: Poller,
    connections: Slab<Connection>,
    /// For each server, by its index.
    pools: Vec<Pool>,
    /// Connections of HTTP/2 that took requests which have not left yet.
    undriven: Vec<usize>,
    source: Source,
    plan_end: Nanos,
    n_open: usize,
    /// In a closed loop: how many requests may be on their way.
    n_places: usize,
    /// In a closed loop: until when places stay free.
    paused: VecDeque<Nanos>,
    tally: Tally,
    second: u64,
    phout: Option<PhoutLines>,
    reports: UnboundedSender<Report>,
}

impl Engine {
    pub(crate) fn new(
        settings: Settings,
        thread: usize,
        phout: Option<PhoutLines>,
        reports: UnboundedSender<Report>,
    ) -> io::Result<Self> {
        let cx = Context {
            clock: settings.clock,
            requests: Arc::clone(&settings.requests),
            expectation: Arc::clone(&settings.expectation),
            protocol: settings.protocol,
            n_streams: settings.n_streams,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            done: Vec::new(),
            returned: Vec::new(),
        };
        let limit = settings.share(thread);
        Ok(Self {
            thread,
            cx,
            poller: Poller::new()?,
            connections: Slab::new(),
            pools: settings.requests.origins.iter().map(|_| Pool::new(limit)).collect(),
            undriven: Vec::new(),
            source: Source::new(settings.plan.clone(), thread, settings.n_threads),
            plan_end: settings.plan.duration().map_or(Nanos::MAX, nanos),
            n_open: 0,
            n_places: limit * settings.n_streams,
            paused: VecDeque::new(),
            tally: Tally::default(),
            second: 0,
            phout,
            reports,
            settings,
        })
    }

    /// Carries out this thread's part of the plan, until all requests have ended or the run is stopped.
    pub(crate) fn run(mut self) -> io::Result<()> {
        self.cx.clock.wait_for_start();
        let mut now = self.cx.clock.now();
        loop {
            self.turn(now);
            if self.is_over(now) {
                break;
            }
            self.poller.wait(self.wake_up(now), now, &self.cx.clock)?;
            for at in 0..self.poller.n_events() {
                if let Some(event) = self.poller.event(at) {
                    self.on_event(event);
                    self.send_due();
                }
            }
            now = self.cx.clock.now();
        }
        self.report(now, true);
        Ok(())
    }

    /// Does what has become due by now.
    fn turn(&mut self, now: Nanos) {
        while now >= (self.second + 1) * SECOND {
            self.report(now, false);
        }
        while self.paused.front().is_some_and(|end| *end <= now) {
            self.paused.pop_front();
        }
        self.expire(now);
        self.send_due();
    }

    fn is_over(&self, now: Nanos) -> bool {
        let is_done = self.n_open == 0 && self.source.next_due(now).is_none();
        is_done || self.settings.stop.load(Ordering::Relaxed)
    }

    /// The moment at which the next turn has something to do, if no event comes before.
    fn wake_up(&self, now: Nanos) -> Nanos {
        let due = self.source.next_due(now).filter(|_| self.has_place());
        let deadlines = self.pools.iter().filter_map(|pool| pool.next_deadline(self.settings.timeout));
        let moments = due.into_iter().chain(deadlines).chain(self.paused.front().copied());
        moments.chain([(self.second + 1) * SECOND, now + LONGEST_SLEEP]).min().unwrap_or(now)
    }

    /// Whether one more request may be on its way. In an open loop, always.
    fn has_place(&self) -> bool {
        !self.source.is_closed() || self.n_open + self.paused.len() < self.n_places
    }

    /// Sends all that is due, first what waits for a connection.
    fn send_due(&mut self) {
        for origin in 0..self.pools.len() {
            self.send_waiting(origin);
        }
        loop {
            // A fresh look for each, as many of them take their time.
            let now = self.cx.clock.now();
            let due = self.source.next_due(now).filter(|due| *due <= now && self.has_place());
            let Some(due) = due else { break };
            let request = self.cx.requests.pick(self.source.advance());
            self.n_open += 1;
            self.dispatch(Job::new(request, due), now);
        }
        self.drive();
    }

    fn send_waiting(&mut self, origin: usize) {
        while !self.pools[origin].waiting.is_empty() {
            let Some(key) = self.room(origin) else { break };
            let Some(job) = self.pools[origin].waiting.pop_front() else { break };
            let now = self.cx.clock.now();
            self.give(key, job, now);
        }
    }

    /// Gives a request that has become due to a connection, or has it wait for one.
    fn dispatch(&mut self, job: Job, now: Nanos) {
        let origin = self.cx.requests.list[job.request].origin;
        let is_first = self.pools[origin].waiting.is_empty();
        match is_first.then(|| self.room(origin)).flatten() {
            Some(key) => self.give(key, job, now),
            None => self.pools[origin].waiting.push_back(Job { has_waited: true, ..job }),
        }
    }

    /// A connection that takes a request; a new one if there may be one more.
    fn room(&mut self, origin: usize) -> Option<Result<usize, Failure>> {
        if let Some(key) = self.pools[origin].free.last() {
            return Some(Ok(*key));
        }
        self.pools[origin].may_grow().then(|| self.open(origin))
    }

    fn open(&mut self, origin: usize) -> Result<usize, Failure> {
        let server = &self.cx.requests.origins[origin];
        let tls = self.settings.tls.as_ref().filter(|_| server.is_tls);
        self.tally.opened += 1;
        let transport = Transport::open(server, tls)?;
        let entry = self.connections.vacant_entry();
        let key = entry.key();
        self.poller.add(transport.as_fd(), key).map_err(|_| Failure::Unreachable)?;
        entry.insert(Connection::new(origin, transport));
        self.pools[origin].opened();
        Ok(key)
    }

    /// Has a connection take a request.
    fn give(&mut self, key: Result<usize, Failure>, mut job: Job, now: Nanos) {
        job.taken = now;
        if job.n_returned == 0 {
            self.tally.record_sent(now <= self.plan_end);
            match job.has_waited {
                true => self.tally.waited += 1,
                false if self.source.is_closed() => {}
                false => self.tally.record_lag(now.saturating_sub(job.due)),
            }
        }
        match key {
            Ok(key) => {
                let origin = self.cx.requests.list[job.request].origin;
                job.place = self.pools[origin].deadlines.push(job.due + self.settings.timeout, key);
                let taken = self.connections[key].take(job, &mut self.cx);
                self.undriven.extend((self.settings.protocol == Protocol::Http2).then_some(key));
                self.settle(key, taken);
            }
            Err(failure) => {
                let end = self.cx.clock.now();
                self.cx.done.push(Outcome::failed(job, Marks::default(), end, failure));
                self.collect();
            }
        }
    }

    /// Lets requests of HTTP/2 leave.
    fn drive(&mut self) {
        while let Some(key) = self.undriven.pop() {
            if let Some(connection) = self.connections.get_mut(key) {
                let driven = connection.drive(&mut self.cx);
                self.settle(key, driven);
            }
        }
    }

    fn on_event(&mut self, event: SocketEvent) {
        // The connection may be over by an event before, and its key that of another one: which finds nothing to do.
        if let Some(connection) = self.connections.get_mut(event.key) {
            let result = connection.on_event(event.is_hup, &mut self.cx);
            self.settle(event.key, result);
        }
    }

    /// Takes up what a connection did.
    fn settle(&mut self, key: usize, result: Result<(), Failure>) {
        if let Err(failure) = result {
            self.close(key, failure);
        } else {
            let connection = &mut self.connections[key];
            self.pools[connection.origin].list(key, connection, &self.cx);
        }
        self.collect();
    }

    fn close(&mut self, key: usize, failure: Failure) {
        let mut connection = self.connections.remove(key);
        connection.abandon(failure, &mut self.cx);
        self.pools[connection.origin].closed(key, &connection);
    }

    /// Counts the requests that have ended, and queues those that were given back.
    fn collect(&mut self) {
        let mut done = std::mem::take(&mut self.cx.done);
        for outcome in done.drain(..) {
            self.count(&outcome);
        }
        self.cx.done = done;
        while let Some(job) = self.cx.returned.pop() {
            let pool = &mut self.pools[self.cx.requests.list[job.request].origin];
            pool.deadlines.end(job.place);
            pool.waiting.push_front(Job { has_waited: true, ..job });
        }
    }

    fn count(&mut self, outcome: &Outcome) {
        let request = &self.cx.requests.list[outcome.job.request];
        self.n_open -= 1;
        self.pools[request.origin].deadlines.end(outcome.job.place);
        self.tally.record(outcome, outcome.end <= self.plan_end);
        if let Some(phout) = self.phout.as_mut() {
            phout.write(outcome, &request.tag);
        }
        let is_connect =
            matches!(outcome.failure, Some(Failure::Refused | Failure::Unreachable | Failure::Tls));
        if self.source.is_closed() && is_connect {
            self.paused.push_back(outcome.end + PAUSE);
        }
    }

    /// Gives up requests whose time is over, whether they were sent or not.
    fn expire(&mut self, now: Nanos) {
        for origin in 0..self.pools.len() {
            while let Some(deadline) =
                self.pools[origin].deadlines.first().filter(|first| first.moment <= now)
            {
                let expired = self.connections[deadline.connection].expire(deadline.place, &mut self.cx);
                self.settle(deadline.connection, expired);
                self.pools[origin].deadlines.end(deadline.place);
            }
            while let Some(job) = self.pools[origin].pop_expired(now, self.settings.timeout) {
                self.cx.done.push(Outcome::failed(job, Marks::default(), now, Failure::NotSent));
            }
        }
        self.collect();
    }

    /// Sends the figures of a second that is over.
    fn report(&mut self, now: Nanos, is_last: bool) {
        if let Some(phout) = self.phout.as_mut() {
            phout.flush();
        }
        let report = Report {
            thread: self.thread,
            second: self.second,
            tally: std::mem::take(&mut self.tally),
            n_open: self.n_open,
            busy: thread_busy(),
            moment: now,
            is_last,
        };
        self.second += 1;
        // Nothing reads them any more if the main thread is on its way out.
        drop(self.reports.send(report));
    }
}
