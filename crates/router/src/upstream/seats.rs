//! Connections each of which keeps a process of its server for itself: kept for all event loops together, and never more
//! of them than the server has processes. So no request waits for a process that is busy while another one idles.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_config::upstream::KeepAlive;
use parking_lot::Mutex;

use crate::upstream::idle::{FRESH, Freshness};
use crate::upstream::line::Line;

/// How long to wait before it is looked whether a process is back, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// The connections to one server.
pub(crate) struct Seats {
    /// Processes of the server.
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Connections that are open, idle ones among them, or about to be.
    n_open: usize,
    /// The idle connections; the one that has been idle longest is first.
    idle: VecDeque<Idle>,
}

struct Idle {
    line: Line,
    /// The event loop that waits for it with the least effort.
    lane: usize,
    since: Instant,
    until: Instant,
}

/// A connection that is counted.
pub(crate) struct Seat(Arc<Seats>);

impl Seats {
    /// For a server with so many processes.
    pub(crate) fn new(processes: u32) -> Arc<Self> {
        Arc::new(Self { most: processes as usize, state: Mutex::default() })
    }

    /// A seat, and an idle connection if there is one of use; else a new one is to be made.
    pub(crate) fn take(
        self: &Arc<Self>,
        freshness: Freshness,
        lane: usize,
        now: Instant,
    ) -> (Seat, Option<Line>) {
        let mut state = self.state.lock();
        let line = state.take(freshness, lane, now);
        state.n_open += usize::from(line.is_none());
        (Seat(Arc::clone(self)), line)
    }

    /// Helps whoever waits on a connection that no process has accepted: closes those to which one has come back late.
    /// Never ends; nothing is lost when it is not waited for.
    pub(crate) async fn keep_relieving(&self) {
        let mut pause = FIRST_PAUSE;
        while self.has_idle() {
            tokio::time::sleep(pause).await;
            self.state.lock().relieve(self.most);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        std::future::pending::<()>().await;
    }

    fn has_idle(&self) -> bool {
        !self.state.lock().idle.is_empty()
    }

    /// Drops what is too old or closed. True when something is left.
    pub(crate) fn sweep(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.sweep(now);
        !state.idle.is_empty()
    }
}

impl State {
    /// The first connection that a process waits at, of this event loop if there is one. A process that has not come back to
    /// its connection is still busy with the last request, whose end it has said early: that one stays, and counts.
    fn take(&mut self, freshness: Freshness, lane: usize, now: Instant) -> Option<Line> {
        self.sweep(now);
        let is_of_use =
            |idle: &Idle| (freshness == Freshness::Any || now < idle.since + FRESH) && idle.line.is_heard();
        let own = self.idle.iter().position(|idle| idle.lane == lane && is_of_use(idle));
        let place = own.or_else(|| self.idle.iter().position(is_of_use))?;
        self.idle.remove(place).map(|idle| idle.line)
    }

    /// Closes the connections of processes that are back, as far as others want processes.
    fn relieve(&mut self, most: usize) {
        while self.n_open > most {
            let Some(place) = self.idle.iter().position(|idle| idle.line.is_heard()) else { return };
            self.idle.remove(place);
            self.n_open -= 1;
        }
    }

    /// Drops what is too old or closed.
    fn sweep(&mut self, now: Instant) {
        let n_before = self.idle.len();
        self.idle.retain_mut(|idle| now < idle.until && idle.line.is_quiet());
        self.n_open -= n_before - self.idle.len();
    }
}

impl Seat {
    /// All seats of the server.
    pub(crate) fn seats(&self) -> Arc<Seats> {
        Arc::clone(&self.0)
    }

    /// Whether others have no connection and wait for a process.
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.state.lock().n_open > self.0.most
    }

    /// Keeps the connection, unless others have none and wait for a process. True when it is kept.
    pub(crate) fn keep(self, line: Line, rules: &KeepAlive, lane: usize, now: Instant) -> bool {
        let is_used_up = rules.requests > 0 && line.n_requests() >= rules.requests;
        let mut state = self.0.state.lock();
        if state.n_open > self.0.most || is_used_up || line.is_spoiled() {
            return false;
        }
        state.idle.push_back(Idle { line, lane, since: now, until: now + rules.idle_timeout });
        // It stays counted.
        state.n_open += 1;
        true
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.state.lock().n_open -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream as StdStream;
    use tokio::net::UnixStream;

    use super::*;
    use crate::io::Socket;

    const SECOND: Duration = Duration::from_secs(1);

    /// A connection on which this was sent, and its other end.
    fn line(sent: &[u8]) -> (Line, StdStream) {
        let (mut near, far) = StdStream::pair().expect("make sockets");
        near.write_all(sent).expect("there is room");
        near.set_nonblocking(true).expect("it does not block");
        let stream = UnixStream::from_std(near).expect("the event loop takes it");
        (Line::new(Socket::unix(stream), None), far)
    }

    fn keep(seats: &Arc<Seats>, line: Line, now: Instant) -> bool {
        let (seat, kept) = seats.take(Freshness::Any, 0, now);
        assert!(kept.is_none(), "it is a new one");
        seat.keep(line, &KeepAlive { idle_timeout: 5 * SECOND, ..KeepAlive::default() }, 0, now)
    }

    fn n_open(seats: &Seats) -> usize {
        seats.state.lock().n_open
    }

    #[tokio::test]
    async fn a_connection_is_kept_for_the_next_one() {
        let (seats, now, (line, _far)) = (Seats::new(2), Instant::now(), line(b""));
        assert!(keep(&seats, line, now));
        assert_eq!(n_open(&seats), 1);
        let (seat, kept) = seats.take(Freshness::Any, 1, now + SECOND / 2);
        assert!(kept.is_some(), "of whatever event loop");
        assert_eq!(n_open(&seats), 1);
        drop((kept, seat));
        assert_eq!(n_open(&seats), 0);
    }

    #[tokio::test]
    async fn nothing_is_kept_while_others_wait_for_a_process() {
        let (seats, now, (line, _far)) = (Seats::new(1), Instant::now(), line(b""));
        let (waiting, _) = seats.take(Freshness::Any, 0, now);
        assert!(!waiting.is_wanted());
        assert!(!keep(&seats, line, now));
        assert_eq!(n_open(&seats), 1);
        drop(waiting);
        assert_eq!(n_open(&seats), 0);
    }

    /// `expect` says whether a kept connection is used, and how many are open if nobody uses it.
    #[track_caller]
    fn check(line: Line, freshness: Freshness, later: Duration, expect: (bool, usize)) {
        let (seats, now) = (Seats::new(8), Instant::now());
        assert!(keep(&seats, line, now));
        let (seat, kept) = seats.take(freshness, 0, now + later);
        let is_used = kept.is_some();
        drop((kept, seat));
        assert_eq!((is_used, n_open(&seats)), expect);
    }

    #[tokio::test]
    async fn what_is_old_is_of_no_use() {
        let (any, _far) = line(b"");
        check(any, Freshness::Any, 4 * SECOND, (true, 0));
        let (old, _far) = line(b"");
        check(old, Freshness::Any, 5 * SECOND, (false, 0));
        let (stale, _far) = line(b"");
        check(stale, Freshness::Fresh, 2 * SECOND, (false, 1));
    }

    #[tokio::test]
    async fn a_process_that_is_not_back_is_still_busy() {
        let (unheard, _far) = line(b"begin");
        check(unheard, Freshness::Any, SECOND, (false, 1));
    }

    #[tokio::test]
    async fn what_is_closed_or_out_of_step_is_dropped() {
        let (closed, far) = line(b"");
        drop(far);
        closed.readable().await.expect("its end is there");
        check(closed, Freshness::Any, SECOND, (false, 0));
        let (talkative, mut far) = line(b"");
        far.write_all(b"x").expect("there is room");
        talkative.readable().await.expect("a byte is there");
        check(talkative, Freshness::Any, SECOND, (false, 0));
    }

    #[tokio::test]
    async fn who_waits_gets_the_process_that_comes_back() {
        let (seats, now) = (Seats::new(1), Instant::now());
        let (line, mut far) = line(b"begin");
        assert!(keep(&seats, line, now));
        let (_waiting, kept) = seats.take(Freshness::Any, 0, now);
        assert!(kept.is_none() && n_open(&seats) == 2);
        seats.state.lock().relieve(1);
        assert_eq!(n_open(&seats), 2, "it is not back");
        far.read_exact(&mut [0; 5]).expect("what was sent is there");
        tokio::select! {
            () = seats.keep_relieving() => {}
            () = tokio::time::sleep(10 * FIRST_PAUSE) => {}
        }
        assert_eq!(n_open(&seats), 1);
    }

    #[tokio::test]
    async fn what_nobody_uses_is_closed() {
        let (seats, now, (line, _far)) = (Seats::new(1), Instant::now(), line(b""));
        assert!(keep(&seats, line, now));
        assert!(seats.sweep(now + SECOND));
        assert!(!seats.sweep(now + 6 * SECOND));
        assert_eq!(n_open(&seats), 0);
    }
}
