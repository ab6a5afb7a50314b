//! Request bodies: read completely before a blocking worker sees the request, or discarded.

pub(crate) mod rest;

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::pin::pin;

use corral_channel::MAX_INLINE_BODY;
use corral_http::chunked::{ChunkError, Decoder};
use corral_http::request::Framing;
use corral_http::response::CONTINUE;
use corral_sys::process::is_descriptor_shortage;

use self::rest::RequestBody;
use crate::client::connection::Connection;
use crate::event_loop::deadline::Elapsed;
use crate::generation::rules::Rules;
use crate::io::now;
use crate::storage::buffered::Held;
use crate::storage::buffers::{self, Rest};
use crate::storage::temp;

/// Bytes of an unwanted body that are read so that the connection can be kept.
const MAX_DISCARDED: u64 = 256 * 1024;

/// Room for one read of a body.
pub(crate) const READ_STEP: usize = 32 * 1024;

/// The same for a client that has not sent as much at a time yet: many slow ones must not hold large buffers.
const SMALL_STEP: usize = 2 * 1024;

/// A request's body on its way in. The bytes that came along with the head are at the start of the input.
pub(crate) struct Incoming {
    framing: Decoding,
    /// The client waits for `100 Continue`.
    expects_continue: bool,
    /// The last read has filled its room, or much came with the head.
    is_fast: bool,
    /// The whole body, if it was read along with the head and nobody has taken it.
    whole: Option<Rest>,
}

enum Decoding {
    /// Bytes that are still to come.
    Length(u64),
    Chunked(Decoder),
    Done,
}

/// Why a body did not arrive.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the body is larger than max_body_size")]
    TooLarge,
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    #[error("the body did not arrive in time")]
    TimedOut,
    #[error("the client went away within the body")]
    Gone,
    #[error("store the body: {0}")]
    Store(io::Error),
    #[error("there is no memory left for bodies (settings.limits.buffered_bytes), and no file: {0}")]
    Crowded(io::Error),
}

impl BodyError {
    /// The status of the reply.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::TooLarge => 413,
            Self::Chunk(error) => error.status(),
            Self::TimedOut => 408,
            Self::Gone => 400,
            Self::Store(error) if is_passing(error) => 503,
            Self::Store(error) if is_descriptor_shortage(error) => 503,
            Self::Store(_) => 500,
            Self::Crowded(_) => 503,
        }
    }
}

/// Whether the same may work when something has been freed, on the disk or elsewhere.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let kinds = [OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StorageFull];
    kinds.contains(&error.kind()) || corral_sys::file::are_descriptors_lacking(error)
}

/// A body that was read: its length, its first piece, and the rest.
pub(crate) struct Stored {
    pub(crate) len: u64,
    /// The piece that travels with the head.
    pub(crate) inline: Rest,
    pub(crate) rest: RequestBody,
    /// What of it is in memory.
    pub(crate) held: Held,
}

impl Stored {
    /// No body.
    pub(crate) fn none() -> Self {
        Self::inline(Rest::default())
    }

    /// A body that travels with the head.
    pub(crate) fn inline(inline: Rest) -> Self {
        let len = inline.len() as u64;
        Self { len, inline, rest: RequestBody::Complete, held: Held::default() }
    }
}

impl Incoming {
    pub(crate) fn new(framing: Framing, expects_continue: bool, rules: &Rules) -> Result<Self, BodyError> {
        let framing = match framing {
            Framing::Length(0) => Decoding::Done,
            Framing::Length(len) if len > rules.max_body_size => return Err(BodyError::TooLarge),
            Framing::Length(len) => Decoding::Length(len),
            Framing::Chunked => Decoding::Chunked(Decoder::new(rules.max_body_size)),
        };
        Ok(Self { framing, expects_continue, is_fast: false, whole: None })
    }

    /// No body, or none that will be read.
    pub(crate) fn none() -> Self {
        Self { framing: Decoding::Done, expects_continue: false, is_fast: false, whole: None }
    }

    /// Takes over what was read along with the head, if that is all of the body and nothing else.
    pub(crate) fn adopt(&mut self, read: Rest) -> Result<(), Rest> {
        match self.framing {
            Decoding::Length(left) if left == read.len() as u64 => {
                self.framing = Decoding::Done;
                self.whole = Some(read);
                Ok(())
            }
            _ => Err(read),
        }
    }

    /// Whether what is left comes without a word from here, so that it can be read and forgotten. A client that waits for
    /// `100 Continue` has sent nothing, and nobody knows whether it will.
    pub(crate) fn comes_uninvited(&self, input: &[u8]) -> bool {
        self.is_done() || !self.expects_continue || !input.is_empty()
    }

    /// Whether nothing more of it is to come.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.framing, Decoding::Done)
    }

    /// Reads all of it. `input` holds what follows the head, and afterwards what follows the body.
    pub(crate) async fn store(
        &mut self,
        connection: &mut Connection,
        input: &mut Vec<u8>,
        rules: &Rules,
    ) -> Result<Stored, BodyError> {
        let mut store = Store { memory: self.begin(input)?, ..Store::default() };
        loop {
            store.spill(rules)?;
            if self.is_done() {
                return store.finish().map_err(BodyError::Store);
            }
            self.read_into(store.memory.to_mut(), connection, input, rules).await?;
            self.decode(input, store.memory.to_mut())?;
        }
    }

    /// Takes what is there without waiting, or to be waited for: no more than travels with the head.
    pub(crate) async fn take_at_hand(
        &mut self,
        connection: &mut Connection,
        input: &mut Vec<u8>,
        rules: &Rules,
    ) -> Result<Rest, BodyError> {
        let mut out = self.begin(input)?;
        loop {
            if self.is_done() || out.len() >= MAX_INLINE_BODY || !self.comes_uninvited(&out) {
                return Ok(out);
            }
            match now(self.read_into(out.to_mut(), connection, input, rules)).await {
                Some(read) => read?,
                None => return Ok(out),
            }
            self.decode(input, out.to_mut())?;
        }
    }

    /// What came along with the head.
    fn begin(&mut self, input: &mut Vec<u8>) -> Result<Rest, BodyError> {
        if let Some(whole) = self.whole.take() {
            return Ok(whole);
        }
        let mut out = self.buffer(input);
        self.decode(input, &mut out)?;
        Ok(out.into())
    }

    /// Where it goes that is read: a large buffer if much is likely to come at once, and fits.
    fn buffer(&self, input: &[u8]) -> Vec<u8> {
        let is_large = |left| (READ_STEP as u64..=buffers::LARGE_CAPACITY as u64).contains(&left);
        match self.framing {
            Decoding::Length(left) if input.len() >= SMALL_STEP && is_large(left) => buffers::take_large(),
            _ => Vec::new(),
        }
    }

    /// Reads some of it: to `out` what needs no decoding, else into the input.
    async fn read_into(
        &mut self,
        out: &mut Vec<u8>,
        connection: &mut Connection,
        input: &mut Vec<u8>,
        rules: &Rules,
    ) -> Result<(), BodyError> {
        let Decoding::Length(left) = self.framing else {
            return self.read_more(connection, input, rules).await;
        };
        let n_before = out.len();
        self.read_more(connection, out, rules).await?;
        let n_own = at_most(left, out.len() - n_before);
        input.extend(out.drain(n_before + n_own..));
        self.count(n_own);
        Ok(())
    }

    /// So many bytes have come of a body whose length is known.
    fn count(&mut self, n: usize) {
        if let Decoding::Length(left) = &mut self.framing {
            *left -= n as u64;
            if *left == 0 {
                self.framing = Decoding::Done;
            }
        }
    }

    /// Reads and forgets what is left, as far as that is worth it. True when the connection can be kept.
    pub(crate) async fn discard(
        &mut self,
        connection: &mut Connection,
        input: &mut Vec<u8>,
        rules: &Rules,
    ) -> bool {
        let mut n_discarded = 0;
        let mut nowhere = Vec::new();
        loop {
            if self.decode(input, &mut nowhere).is_err() {
                return false;
            }
            n_discarded += nowhere.len() as u64;
            nowhere.clear();
            if self.is_done() {
                return true;
            }
            if n_discarded > MAX_DISCARDED || self.read_more(connection, input, rules).await.is_err() {
                return false;
            }
        }
    }

    /// Moves as much as it can from the input to `out`.
    pub(crate) fn decode(&mut self, input: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), BodyError> {
        self.is_fast |= input.len() >= SMALL_STEP;
        if let Some(whole) = self.whole.take() {
            out.extend_from_slice(&whole);
            whole.give();
        }
        match &mut self.framing {
            Decoding::Done => {}
            Decoding::Length(left) => {
                let len = at_most(*left, input.len());
                out.extend(input.drain(..len));
                self.count(len);
            }
            Decoding::Chunked(decoder) => {
                let decoded = decoder.decode(input, out, usize::MAX)?;
                input.drain(..decoded.consumed);
                if decoded.done {
                    self.framing = Decoding::Done;
                }
            }
        }
        Ok(())
    }

    /// Tells a client that waits for it to send the body.
    pub(crate) fn invite(&mut self, connection: &mut Connection, input: &[u8]) -> Result<(), BodyError> {
        if std::mem::take(&mut self.expects_continue) && input.is_empty() {
            // Too small to find no room, unless the client reads nothing at all: then it gets no body through.
            connection.stream.try_write(&[IoSlice::new(CONTINUE)]).map_err(|_| BodyError::Gone)?;
        }
        Ok(())
    }

    /// Reads some of it into the input, behind what is there.
    pub(crate) async fn read_more(
        &mut self,
        connection: &mut Connection,
        input: &mut Vec<u8>,
        rules: &Rules,
    ) -> Result<(), BodyError> {
        self.invite(connection, input)?;
        let Connection { stream, deadline, .. } = connection;
        if !self.is_fast && input.is_empty() && input.capacity() >= READ_STEP {
            buffers::give(std::mem::replace(input, buffers::take()));
        }
        input.reserve(match self.framing {
            _ if !self.is_fast => SMALL_STEP,
            Decoding::Length(left) => at_most(left, buffers::LARGE_CAPACITY),
            _ => READ_STEP,
        });
        let room = input.capacity() - input.len();
        match deadline.limit(rules.body_read_timeout, pin!(stream.read(input))).await {
            Ok(Ok(n)) if n > 0 => {
                self.is_fast = n >= room;
                Ok(())
            }
            Ok(_) => Err(BodyError::Gone),
            Err(Elapsed) => Err(BodyError::TimedOut),
        }
    }
}

/// So many bytes of those that are left.
fn at_most(left: u64, n: usize) -> usize {
    usize::try_from(left).map_or(n, |left| left.min(n))
}

/// Where a body goes: memory first, a file when it grows.
#[derive(Default)]
struct Store {
    memory: Rest,
    file: Option<(File, u64)>,
    held: Held,
}

impl Store {
    /// Moves what is in memory to the file when it has become too much for memory.
    fn spill(&mut self, rules: &Rules) -> Result<(), BodyError> {
        if self.file.is_none() {
            let is_small = self.memory.len() <= rules.body_buffer_size;
            let more = self.memory.capacity() as u64 - self.held.bytes();
            if is_small && self.held.grow(more) {
                return Ok(());
            }
            let file = rules.body_temp_path.as_ref().map_or_else(temp::file, |folder| temp::file_in(folder));
            let failed = if is_small { BodyError::Crowded } else { BodyError::Store };
            self.file = Some((file.map_err(failed)?, 0));
        }
        self.append().map_err(BodyError::Store)
    }

    fn append(&mut self) -> io::Result<()> {
        if let Some((file, len)) = &mut self.file {
            file.write_all_at(&self.memory, *len)?;
            *len += self.memory.len() as u64;
            self.memory.to_mut().clear();
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<Stored> {
        let held = self.held;
        let Some((file, len)) = self.file else {
            let len = self.memory.len() as u64;
            if self.memory.len() <= MAX_INLINE_BODY {
                return Ok(Stored { len, inline: self.memory, rest: RequestBody::Complete, held });
            }
            let bytes = self.memory.to_mut().split_off(MAX_INLINE_BODY);
            let rest = RequestBody::Memory { bytes, position: 0 };
            return Ok(Stored { len, inline: self.memory, rest, held });
        };
        let mut rest = RequestBody::File { file, position: 0, len };
        let complete = rest.read(self.memory.to_mut(), MAX_INLINE_BODY)?;
        let rest = if complete { RequestBody::Complete } else { rest };
        Ok(Stored { len, inline: self.memory, rest, held })
    }
}
