//! Connections each of which keeps a process of its server for itself: kept for all event loops together, and never more
//! of them than the server has processes. So no request waits for a process that is busy while another one idles.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use corral_config::upstream::KeepAlive;
use parking_lot::Mutex;

use crate::upstream::idle::{FRESH, Freshness};
use crate::upstream::line::Line;

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
    /// Those that nobody uses; the one that has been idle longest is first.
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

    /// Drops what is too old or closed. True when something is left.
    pub(crate) fn sweep(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        let n_before = state.idle.len();
        state.idle.retain_mut(|idle| now < idle.until && idle.line.is_quiet());
        state.n_open -= n_before - state.idle.len();
        !state.idle.is_empty()
    }
}

impl State {
    fn take(&mut self, freshness: Freshness, lane: usize, now: Instant) -> Option<Line> {
        loop {
            let own = self.idle.iter().position(|idle| idle.lane == lane);
            let mut idle = self.idle.remove(own.unwrap_or(0))?;
            let limit =
                if freshness == Freshness::Fresh { (idle.since + FRESH).min(idle.until) } else { idle.until };
            // A process that has not come back to its connection is still busy with the last request, whose end it has said early.
            if now < limit && idle.line.is_quiet() && idle.line.is_heard() {
                return Some(idle.line);
            }
            self.n_open -= 1;
        }
    }
}

impl Seat {
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
    use std::io::Write;
    use std::os::unix::net::UnixStream as StdStream;
    use std::time::Duration;

    use tokio::net::UnixStream;
    use tokio::runtime::Builder;

    use super::*;
    use crate::io::Socket;

    const SECOND: Duration = Duration::from_secs(1);

    /// Runs `act` where sockets can be made.
    fn with_sockets(act: impl FnOnce()) {
        Builder::new_current_thread()
            .enable_io()
            .build()
            .expect("make an event loop")
            .block_on(async { act() });
    }

    /// A connection and its other end.
    fn line() -> (Line, StdStream) {
        let (near, far) = StdStream::pair().expect("make sockets");
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

    #[test]
    fn a_connection_is_kept_for_the_next_one() {
        with_sockets(|| {
            let (seats, now, (line, _far)) = (Seats::new(2), Instant::now(), line());
            assert!(keep(&seats, line, now));
            assert_eq!(n_open(&seats), 1);
            let (seat, kept) = seats.take(Freshness::Any, 1, now + SECOND / 2);
            assert!(kept.is_some(), "of whatever event loop");
            assert_eq!(n_open(&seats), 1);
            drop((kept, seat));
            assert_eq!(n_open(&seats), 0);
        });
    }

    #[test]
    fn nothing_is_kept_while_others_wait_for_a_process() {
        with_sockets(|| {
            let (seats, now, (line, _far)) = (Seats::new(1), Instant::now(), line());
            let (waiting, _) = seats.take(Freshness::Any, 0, now);
            assert!(!keep(&seats, line, now));
            assert_eq!(n_open(&seats), 1);
            drop(waiting);
            assert_eq!(n_open(&seats), 0);
        });
    }

    #[test]
    fn what_is_closed_old_or_not_heard_is_of_no_use() {
        with_sockets(|| {
            let (seats, now) = (Seats::new(8), Instant::now());
            let is_kept = |act: fn(&mut Line, StdStream) -> Option<StdStream>, freshness, later| {
                let (mut line, far) = line();
                let _far = act(&mut line, far);
                assert!(keep(&seats, line, now));
                let (_seat, kept) = seats.take(freshness, 0, now + later);
                kept.is_some()
            };
            let nothing = |_: &mut Line, far| Some(far);
            assert!(is_kept(nothing, Freshness::Any, 4 * SECOND));
            assert!(!is_kept(nothing, Freshness::Any, 5 * SECOND));
            assert!(!is_kept(nothing, Freshness::Fresh, 2 * SECOND), "the server may be about to close it");
            let unheard = |line: &mut Line, far| {
                line.try_write(&[std::io::IoSlice::new(b"begin")]).expect("there is room");
                Some(far)
            };
            assert!(!is_kept(unheard, Freshness::Any, SECOND), "the process is not back");
            let talkative = |_: &mut Line, mut far: StdStream| {
                far.write_all(b"x").expect("there is room");
                Some(far)
            };
            assert!(!is_kept(talkative, Freshness::Any, SECOND));
            assert!(!is_kept(|_, _| None, Freshness::Any, SECOND), "it is closed");
            assert_eq!(n_open(&seats), 0);
        });
    }

    #[test]
    fn what_nobody_uses_is_closed() {
        with_sockets(|| {
            let (seats, now, (line, _far)) = (Seats::new(1), Instant::now(), line());
            assert!(keep(&seats, line, now));
            assert!(seats.sweep(now + SECOND));
            assert!(!seats.sweep(now + 6 * SECOND));
            assert_eq!(n_open(&seats), 0);
        });
    }
}
