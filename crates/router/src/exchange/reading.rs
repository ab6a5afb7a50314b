//! Reading the body of a request.

use std::future::poll_fn;
use std::pin::pin;

use corral_channel::MAX_INLINE_BODY;

use super::Exchange;
use crate::io::now;
use crate::request::body::{BodyError, BodyStore, StoredBody};
use crate::storage::buffered::HeldMemory;
use crate::storage::buffers::Rest;

impl Exchange<'_> {
    /// Reads all of it.
    pub(crate) async fn store_body(&mut self) -> Result<StoredBody, BodyError> {
        let rules = self.request_settings();
        let mut store = BodyStore::new(self.begin_body()?);
        loop {
            store.spill(rules.body_buffer_size, rules.body_temp_path.as_deref())?;
            if self.carrier.body_is_done() {
                return store.finish().map_err(BodyError::Store);
            }
            self.read_body(store.memory()).await?;
        }
    }

    /// Takes what is there without waiting, or to be waited for: no more than travels with the head.
    pub(crate) async fn take_body_at_hand(&mut self) -> Result<Rest, BodyError> {
        let mut out = self.begin_body()?;
        while !self.carrier.body_is_done()
            && out.len() < MAX_INLINE_BODY
            && self.carrier.body_comes_uninvited(&out)
        {
            match now(self.read_body(out.to_mut())).await {
                Some(read) => read?,
                None => break,
            }
        }
        Ok(out)
    }

    /// Reads all of it that is not longer than `most`, and leaves it for the answer. False if it is longer, or there is
    /// no memory left for bodies; what was read stays, too.
    pub(crate) async fn peek_body(&mut self, most: usize) -> Result<bool, BodyError> {
        if self.request.head.content_length().is_some_and(|length| length > most as u64) {
            return Ok(false);
        }
        let mut held = HeldMemory::default();
        let mut out = self.begin_body()?;
        while !self.carrier.body_is_done() && out.len() <= most {
            let more = (out.capacity() as u64).saturating_sub(held.bytes());
            if !held.grow(more) {
                break;
            }
            self.read_body(out.to_mut()).await?;
        }
        let is_all = self.carrier.body_is_done() && out.len() <= most;
        self.peeked = Some(Box::new((out, held)));
        Ok(is_all)
    }

    /// The part of the body that was read and has not been taken.
    pub(crate) fn peeked_body(&self) -> Option<&[u8]> {
        self.peeked.as_ref().map(|peeked| &*peeked.0)
    }

    /// The part of it that is there before anything is waited for.
    fn begin_body(&mut self) -> Result<Rest, BodyError> {
        match self.peeked.take() {
            Some(peeked) => Ok(peeked.0),
            None => self.carrier.begin_body(),
        }
    }

    /// Waits for some of it, as long as a client may take.
    async fn read_body(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError> {
        let limit = self.request_settings().body_read_timeout;
        let Self { carrier, deadline, .. } = self;
        let reading = poll_fn(|context| carrier.poll_body(context, out));
        deadline.limit(limit, pin!(reading)).await.unwrap_or(Err(BodyError::TimedOut))
    }
}
