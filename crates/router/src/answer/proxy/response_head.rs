//! Heads of responses as they come from a server: those of interim responses, then that of the response.

use corral_http::upstream::{ResponseHead, parse_response};

use crate::exchange::response::ResponseWriter;
use crate::reply::interim;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::ServerFailure;

/// Longest head of a response, as in Unit.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// Heads before that of the response: a server that has something to say now and then says less.
const MOST_INTERIM: u32 = 1000;

/// A response whose head has arrived.
pub(crate) struct ResponseStart {
    pub(crate) head: ResponseHead,
    /// The head and what came with it.
    pub(crate) input: Vec<u8>,
}

impl ResponseStart {
    /// Copies the fields to the reply that switches the client's connection, too.
    pub(super) fn copy_fields(&self, response: &mut ResponseWriter<'_, '_>) {
        for (name, value) in self.head.fields(&self.input) {
            response.reply.fields.push_checked(name, value);
        }
    }
}

/// Reads heads up to that of the response.
#[derive(Default)]
pub(super) struct HeadReader {
    n_interim: u32,
}

/// The beginning of what a server has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadStatus {
    /// A part of a head.
    Partial,
    /// The head of an interim response; another one follows.
    Interim,
    /// The head of the response.
    Final,
}

impl HeadReader {
    /// Looks for a head at the start of the input.
    pub(super) fn read(
        &mut self,
        head: &mut ResponseHead,
        input: &[u8],
    ) -> Result<HeadStatus, ServerFailure> {
        let is_complete = parse_response(head, input)?;
        if if is_complete { head.len() } else { input.len() } > MAX_HEAD {
            return Err(ServerFailure::TooLarge(MAX_HEAD));
        }
        if !is_complete {
            return Ok(HeadStatus::Partial);
        }
        if !head.is_interim() {
            return Ok(HeadStatus::Final);
        }
        self.count_interim()?;
        Ok(HeadStatus::Interim)
    }

    pub(super) fn count_interim(&mut self) -> Result<(), ServerFailure> {
        self.n_interim += 1;
        if self.n_interim > MOST_INTERIM { Err(ServerFailure::TooManyInterim(MOST_INTERIM)) } else { Ok(()) }
    }
}

const EARLY_HINTS: u16 = 103;

/// Passes on what the client may load already, and nothing else that comes before the response.
pub(super) async fn pass_on_interim(
    response: &mut ResponseWriter<'_, '_>,
    head: &ResponseHead,
    input: &[u8],
) -> Result<(), Gone> {
    if head.status() != EARLY_HINTS {
        return Ok(());
    }
    let mut hints = buffers::take();
    interim::append(&mut hints, EARLY_HINTS, head.fields(input));
    let sent = response.send_interim(&hints).await;
    buffers::give(hints);
    sent
}
