//! A request's body on its way to a server: streamed as it comes, and kept as long as it is short, so that
//! another server can get it too.

use std::io;
use std::task::{Context, Poll, ready};

use corral_http::request::RequestFraming;

use crate::exchange::carrier::Carrier;
use crate::exchange::response::ResponseWriter;
use crate::request::body::BodyError;
use crate::request::body::rest::RequestBody;
use crate::storage::buffered::HeldMemory;
use crate::storage::buffers::Rest;

/// A body up to this size can be sent again.
const MAX_KEPT: usize = 64 * 1024;

/// A body and how far it was sent.
pub(crate) struct Upload {
    /// The body's length; none without a body, or as long as it is unknown.
    length: Option<u64>,
    /// Received bytes: from the start of the body while that is short, else those that were not sent yet.
    kept: Rest,
    n_sent: usize,
    /// The part that was stored before; nothing more comes from the client then.
    stored: RequestBody,
    /// The memory that this part takes.
    held: HeldMemory,
    /// Another server may get it when one had it.
    is_repeatable: bool,
    /// Some of it was sent and is forgotten.
    is_cut: bool,
    /// Everything is in `kept`, or was.
    is_complete: bool,
}

/// The servers that a body is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UploadDestination {
    /// Some speak HTTP/1, and get it with its length (contract 23.3): if the client has not said that, the body goes
    /// into memory or a file first.
    Http1,
    /// Each request has a process of theirs for itself. They get it when all of it is there, with its length, so that
    /// none waits for a client.
    Process,
    /// All of them speak HTTP/2. They get it as it comes; and may say that they have not begun with a request, whatever
    /// it is.
    Http2,
}

impl Upload {
    /// No body at all.
    pub(crate) fn none() -> Self {
        Self {
            length: None,
            kept: Rest::default(),
            n_sent: 0,
            stored: RequestBody::Complete,
            held: HeldMemory::default(),
            is_repeatable: true,
            is_cut: false,
            is_complete: true,
        }
    }

    /// The body of a request.
    pub(crate) async fn begin(
        response: &mut ResponseWriter<'_, '_>,
        destination: UploadDestination,
    ) -> Result<Self, BodyError> {
        let head = response.request.received.head;
        let is_chunked = head.framing() == RequestFraming::Chunked;
        let mut upload = Self {
            length: head.content_length(),
            kept: Rest::default(),
            n_sent: 0,
            stored: RequestBody::Complete,
            held: HeldMemory::default(),
            is_repeatable: response.request.received.is_idempotent()
                || destination == UploadDestination::Http2,
            is_cut: false,
            is_complete: response.client.carrier.body_is_done(),
        };
        // An action in the place of another gets none, because the first one may have had it already.
        if response.answers_in_place() {
            upload.length = upload.length.map(|_| 0);
            upload.is_complete = true;
        } else if destination == UploadDestination::Process
            || response.client.bounds().request_buffering
            || is_chunked && destination == UploadDestination::Http1
        {
            let stored = response.client.store_body().await?;
            upload.length = upload.length.map_or(is_chunked.then_some(stored.len), |_| Some(stored.len));
            upload.is_complete = matches!(stored.rest, RequestBody::Complete);
            (upload.kept, upload.stored, upload.held) = (stored.inline, stored.rest, stored.held);
        } else {
            // In one piece with the head, so that the server is woken once.
            upload.kept = response.client.take_body_at_hand().await?;
            upload.is_complete = response.client.carrier.body_is_done();
        }
        Ok(upload)
    }

    /// Keeps what is sent as long as it is short, whatever the method: another server may get it.
    pub(crate) fn keep_for_others(&mut self) {
        self.is_repeatable = true;
    }

    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// The bytes that can be sent now.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.kept[self.n_sent..]
    }

    /// Nothing comes behind what is pending.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Everything was sent.
    pub(crate) fn is_sent(&self) -> bool {
        self.is_complete && self.pending().is_empty()
    }

    /// Nothing more is sent on this connection.
    pub(crate) fn abandon(&mut self) {
        self.is_cut = true;
        self.is_complete = true;
        self.n_sent = self.kept.len();
    }

    /// Whether more has to come from the client before anything can be sent.
    pub(crate) fn is_starving(&self) -> bool {
        !self.is_complete && self.pending().is_empty()
    }

    /// No other server gets it: what was sent is forgotten.
    pub(crate) fn commit(&mut self) {
        self.is_repeatable = false;
        let n_sent = self.n_sent;
        self.kept.to_mut().drain(..n_sent);
        self.forget();
    }

    /// Whether all of it that came is still there.
    pub(crate) fn can_rewind(&self) -> bool {
        !self.is_cut
    }

    /// Starts again for another connection.
    pub(crate) fn rewind(&mut self) {
        self.n_sent = 0;
    }

    /// So many of the pending bytes were sent.
    pub(crate) fn advance(&mut self, n: usize) -> io::Result<()> {
        self.n_sent += n;
        if !self.pending().is_empty() {
            return Ok(());
        }
        if self.is_complete {
            if !self.is_repeatable {
                std::mem::take(&mut self.kept).give();
                self.forget();
            }
            return Ok(());
        }
        if !matches!(self.stored, RequestBody::Complete) {
            self.is_complete = self.stored.read(self.kept.to_mut(), MAX_KEPT)?;
            self.forget();
        } else if self.is_cut || self.kept.len() > MAX_KEPT {
            self.kept.to_mut().clear();
            self.forget();
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.n_sent = 0;
        self.is_cut = true;
    }

    /// Takes what has arrived of the client's.
    pub(crate) fn take(&mut self, carrier: &mut dyn Carrier) -> Result<(), BodyError> {
        carrier.take_body(self.kept.to_mut())?;
        self.is_complete = carrier.body_is_done();
        Ok(())
    }

    /// Takes what arrives of the client's.
    pub(crate) fn poll_take(
        &mut self,
        carrier: &mut dyn Carrier,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), BodyError>> {
        let read = ready!(carrier.poll_body(context, self.kept.to_mut()));
        self.is_complete = carrier.body_is_done();
        Poll::Ready(read)
    }
}
