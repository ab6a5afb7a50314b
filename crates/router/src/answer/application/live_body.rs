//! The body of a request on its way to a worker that takes it as it comes.

use std::future::poll_fn;
use std::pin::pin;

use super::{left, with_timeouts};
use crate::clock::deadline::Elapsed;
use crate::exchange::response::ResponseWriter;
use crate::instance::{AppCall, AppFailure};
use crate::request::body::BodyError;
use crate::request::client::Gone;

/// Bytes of a body that have arrived and not gone on.
pub(super) struct LiveBody {
    pending: Vec<u8>,
    is_sent: bool,
    /// The worker had no room for the last piece.
    is_stuck: bool,
}

/// Why a body does not go on for now, or not at all.
pub(super) enum BodyStop {
    /// The application has said something.
    Answered,
    /// The answer is not waited for any more.
    Gone,
    /// The application will not answer.
    Failed(AppFailure),
    /// The client sends what must not be taken, or nothing.
    Refused(BodyError),
}

impl LiveBody {
    /// A body of which some has come.
    pub(super) fn new(pending: Vec<u8>) -> Self {
        Self { pending, is_sent: false, is_stuck: false }
    }

    /// Sends the body on until it ends or the application says something. Can be called again after the latter.
    pub(super) async fn run(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        call: &AppCall,
    ) -> Result<(), BodyStop> {
        loop {
            if call.has_piece() {
                return Err(BodyStop::Answered);
            }
            self.feed(response, call).map_err(BodyStop::Refused)?;
            if self.is_sent {
                return Ok(());
            }
            self.wait(response, call).await?;
        }
    }

    /// Sends as much as the worker takes of what is there.
    fn feed(&mut self, response: &mut ResponseWriter<'_, '_>, call: &AppCall) -> Result<(), BodyError> {
        response.client.carrier.take_body(&mut self.pending)?;
        let is_done = response.client.carrier.body_is_done();
        self.is_stuck = false;
        while !self.is_sent && (is_done || !self.pending.is_empty()) {
            let n = self.pending.len().min(call.window() as usize);
            let ends = is_done && n == self.pending.len();
            // The end of a body needs no window, but a worker that is known.
            if n == 0 && !(ends && call.has_worker()) {
                break;
            }
            if !call.send_body(&self.pending[..n], ends) {
                self.is_stuck = true;
                break;
            }
            self.pending.drain(..n);
            self.is_sent = ends;
        }
        Ok(())
    }

    async fn wait(&mut self, response: &mut ResponseWriter<'_, '_>, call: &AppCall) -> Result<(), BodyStop> {
        let window = call.window();
        let wants_bytes = self.pending.is_empty() && !response.client.carrier.body_is_done() && window > 0;
        let limit = response.client.bounds().body_read_timeout;
        let deadline = response.client.deadline;
        if wants_bytes {
            response.client.carrier.invite_body().map_err(BodyStop::Refused)?;
        }
        let changed = async {
            tokio::select! {
                biased;
                () = call.changed(true, window) => {}
                () = AppCall::a_moment(self.is_stuck) => {}
            }
        };
        if !wants_bytes {
            let waiting = async {
                tokio::select! {
                    biased;
                    () = changed => Ok(Ok(())),
                    () = left(response.presence(), call) => Err(Gone),
                }
            };
            let waited = with_timeouts(deadline, call.timeouts(), || call.is_queued(), pin!(waiting)).await;
            return waited.map_err(|Gone| BodyStop::Gone)?.map_err(BodyStop::Failed);
        }
        let carrier = &mut *response.client.carrier;
        let read = poll_fn(|context| carrier.poll_body(context, &mut self.pending));
        let read = async {
            tokio::select! {
                biased;
                () = changed => Ok(()),
                read = read => read,
            }
        };
        match deadline.limit(limit, pin!(read)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(BodyError::Gone)) => Err(BodyStop::Gone),
            Ok(Err(error)) => Err(BodyStop::Refused(error)),
            Err(Elapsed) => Err(BodyStop::Refused(BodyError::TimedOut)),
        }
    }
}
