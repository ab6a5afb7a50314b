//! The running request over the channel: collects output into few frames, keeps to the credit.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use corral_channel::message::{self, FilePart, Malformed, RequestView};
use corral_channel::{Flags, FrameHead, FrameKind};
use corral_sys::socket;
use rustix::io::Errno;

use crate::client_gone::ClientGone;
use crate::file::FileRest;
use crate::inbox::{ReceiveWait, RequestChannel, RequestStream};
use crate::log::complain;
use crate::quiet_client::QuietClient;
use crate::request_state::After;
use crate::runtime::Exchange;

/// Output that is collected before a frame is sent, in bytes.
const COLLECTED: usize = 32 * 1024;

/// Body bytes that are read before the router hears of it; a part of its window, so that it goes on
/// sending meanwhile.
const ACKNOWLEDGED: u32 = corral_channel::BODY_WINDOW / 2;

/// How far the response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No head yet.
    Silent,
    /// The head is in `out`, its length in bytes with it.
    HeadCollected(usize),
    /// The head is sent; `out` holds body only.
    HeadSent,
    /// The client has all of it, or gets the rest from elsewhere.
    Ended,
    /// The client has what there is of it, and there will be no more.
    Aborted,
}

/// The thing that the next frame of the response completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completes {
    Nothing,
    /// The response; the request goes on.
    Response,
    /// Response and request.
    Request(After),
}

impl Completes {
    fn flags(self) -> Flags {
        match self {
            Self::Nothing => Flags::NONE,
            Self::Response => Flags::END,
            Self::Request(after) => Flags::END | after.flags(),
        }
    }
}

/// The request that a worker runs.
pub(crate) struct RunningRequest<'a, C> {
    channel: &'a mut C,
    /// The Request frame.
    frame: FrameHead,
    /// The part of the response that is collected.
    out: &'a mut Vec<u8>,
    phase: Phase,
    /// The response has no body, whatever is written.
    bodiless: bool,
    /// The application has framed the body itself, so that all of it has to be read.
    framed: bool,
    silence: QuietClient,
    /// The piece of the request's body that came with it, as far as it was not read.
    inline: &'a [u8],
    /// The body has no other piece.
    is_inline_all: bool,
    /// Body bytes that the router may send and was not told of: those that were read, and at first the window.
    n_read: u32,
    collect_at_most: usize,
    /// Zero until the request has ended.
    ran: Duration,
}

impl<'a, C: RequestChannel> RunningRequest<'a, C> {
    /// Begins to answer; `out` is a buffer to use, in whatever state.
    pub(crate) fn new(
        channel: &'a mut C,
        frame: FrameHead,
        view: &RequestView<'a>,
        out: &'a mut Vec<u8>,
    ) -> Self {
        out.clear();
        channel.with_stream(&frame, |stream| stream.body_ended |= view.head.body_complete);
        let collect_at_most = COLLECTED.min(channel.max_payload());
        Self {
            channel,
            frame,
            out,
            phase: Phase::Silent,
            bodiless: view.head.method == b"HEAD",
            framed: false,
            silence: QuietClient::default(),
            inline: view.body,
            is_inline_all: view.head.body_complete,
            // The router sends nothing before it is asked: the window opens with the first read.
            n_read: if view.head.body_complete { 0 } else { corral_channel::BODY_WINDOW },
            collect_at_most,
            ran: Duration::ZERO,
        }
    }

    /// Ends the request, which took this long to run.
    pub(crate) fn conclude(mut self, after: After, ran: Duration) {
        self.ran = ran;
        if self.phase == Phase::Silent {
            self.respond(500, &[]);
        }
        let (kind, end) = match self.phase {
            Phase::Ended => (FrameKind::Finished, Flags::NONE),
            Phase::Aborted => (FrameKind::Failed, Flags::END),
            _ => match self.send(b"", Completes::Request(after)) {
                Ok(_) => return,
                // The response is not read any more, but the router wants to know that this worker is free.
                Err(ClientGone) => (FrameKind::End, Flags::END),
            },
        };
        let frame = self.frame(kind).with_flags(end | after.flags()).with_aux(self.micros());
        // Fails when there is no router.
        let _ = self.channel.send(frame, &[], ReceiveWait::Endless);
    }

    /// How long the request ran, in microseconds; zero while it does.
    fn micros(&self) -> u32 {
        u32::try_from(self.ran.as_micros()).unwrap_or(u32::MAX)
    }

    fn frame(&self, kind: FrameKind) -> FrameHead {
        FrameHead::new(kind, self.frame.lane, self.frame.request)
    }

    /// Sends what is collected and as much of `tail` as fits, and says how much that was. Waits for
    /// credit and for room. What completes something wants an empty tail.
    fn send(&mut self, tail: &[u8], completes: Completes) -> Result<usize, ClientGone> {
        let kind = match self.phase {
            Phase::HeadCollected(_) => FrameKind::Response,
            _ if self.out.is_empty() && tail.is_empty() => FrameKind::End,
            _ => FrameKind::Data,
        };
        let n_collected = self.n_collected();
        let n_least = n_collected + u64::from(!tail.is_empty());
        // Whose last frame is ready need not hear of anything before: what has arrived meanwhile waits in the ring.
        let is_last = completes != Completes::Nothing;
        let credit = match self.credit().filter(|&credit| is_last && credit >= n_least) {
            Some(credit) => credit,
            None => self.wait_for_credit(n_least)?,
        };
        let n_allowed = usize::try_from(credit - n_collected).unwrap_or(usize::MAX);
        let room = self.channel.max_payload() - self.out.len();
        let n_tail = tail.len().min(n_allowed).min(room);
        let frame = self.frame(kind).with_flags(completes.flags()).with_aux(self.micros());
        self.channel.send(frame, &[self.out, &tail[..n_tail]], ReceiveWait::UntilCancelled)?;
        self.channel.with_stream(&self.frame, |stream| stream.credit -= n_collected + n_tail as u64);
        self.out.clear();
        self.phase = if completes == Completes::Nothing { Phase::HeadSent } else { Phase::Ended };
        Ok(n_tail)
    }

    /// Bytes of body that are collected.
    fn n_collected(&self) -> u64 {
        let n_head = if let Phase::HeadCollected(len) = self.phase { len } else { 0 };
        (self.out.len() - n_head) as u64
    }

    /// How many bytes of body may be sent, as far as is known, if they would be read.
    fn credit(&mut self) -> Option<u64> {
        self.channel.with_stream(&self.frame, |stream| (!stream.cancelled).then_some(stream.credit))
    }

    /// Waits until `n` bytes of body may be sent, and says how many may.
    fn wait_for_credit(&mut self, n: u64) -> Result<u64, ClientGone> {
        self.channel.wait_until(&self.frame, |stream| stream.credit >= n)?;
        self.credit().ok_or(ClientGone)
    }

    /// Sends the informational response that is in `out`.
    fn send_informational(&mut self) -> Result<(), ClientGone> {
        let len = self.out.len() as u64;
        self.wait_for_credit(len)?;
        self.channel.send(self.frame(FrameKind::Informational), &[self.out], ReceiveWait::UntilCancelled)?;
        self.channel.with_stream(&self.frame, |stream| stream.credit -= len);
        Ok(())
    }

    /// Checks without anything to send whether the response is still read.
    fn look_at_client(&mut self) -> Result<(), ClientGone> {
        if self.client_gone() {
            return Err(ClientGone);
        }
        let left = self.channel.with_stream(&self.frame, |stream| stream.left);
        if left && self.silence.goes_on() {
            self.abort();
            return Err(ClientGone);
        }
        Ok(())
    }

    fn has_body_ended(&mut self) -> bool {
        self.channel.with_stream(&self.frame, |stream| stream.body_ended)
    }

    /// Drops what is collected, as it is not taken: the next `write` finds that out at once.
    fn give_up(&mut self) {
        self.out.clear();
        self.phase = Phase::HeadSent;
    }

    /// Nothing can be added to the response.
    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended | Phase::Aborted)
    }

    fn acknowledge_body(&mut self) -> Result<(), ClientGone> {
        if self.n_read == 0 {
            return Ok(());
        }
        let frame = self.frame(FrameKind::BodyCredit).with_aux(self.n_read);
        self.n_read = 0;
        self.channel.send(frame, &[], ReceiveWait::UntilCancelled)
    }

    /// Takes what came along with the head.
    fn take_inline(&mut self, buffer: &mut [u8]) -> usize {
        let (now, later) = self.inline.split_at(self.inline.len().min(buffer.len()));
        buffer[..now.len()].copy_from_slice(now);
        self.inline = later;
        now.len()
    }

    /// Takes what has come after the head, without waiting. `None` when more has to come first.
    fn take_body(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let (n, is_all) =
            self.channel.with_stream(&self.frame, |stream| (stream.take_body(buffer), stream.body_ended));
        if n == 0 && !is_all {
            return None;
        }
        self.n_read += u32::try_from(n).expect("the router keeps to its window");
        Some(n)
    }
}

impl<C: RequestChannel> Exchange for RunningRequest<'_, C> {
    fn read_body(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if !self.inline.is_empty() || self.is_inline_all {
            return Ok(self.take_inline(buffer));
        }
        self.channel.receive();
        loop {
            if let Some(n) = self.take_body(buffer) {
                if self.n_read >= ACKNOWLEDGED && !self.has_body_ended() {
                    self.acknowledge_body().map_err(aborted)?;
                }
                return Ok(n);
            }
            self.acknowledge_body().map_err(aborted)?;
            self.channel.wait_until(&self.frame, RequestStream::has_body).map_err(aborted)?;
        }
    }

    fn body_at_hand(&self) -> (&[u8], bool) {
        (self.inline, self.is_inline_all)
    }

    fn skip_body(&mut self, n: usize) {
        self.inline = &self.inline[n..];
    }

    fn inform(&mut self, status: u16, fields: &[(&[u8], &[u8])]) -> Result<(), Malformed> {
        if self.phase != Phase::Silent {
            return Ok(());
        }
        message::encode_informational(self.out, status, fields.iter().copied())?;
        if self.out.len() > self.channel.max_payload() {
            complain(format_args!(
                "an informational response has {} bytes, which is too long",
                self.out.len()
            ));
        } else {
            // A client that is gone is reported by the next `write`.
            let _ = self.send_informational();
        }
        self.out.clear();
        Ok(())
    }

    fn respond(&mut self, status: u16, fields: &[(&[u8], &[u8])]) {
        if self.phase != Phase::Silent {
            return;
        }
        message::encode_response(self.out, status, fields.iter().copied());
        if self.out.len() > self.channel.max_payload() {
            complain(format_args!(
                "the head of the response has {} bytes, which is too long",
                self.out.len()
            ));
            self.out.clear();
            return self.respond(500, &[]);
        }
        self.bodiless |= matches!(status, 204 | 304);
        self.framed = fields.iter().any(|(name, _)| is_transfer_encoding(name));
        self.phase = Phase::HeadCollected(self.out.len());
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), ClientGone> {
        self.respond(200, &[]);
        match self.phase {
            Phase::Ended => return Ok(()),
            Phase::Aborted => return Err(ClientGone),
            _ if self.bodiless || bytes.is_empty() => return self.look_at_client(),
            _ => self.silence.ends(),
        }
        // What was collected before has been sent, and the client may have left since.
        if self.phase == Phase::HeadSent && self.out.is_empty() && self.client_gone() {
            return Err(ClientGone);
        }
        while self.out.len() + bytes.len() > self.collect_at_most {
            let n = self.send(bytes, Completes::Nothing)?;
            bytes = &bytes[n..];
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn send_file(&mut self, file: &FileRest<'_>) -> Result<bool, ClientGone> {
        self.respond(200, &[]);
        if self.is_over() || self.bodiless {
            return Ok(true);
        }
        if self.framed {
            return Ok(false);
        }
        if self.out.len() + FilePart::SIZE > self.channel.max_payload() {
            self.send(b"", Completes::Nothing)?;
        }
        let n_collected = self.n_collected();
        self.wait_for_credit(n_collected)?;
        let kind =
            if matches!(self.phase, Phase::HeadCollected(_)) { FrameKind::Response } else { FrameKind::Data };
        let frame = self.frame(kind).with_flags(Completes::Response.flags());
        let is_sent = self.channel.send_file(frame, self.out, file)?;
        if is_sent {
            self.channel.with_stream(&self.frame, |stream| stream.credit -= n_collected);
            self.out.clear();
            self.phase = Phase::Ended;
        }
        Ok(is_sent)
    }

    fn flush(&mut self) {
        // A client that is gone is reported by the next `write`.
        let _ = match (self.is_over(), self.out.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => self.look_at_client(),
            (false, false) => self.send(b"", Completes::Nothing).map(drop).inspect_err(|_| self.give_up()),
        };
    }

    fn collects(&self, n_bytes: usize) -> bool {
        self.out.len() + n_bytes <= self.collect_at_most
    }

    fn finish(&mut self) {
        self.respond(200, &[]);
        if !self.is_over() {
            // As in `flush`; `conclude` says the rest.
            let _ = self.send(b"", Completes::Response);
        }
    }

    fn abort(&mut self) {
        if self.is_over() {
            return;
        }
        if !self.out.is_empty() {
            // As in `flush`.
            let _ = self.send(b"", Completes::Nothing);
        }
        self.phase = Phase::Aborted;
    }

    fn client_gone(&mut self) -> bool {
        self.channel.receive();
        self.phase == Phase::Aborted || self.channel.with_stream(&self.frame, |stream| stream.cancelled)
    }

    fn hijack(&mut self) -> io::Result<OwnedFd> {
        if self.phase != Phase::Silent {
            return Err(Errno::ALREADY.into());
        }
        let (application, router) = socket::stream_pair()?;
        let frame = self.frame(FrameKind::Hijacked).with_flags(Flags::END);
        match self.channel.send_socket(frame, router.as_fd()) {
            Ok(true) => {}
            Ok(false) => return Err(Errno::AGAIN.into()),
            Err(ClientGone) => return Err(Errno::PIPE.into()),
        }
        self.phase = Phase::Ended;
        Ok(application)
    }

    fn leave_state(&mut self, kinds: u32) {
        let frame = self.frame(FrameKind::State).with_aux(kinds);
        // Fails when there is no router.
        let _ = self.channel.send(frame, &[], ReceiveWait::Endless);
    }

    fn note(&mut self, text: &[u8]) {
        self.channel.note(text);
    }
}

fn is_transfer_encoding(name: &[u8]) -> bool {
    name.len() == 17 && name.eq_ignore_ascii_case(b"transfer-encoding")
}

fn aborted(gone: ClientGone) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, gone)
}

#[cfg(test)]
mod tests;
