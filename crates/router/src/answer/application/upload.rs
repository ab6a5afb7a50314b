//! The body of a request on its way to a worker that takes it as it comes.

use std::pin::pin;

use super::{left, patiently};
use crate::client::connection::Connection;
use crate::event_loop::deadline::Elapsed;
use crate::instance::{Exchange, Failure};
use crate::io::Wanted;
use crate::request::body::BodyError;
use crate::request::client::Gone;
use crate::transaction::Transaction;

/// What was received of a body and has not gone on.
pub(super) struct Upload {
    pending: Vec<u8>,
    is_sent: bool,
    /// The worker had no room for the last piece.
    is_stuck: bool,
}

/// Why a body does not go on for now, or not at all.
pub(super) enum Stop {
    /// The application has said something.
    Answered,
    /// Nobody waits for an answer.
    Gone,
    /// There will be none.
    Failed(Failure),
    /// The client sends what must not be taken, or nothing.
    Refused(BodyError),
}

impl Upload {
    /// Of a body of which some has come.
    pub(super) fn new(pending: Vec<u8>) -> Self {
        Self { pending, is_sent: false, is_stuck: false }
    }

    /// Sends the body on until it ends or the application says something. Can be called again after the latter.
    pub(super) async fn run(&mut self, tx: &mut Transaction<'_>, exchange: &Exchange) -> Result<(), Stop> {
        loop {
            if exchange.has_piece() {
                return Err(Stop::Answered);
            }
            self.feed(tx, exchange).map_err(Stop::Refused)?;
            if self.is_sent {
                return Ok(());
            }
            self.wait(tx, exchange).await?;
        }
    }

    /// Sends as much as the worker takes of what is there.
    fn feed(&mut self, tx: &mut Transaction<'_>, exchange: &Exchange) -> Result<(), BodyError> {
        let Transaction { incoming, rest, .. } = tx;
        incoming.decode(rest, &mut self.pending)?;
        self.is_stuck = false;
        while !self.is_sent && (incoming.is_done() || !self.pending.is_empty()) {
            let n = self.pending.len().min(exchange.window() as usize);
            let ends = incoming.is_done() && n == self.pending.len();
            // The end of a body needs no window, but a worker that is known.
            if n == 0 && !(ends && exchange.has_worker()) {
                break;
            }
            if !exchange.send_body(&self.pending[..n], ends) {
                self.is_stuck = true;
                break;
            }
            self.pending.drain(..n);
            self.is_sent = ends;
        }
        Ok(())
    }

    async fn wait(&self, tx: &mut Transaction<'_>, exchange: &Exchange) -> Result<(), Stop> {
        let window = exchange.window();
        let wants_bytes = self.pending.is_empty() && !tx.incoming.is_done() && window > 0;
        let rules = tx.rules();
        let closes = tx.reply.close;
        let Transaction { incoming, connection, rest, .. } = tx;
        if wants_bytes {
            incoming.invite(connection, rest).map_err(Stop::Refused)?;
        }
        let Connection { stream, deadline, .. } = &**connection;
        let changed = async {
            tokio::select! {
                biased;
                () = exchange.changed(true, window) => {}
                () = Exchange::a_moment(self.is_stuck) => {}
            }
        };
        if !wants_bytes {
            let waiting = async {
                tokio::select! {
                    biased;
                    () = changed => Ok(Ok(())),
                    () = left(stream, exchange, closes) => Err(Gone),
                }
            };
            let waited = patiently(deadline, exchange.patience(), || exchange.is_queued(), waiting).await;
            return waited.map_err(|Gone| Stop::Gone)?.map_err(Stop::Failed);
        }
        let readable = async {
            tokio::select! {
                biased;
                () = changed => false,
                ready = stream.wait(Wanted { bytes: true, room: false }) => ready.is_ok_and(|ready| ready.bytes),
            }
        };
        let ready = deadline.limit(rules.body_read_timeout, pin!(readable)).await;
        match ready {
            Ok(false) => Ok(()),
            Ok(true) => incoming.read_more(connection, rest, rules).await.map_err(|error| match error {
                BodyError::Gone => Stop::Gone,
                error => Stop::Refused(error),
            }),
            Err(Elapsed) => Err(Stop::Refused(BodyError::TimedOut)),
        }
    }
}
