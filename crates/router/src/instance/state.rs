//! How far the answer to one request has come.

use std::cell::RefCell;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use corral_channel::{INITIAL_CREDIT, RequestId};

use super::failure::AppFailure;
use super::file::SentFile;
use super::hijacked::Hijacked;
use super::pool::worker::WorkerKey;
use crate::reply::timings::RunTimes;
use crate::request::body::rest::RequestBody;
use crate::storage::buffers;
use crate::storage::spool::Spool;

/// The parts of a worker's answer, in order.
#[derive(Debug)]
pub(crate) enum AnswerPiece {
    /// Heads of informational responses, as they are sent.
    Interim(Vec<u8>),
    /// The application has taken the connection over: there is no response.
    Hijacked(Hijacked),
    /// The head, encoded, and the first bytes of the body behind it.
    Head(Vec<u8>),
    /// More of the body.
    Data(Vec<u8>),
    /// The rest of it.
    File(SentFile),
    /// Nothing more comes.
    End,
}

/// The state of one request, shared by the connection that waits and the loop that drains.
#[derive(Debug)]
pub(super) struct SharedCall {
    pub(super) id: RequestId,
    pub(super) state: RefCell<CallState>,
}

/// A run in a worker that has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndedRun {
    /// When its end was heard of.
    pub(super) heard: Instant,
    /// How long it has taken, as the worker says.
    pub(super) took: Duration,
    /// The worker's process; none if that was gone by then.
    pub(super) pid: Option<u32>,
}

impl EndedRun {
    /// The same for a request that was handed over at `began`.
    pub(super) fn times(&self, began: Instant) -> RunTimes {
        let started = self.heard.checked_sub(self.took).map_or(began, |started| started.max(began));
        let ended = started.checked_add(self.took).unwrap_or(self.heard);
        RunTimes { began, started: Some(started), ended, pid: self.pid }
    }
}

#[derive(Debug)]
pub(super) struct CallState {
    pub(super) waker: Option<Waker>,
    /// Heads of informational responses that wait to be sent.
    pub(super) interim: Vec<u8>,
    pub(super) hijacked: Option<Hijacked>,
    pub(super) head: Option<Vec<u8>>,
    /// The response has begun: nothing comes before it any more.
    pub(super) has_begun: bool,
    pub(super) spool: Spool,
    /// The file that the body ends with.
    pub(super) file: Option<SentFile>,
    /// Nothing of the body comes any more.
    pub(super) has_file: bool,
    /// The response is complete.
    pub(super) ended: bool,
    /// The lines behind the body, as they are sent.
    pub(super) trailers: Vec<u8>,
    pub(super) failure: Option<AppFailure>,
    /// The end of the request in its worker, once that has come.
    pub(super) run: Option<EndedRun>,
    pub(super) body: RequestBody,
    /// Bytes of it that the worker has asked for and not got.
    pub(super) wanted: u32,
    /// The body waits for room, or for the next turn.
    pub(super) is_stuck: bool,
    /// Which worker answers; known from its first frame.
    pub(super) worker: Option<WorkerKey>,
    /// Response bytes that were stored and not yet acknowledged to the worker.
    pub(super) uncredited: u32,
    /// Response bytes that the worker may still send, or more.
    pub(super) allowed: u64,
    /// The worker was told that the client sends nothing more.
    pub(super) has_left: bool,
    /// The answer is not waited for any more: whatever comes is dropped.
    pub(super) abandoned: bool,
}

impl CallState {
    pub(super) fn new(body: RequestBody) -> Self {
        Self {
            waker: None,
            interim: Vec::new(),
            hijacked: None,
            head: None,
            has_begun: false,
            spool: Spool::default(),
            file: None,
            has_file: false,
            ended: false,
            trailers: Vec::new(),
            failure: None,
            run: None,
            body,
            wanted: 0,
            is_stuck: false,
            worker: None,
            uncredited: 0,
            allowed: u64::from(INITIAL_CREDIT),
            has_left: false,
            abandoned: false,
        }
    }

    /// Where the time has gone of a request that was handed over at `began`, if no pool need be asked: a worker has
    /// said that it is over, or it has failed before one had it.
    pub(super) fn times(
        &self,
        began: Instant,
        now: Instant,
        failure: Option<&AppFailure>,
    ) -> Option<RunTimes> {
        if let Some(run) = &self.run {
            return Some(run.times(began));
        }
        let was_refused = failure.is_some_and(|failure| !failure.is_of_run());
        was_refused.then_some(RunTimes { began, started: None, ended: now, pid: None })
    }

    pub(super) fn next_piece(&mut self) -> Result<Option<AnswerPiece>, AppFailure> {
        if !self.interim.is_empty() {
            return Ok(Some(AnswerPiece::Interim(std::mem::take(&mut self.interim))));
        }
        if let Some(hijacked) = self.hijacked.take() {
            return Ok(Some(AnswerPiece::Hijacked(hijacked)));
        }
        if let Some(head) = self.head.take() {
            return Ok(Some(AnswerPiece::Head(head)));
        }
        if let Some(data) = self.spool.pop().map_err(|error| AppFailure::Store(Arc::new(error)))? {
            return Ok(Some(AnswerPiece::Data(data)));
        }
        if let Some(file) = self.file.take() {
            return Ok(Some(AnswerPiece::File(file)));
        }
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(self.ended.then_some(AnswerPiece::End)),
        }
    }

    pub(super) fn has_piece(&self) -> bool {
        let has_content = self.head.is_some() || self.hijacked.is_some() || self.n_stored() > 0;
        has_content || !self.interim.is_empty() || self.failure.is_some() || self.ended
    }

    pub(super) fn n_stored(&self) -> u64 {
        self.spool.len() + self.file.as_ref().map_or(0, |file| file.range().len())
    }

    pub(super) fn store(&mut self, data: Vec<u8>) {
        self.uncredited = self.uncredited.saturating_add(data.len() as u32);
        if self.abandoned {
            return buffers::give(data);
        }
        self.spool.push(data);
    }

    /// More of the response has come. A worker that sends more than it may would fill memory and disks.
    pub(super) fn take(&mut self, len: usize) -> Result<(), String> {
        let left = self.allowed.checked_sub(len as u64);
        self.allowed = left.ok_or("the worker sends more of a response than it may")?;
        Ok(())
    }

    /// More of the body has come, and nothing of it may come behind a file.
    pub(super) fn require_no_file(&self) -> Result<(), String> {
        if self.has_file {
            return Err("the worker goes on behind the file that ends a response".into());
        }
        Ok(())
    }

    /// The body ends with this file.
    pub(super) fn take_file(&mut self, file: Result<SentFile, AppFailure>) {
        match file {
            _ if self.abandoned => {}
            Ok(file) => self.file = Some(file),
            Err(failure) => {
                // As long as the head was not taken, there can be another one.
                self.head = None;
                self.failure = Some(failure);
            }
        }
        self.has_file = true;
    }
}

#[cfg(test)]
mod tests {
    use corral_http::range::ByteRange;

    use super::*;

    #[test]
    fn a_file_comes_behind_what_was_written_and_counts() {
        let mut state = CallState::new(RequestBody::Complete);
        state.head = Some(b"head".to_vec());
        state.store(b"before".to_vec());
        state.take_file(SentFile::of(Some(10), 3, 5));
        state.ended = true;
        assert_eq!(state.n_stored(), 11);
        assert!(matches!(state.next_piece(), Ok(Some(AnswerPiece::Head(_)))));
        assert!(matches!(state.next_piece(), Ok(Some(AnswerPiece::Data(_)))));
        let Ok(Some(AnswerPiece::File(file))) = state.next_piece() else { panic!("{state:?}") };
        assert_eq!(file.range(), ByteRange { first: 3, last: 7 });
        assert!(matches!(state.next_piece(), Ok(Some(AnswerPiece::End))));
        assert_eq!(state.n_stored(), 0);
    }

    #[test]
    fn a_file_that_cannot_be_taken_is_an_error_in_the_place_of_the_head() {
        let mut state = CallState::new(RequestBody::Complete);
        state.head = Some(b"head".to_vec());
        state.take_file(SentFile::of(None, 0, 1));
        state.ended = true;
        assert!(matches!(state.next_piece(), Err(AppFailure::NoDescriptor)));
    }

    #[test]
    fn nothing_of_a_body_comes_behind_a_file_also_when_that_is_on_its_way() {
        let mut state = CallState::new(RequestBody::Complete);
        state.require_no_file().unwrap();
        state.take_file(SentFile::of(Some(10), 0, 5));
        state.require_no_file().unwrap_err();
        assert!(matches!(state.next_piece(), Ok(Some(AnswerPiece::File(_)))));
        state.require_no_file().unwrap_err();
    }

    #[test]
    fn a_run_begins_when_its_worker_says() {
        let (began, second) = (Instant::now(), Duration::from_secs(1));
        let times = |heard: Instant, took| EndedRun { heard, took, pid: Some(7) }.times(began);
        let waited = times(began + 3 * second, second);
        assert_eq!((waited.started, waited.ended), (Some(began + 2 * second), began + 3 * second));
        // The event loop has not slept since it handed the request over, or the worker says more than is true.
        let quick = times(began, second);
        assert_eq!((quick.started, quick.ended), (Some(began), began + second));
    }

    /// An application that is overloaded is not asked about each request that it has no time for.
    #[test]
    fn a_request_that_was_refused_has_waited() {
        let state = CallState::new(RequestBody::Complete);
        let (began, second) = (Instant::now(), Duration::from_secs(1));
        let times = |failure: AppFailure| state.times(began, began + second, Some(&failure));
        for failure in
            [AppFailure::QueueFull, AppFailure::QueueTimedOut(second), AppFailure::NoWorker(String::new())]
        {
            let times = times(failure).expect("it is known");
            assert_eq!((times.started, times.ended, times.pid), (None, began + second, None));
        }
        assert!(times(AppFailure::TimedOut(second)).is_none());
        assert!(state.times(began, began, None).is_none());
    }

    #[test]
    fn nothing_is_kept_for_nobody() {
        let mut state = CallState::new(RequestBody::Complete);
        state.abandoned = true;
        state.take_file(SentFile::of(Some(10), 0, 5));
        assert!(state.file.is_none());
    }
}
