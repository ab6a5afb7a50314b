//! The way to the client of an exchange: sending and reading, and for how long each is waited for.

use std::borrow::Cow;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;

use corral_channel::MAX_INLINE_BODY;
use corral_config::bounds::RequestBounds;

use super::carrier::Carrier;
use crate::clock::deadline::Deadline;
use crate::generation::request_settings::RequestSettings;
use crate::io::now;
use crate::request::body::{BodyError, BodyStore, StoredBody};
use crate::request::client::Gone;
use crate::storage::buffered::HeldMemory;
use crate::storage::buffers::Rest;
use crate::tls::TlsPeer;
use crate::variables::ConnectionEnds;

/// The connection, or the stream, to a client, with its time limits.
pub(crate) struct Downstream<'c> {
    pub(crate) carrier: &'c mut (dyn Carrier + 'c),
    /// Limits what is waited for.
    pub(crate) deadline: &'c Deadline,
    settings: &'c RequestSettings,
    /// The bounds of the actions on the request's way, if they have any.
    own_bounds: Option<Box<RequestBounds>>,
    /// The beginning of the body that was read by others than the answer.
    peeked: Option<Box<(Rest, HeldMemory)>>,
    /// A send had to wait for room.
    pub(crate) has_waited: bool,
}

impl<'c> Downstream<'c> {
    pub(super) fn new(
        carrier: &'c mut (dyn Carrier + 'c),
        deadline: &'c Deadline,
        settings: &'c RequestSettings,
    ) -> Self {
        Self { carrier, deadline, settings, own_bounds: None, peeked: None, has_waited: false }
    }

    /// The bounds of the request.
    pub(crate) fn bounds(&self) -> &RequestBounds {
        self.own_bounds.as_deref().unwrap_or(&self.settings.bounds)
    }

    /// Has it take what these bounds permit, or those of the server.
    pub(super) fn set_bounds(&mut self, own: Option<RequestBounds>) {
        if own.is_none() && self.own_bounds.is_none() {
            return;
        }
        self.own_bounds = own.map(Box::new);
        let most = self.bounds().max_body_size;
        self.carrier.limit_body(most);
    }

    /// Sends what the carrier holds, and a piece of the body.
    pub(crate) async fn send(&mut self, piece: &[u8]) -> Result<(), Gone> {
        let mut n_sent = 0;
        while let Err(error) = self.carrier.try_send(piece, &mut n_sent) {
            self.wait_if_full(&error).await?;
        }
        Ok(())
    }

    /// Waits for room to send if that is what was missing, for as long as a client may take to make some.
    pub(crate) async fn wait_if_full(&mut self, error: &io::Error) -> Result<(), Gone> {
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(Gone);
        }
        self.has_waited = true;
        let limit = self.bounds().send_timeout;
        let Self { carrier, deadline, .. } = self;
        let writable = poll_fn(|context| carrier.poll_writable(context));
        match deadline.limit(limit, pin!(writable)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }

    /// Reads all of the request's body.
    pub(crate) async fn store_body(&mut self) -> Result<StoredBody, BodyError> {
        let (most, folder) = (self.bounds().body_buffer_size, self.settings.body_temp_path.as_deref());
        let mut store = BodyStore::new(self.begin_body()?);
        loop {
            store.spill(most, folder)?;
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

    /// Reads all of a body that is not longer than `most`, and leaves it for the answer. False if it is longer, as its
    /// `Content-Length` may say, or if there is no memory left for bodies; what was read stays, too.
    pub(crate) async fn peek_body(&mut self, announced: Option<u64>, most: usize) -> Result<bool, BodyError> {
        if announced.is_some_and(|length| length > most as u64) {
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
        let limit = self.bounds().body_read_timeout;
        let Self { carrier, deadline, .. } = self;
        let reading = poll_fn(|context| carrier.poll_body(context, out));
        deadline.limit(limit, pin!(reading)).await.unwrap_or(Err(BodyError::TimedOut))
    }
}

impl ConnectionEnds for Downstream<'_> {
    fn tls_peer(&self) -> Option<Cow<'_, TlsPeer<'_>>> {
        self.carrier.tls_peer()
    }

    fn destination(&self) -> Option<SocketAddr> {
        self.carrier.local_address()
    }

    fn n_requests(&self) -> u32 {
        self.carrier.n_requests()
    }
}
