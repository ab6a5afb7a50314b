//! The workers of an instance one by one, and the end of one of them, for a person that asks.

use std::time::Instant;

use corral_channel::{MAX_TRACE, message};
use corral_ipc::message::{Backtrace, MOST_WORKERS, RunningRequest, WorkerId, WorkerStatus, WorkerUsage};

use super::app::AppInstance;
use super::pool::listing::{RunningFacts, WorkerFacts};
use super::pool::worker::ScriptTrace;
use crate::request::method::shown_method;
use crate::request::path_pattern::path_pattern;

/// Most workers of which it is told where their requests are. Viewers of the dashboard get all of it at once.
const MOST_BACKTRACES: usize = 100;

impl AppInstance {
    /// The workers, as many as are told of at a time. Event loops need the lock: it is held for one worker at a time.
    pub(crate) fn workers(&self, now: Instant) -> Vec<WorkerStatus> {
        let places = self.pool.lock().places();
        let facts = places.into_iter().filter_map(|place| self.pool.lock().facts(place));
        let mut workers: Vec<_> = facts.take(MOST_WORKERS).map(|facts| told(facts, now)).collect();
        bound_backtraces(&mut workers);
        workers
    }

    /// Gives a worker nothing more, and has it end after the requests that it has.
    pub(crate) fn drain(&self, worker: WorkerId, now: Instant) {
        let want_worker = {
            let mut pool = self.pool.lock();
            pool.drain(worker, now);
            pool.want_worker()
        };
        self.wake_workers();
        if want_worker {
            self.start_worker();
        }
    }
}

fn told(facts: WorkerFacts, now: Instant) -> WorkerStatus {
    let WorkerFacts { id, state, n_served, n_held, running } = facts;
    WorkerStatus {
        worker: id,
        pid: 0,
        state,
        requests: Some(n_served),
        in_progress: u32::try_from(n_held).unwrap_or(u32::MAX),
        request: running.and_then(|running| request(&running, now)),
        usage: WorkerUsage::default(),
    }
}

fn request(running: &RunningFacts, now: Instant) -> Option<RunningRequest> {
    let view = message::decode_request(&running.payload).ok()?;
    Some(RunningRequest {
        method: shown_method(view.head.method),
        path: path_pattern(view.head.target),
        script: String::from_utf8_lossy(&running.note).into_owned(),
        time: now.saturating_duration_since(running.begun),
        backtrace: running.trace.as_ref().map(|trace| backtrace(trace, running.begun)),
    })
}

/// A trace as text. Bytes that are not UTF-8 take more room there, so it is cut again.
fn backtrace(trace: &ScriptTrace, begun: Instant) -> Backtrace {
    let mut text = String::from_utf8_lossy(&trace.text).into_owned();
    text.truncate(text.floor_char_boundary(MAX_TRACE));
    Backtrace { text, time: trace.taken.saturating_duration_since(begun) }
}

/// Drops all backtraces but the first ones, of which there may be so many.
fn bound_backtraces(workers: &mut [WorkerStatus]) {
    let requests = workers.iter_mut().filter_map(|worker| worker.request.as_mut());
    let traced = requests.filter(|request| request.backtrace.is_some());
    traced.skip(MOST_BACKTRACES).for_each(|request| request.backtrace = None);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use corral_channel::message::RequestHead;
    use corral_ipc::message::WorkerState;

    use super::*;

    /// A worker whose request has said this after a second and a half.
    fn worker(text: &[u8]) -> WorkerStatus {
        let mut payload = Vec::new();
        let head = RequestHead { method: b"GET", target: b"/users/123?a=b", ..RequestHead::default() };
        message::encode_request(&mut payload, &head, []);
        let begun = Instant::now();
        let trace = ScriptTrace { text: text.into(), taken: begun + Duration::from_millis(1500) };
        let running = RunningFacts { payload, note: b"/srv/a.php".to_vec(), begun, trace: Some(trace) };
        let (id, state) = (WorkerId(1), WorkerState::Busy);
        let facts = WorkerFacts { id, state, n_served: 0, n_held: 1, running: Some(running) };
        told(facts, begun + Duration::from_secs(2))
    }

    #[track_caller]
    fn check(text: &[u8], expect: &str) {
        let request = worker(text).request.unwrap();
        assert_eq!((&*request.path, request.time), ("/users/:n", Duration::from_secs(2)));
        let backtrace = Backtrace { text: expect.to_owned(), time: Duration::from_millis(1500) };
        assert_eq!(request.backtrace, Some(backtrace));
    }

    #[test]
    fn backtraces_are_bounded_texts() {
        check(b"f() /srv/a.php:3 < /srv/a.php:9", "f() /srv/a.php:3 < /srv/a.php:9");
        check(b"f\xff()", "f\u{fffd}()");
        check(&[b'x'; MAX_TRACE], &"x".repeat(MAX_TRACE));
        check(&[0xff; MAX_TRACE], &"\u{fffd}".repeat(MAX_TRACE / 3));
    }

    #[test]
    fn so_many_workers_have_one() {
        let mut workers = vec![worker(b"f()"); MOST_BACKTRACES + 2];
        workers[0].request = None;
        workers[1].request.as_mut().unwrap().backtrace = None;
        workers.push(worker(b"f()"));
        bound_backtraces(&mut workers);
        let traced =
            workers.iter().map(|worker| worker.request.as_ref().is_some_and(|it| it.backtrace.is_some()));
        let traced: Vec<_> = traced.collect();
        assert_eq!(traced.iter().filter(|it| **it).count(), MOST_BACKTRACES);
        assert_eq!(traced.last(), Some(&false));
    }
}
