//! A request that a program serves, as the connection that waits for its turn sees it.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use corral_channel::{Lane, RequestId};

use super::failure::AppFailure;
use super::loop_app::LoopApp;
use super::pool::pool_request::PoolRequest;
use super::program::ReadyProgram;
use super::request_timeouts::RequestTimeouts;
use super::turns;
use crate::reply::timings::RunTimes;
use crate::storage::buffers::{self, Rest};

/// A request that waits for its turn, or has it. Dropping it ends the turn, or gives it up.
pub(crate) struct ProgramTurn {
    app: Rc<LoopApp>,
    lane: Lane,
    id: RequestId,
    cell: Arc<turns::TurnCell>,
    /// When it began.
    begun: Cell<Option<Instant>>,
}

impl ProgramTurn {
    /// Takes a request in.
    fn new(app: Rc<LoopApp>, lane: Lane, id: RequestId) -> Self {
        let cell = app.app.turns.insert(lane, id);
        Self { app, lane, id, cell, begun: Cell::new(None) }
    }

    /// Waits until it begins. Cancel safe: it has begun when this returns.
    pub(crate) async fn begin(&self) -> Result<Arc<ReadyProgram>, AppFailure> {
        poll_fn(|context| {
            if let Some(begun) = self.try_begin() {
                return Poll::Ready(begun);
            }
            self.cell.wait(context);
            Poll::Pending
        })
        .await
    }

    /// Begins, if it may at once.
    pub(crate) fn try_begin(&self) -> Option<Result<Arc<ReadyProgram>, AppFailure>> {
        let begun = self.cell.begin()?;
        self.begun.set(Some(Instant::now()));
        Some(begun)
    }

    /// The connection was upgraded. It counts as a request no more, but the program is not told to end before it has
    /// ended.
    pub(crate) fn become_tunnel(&self) {
        if let Some(program) = self.cell.become_tunnel() {
            self.release_worker(&program);
        }
    }

    fn release_worker(&self, program: &ReadyProgram) {
        let elapsed = self.begun.get().map_or_else(Default::default, |begun| begun.elapsed());
        self.app.app.release_worker(program, self.request(), elapsed);
    }

    /// For how long it is waited for.
    pub(crate) fn timeouts(&self) -> RequestTimeouts {
        RequestTimeouts::new(&self.app.app.spec.limits, true)
    }

    /// Where the time has gone of a request that was queued and is over.
    pub(crate) fn times(&self, queued: Instant, ended: Instant, pid: Option<u32>) -> RunTimes {
        RunTimes { began: queued, started: self.begun.get(), ended, pid }
    }

    /// The lane and the number that the pool knows the request by.
    pub(crate) fn request(&self) -> (Lane, RequestId) {
        (self.lane, self.id)
    }
}

impl Drop for ProgramTurn {
    fn drop(&mut self) {
        match self.cell.program() {
            Some((program, is_tunnel)) => {
                if !is_tunnel {
                    self.release_worker(&program);
                }
                self.app.app.end_turn(&program);
            }
            None => drop(self.app.app.cancel(self.lane, self.id)),
        }
        self.app.app.turns.remove(self.lane, self.id);
    }
}

impl LoopApp {
    /// Queues a request for the turn of a program; `description` is its head.
    pub(crate) fn begin_turn(self: &Rc<Self>, description: Vec<u8>, now: Instant) -> ProgramTurn {
        let id = RequestId(self.next_stamp.get());
        self.next_stamp.set(id.0.wrapping_add(1));
        let turn = ProgramTurn::new(Rc::clone(self), self.lane, id);
        self.touched.set(true);
        self.busy.add(self);
        let job =
            PoolRequest { lane: self.lane, id, payload: description, inline: Rest::default(), arrived: now };
        if let Err(rejected) = self.app.submit(job, now) {
            buffers::give(rejected.request.payload);
            self.fail(id, self.app.explain(rejected.reason));
        }
        turn
    }
}
