//! The running request over the channel: collects output into few frames, keeps to the credit.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use corral_channel::message::{FilePart, Malformed, RequestView};
use corral_channel::{Flags, FrameHead, FrameKind, MAX_TRACE};
use corral_sys::socket;
use rustix::io::Errno;

use crate::client_gone::ClientGone;
use crate::file::FileRest;
use crate::inbox::{ReceiveWait, RequestChannel, RequestStream};
use crate::request_state::{
    After, BodyWindow, ClientState, NextFrame, PendingBytes, ResponsePhase, ResponseState,
};
use crate::runtime::Exchange;

/// Output that is collected before a frame is sent, in bytes.
const COLLECTED: usize = 32 * 1024;

/// Body bytes that are read before the router hears of it; a part of its window, so that it goes on
/// sending meanwhile.
const ACKNOWLEDGED: u32 = corral_channel::BODY_WINDOW / 2;

/// The request that a worker runs.
pub(crate) struct RunningRequest<'a, C> {
    channel: &'a mut C,
    response: ResponseState,
    /// The part of the response that is collected.
    out: &'a mut Vec<u8>,
    /// The application has framed the body itself, so that all of it has to be read.
    framed: bool,
    /// The piece of the request's body that came with it, as far as it was not read.
    inline: &'a [u8],
    /// The body has no other piece.
    is_inline_all: bool,
    window: BodyWindow,
    /// Bytes of payload that one frame can have. The channel is asked once, as threads lock it for that.
    max_payload: usize,
    collect_at_most: usize,
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
        let has_all = view.head.body_complete;
        channel.with_stream(&frame, |stream| stream.body_ended |= has_all);
        let max_payload = channel.max_payload();
        Self {
            channel,
            response: ResponseState::new(frame, view.head.method),
            out,
            framed: false,
            inline: view.body,
            is_inline_all: has_all,
            window: BodyWindow::new(!has_all),
            max_payload,
            collect_at_most: COLLECTED.min(max_payload),
        }
    }

    /// Ends the request, which took this long to run.
    pub(crate) fn conclude(mut self, after: After, ran: Duration) {
        self.refuse(500);
        self.response.end_request(ran, after);
        let has_rest = !self.out.is_empty() && !self.response.is_cut();
        if has_rest && self.send(b"").is_ok() {
            return;
        }
        // The response is not read any more, or has ended before; the router wants to know that this worker is free.
        self.drop_collected();
        if let Some(last) = self.with_client(|response, client| response.last_frame(client)) {
            // Fails when there is no router.
            let _ = self.channel.send(last.frame, &[], ReceiveWait::Endless);
        }
    }

    /// Sends what is collected and as much of `tail` as fits, and says how much that was. Waits for
    /// credit and for room. A response that has ended wants an empty tail.
    fn send(&mut self, tail: &[u8]) -> Result<usize, ClientGone> {
        let n_least = self.n_collected() + u64::from(!tail.is_empty());
        let pending = PendingBytes { n_response: self.out.len() + tail.len(), ..PendingBytes::default() };
        // Whose last frame is ready need not hear of anything before: what has arrived meanwhile waits in the ring.
        let at_once = if self.is_over() { self.next_frame(n_least, &pending) } else { None };
        let next = match at_once {
            Some(next) => next,
            None => self.wait_for_frame(n_least, &pending)?,
        };
        let n_tail = next.n_bytes - self.out.len();
        self.channel.send(next.frame, &[self.out, &tail[..n_tail]], ReceiveWait::UntilCancelled)?;
        self.sent(&next);
        self.out.clear();
        Ok(n_tail)
    }

    /// Bytes of body that are collected.
    fn n_collected(&self) -> u64 {
        (self.out.len() - self.response.n_head()) as u64
    }

    /// The next frame, if there is credit for `n_least` bytes of body, and they would be read.
    fn next_frame(&mut self, n_least: u64, pending: &PendingBytes) -> Option<NextFrame> {
        let max_payload = self.max_payload;
        self.with_client(|response, client| {
            let may_go = client.credit() >= n_least && !client.is_gone();
            if may_go { response.next_frame(pending, client, max_payload) } else { None }
        })
    }

    /// Waits until `n_least` bytes of body may be sent.
    fn wait_for_credit(&mut self, n_least: u64) -> Result<(), ClientGone> {
        self.channel.wait_until(self.response.request(), |stream| stream.client.credit() >= n_least)
    }

    /// Waits in the same way, and says which frame is next.
    fn wait_for_frame(&mut self, n_least: u64, pending: &PendingBytes) -> Result<NextFrame, ClientGone> {
        self.wait_for_credit(n_least)?;
        self.next_frame(n_least, pending).ok_or(ClientGone)
    }

    /// Does something with the response and with what is known of its client.
    fn with_client<R>(&mut self, act: impl FnOnce(&mut ResponseState, &mut ClientState) -> R) -> R {
        let response = &mut self.response;
        let request = *response.request();
        self.channel.with_stream(&request, |stream| act(response, &mut stream.client))
    }

    fn sent(&mut self, next: &NextFrame) {
        self.with_client(|response, client| response.sent(next, client));
    }

    /// Sends the informational response that is in `out`.
    fn send_informational(&mut self) -> Result<(), ClientGone> {
        let n_bytes = self.out.len();
        let pending = PendingBytes { n_informational: n_bytes, ..PendingBytes::default() };
        let next = self.wait_for_frame(n_bytes as u64, &pending)?;
        self.channel.send(next.frame, &[self.out], ReceiveWait::UntilCancelled)?;
        self.sent(&next);
        Ok(())
    }

    /// Checks without anything to send whether the response is still read.
    fn look_at_client(&mut self) -> Result<(), ClientGone> {
        if self.client_gone() {
            return Err(ClientGone);
        }
        if self.with_client(|response, client| response.is_silent_for_long(client)) {
            self.abort();
            return Err(ClientGone);
        }
        Ok(())
    }

    fn has_body_ended(&mut self) -> bool {
        self.channel.with_stream(self.response.request(), |stream| stream.body_ended)
    }

    /// Drops what is collected, as it is not taken: the next `write` finds that out at once.
    fn drop_collected(&mut self) {
        self.out.clear();
        self.response.drop_pending();
    }

    /// Nothing can be added to the response.
    fn is_over(&self) -> bool {
        self.response.phase() == ResponsePhase::Ended
    }

    /// Tells the router how much of the body it may send, if it was not told of some of that.
    fn acknowledge_body(&mut self) -> Result<(), ClientGone> {
        let Some(n_bytes) = self.window.untold(1) else { return Ok(()) };
        self.window.told();
        let frame = self.response.frame(FrameKind::BodyCredit).with_aux(n_bytes);
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
        let (n, is_all) = self
            .channel
            .with_stream(self.response.request(), |stream| (stream.take_body(buffer), stream.body_ended));
        if n == 0 && !is_all {
            return None;
        }
        self.window.widen(u32::try_from(n).expect("the router keeps to its window"));
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
                if self.window.untold(ACKNOWLEDGED).is_some() && !self.has_body_ended() {
                    self.acknowledge_body().map_err(aborted)?;
                }
                return Ok(n);
            }
            self.acknowledge_body().map_err(aborted)?;
            self.channel.wait_until(self.response.request(), RequestStream::has_body).map_err(aborted)?;
        }
    }

    fn body_at_hand(&self) -> (&[u8], bool) {
        (self.inline, self.is_inline_all)
    }

    fn skip_body(&mut self, n: usize) {
        self.inline = &self.inline[n..];
    }

    fn inform(&mut self, status: u16, fields: &[(&[u8], &[u8])]) -> Result<(), Malformed> {
        if self.response.phase() != ResponsePhase::Silent {
            return Ok(());
        }
        self.response.inform(self.out, status, fields, self.max_payload)?;
        if !self.out.is_empty() {
            // A client that is gone is reported by the next `write`.
            let _ = self.send_informational();
            self.out.clear();
        }
        Ok(())
    }

    fn respond(&mut self, status: u16, fields: &[(&[u8], &[u8])]) {
        if self.response.phase() != ResponsePhase::Silent {
            return;
        }
        let is_fit = self.response.respond(self.out, status, fields, self.max_payload);
        self.framed = is_fit && fields.iter().any(|(name, _)| is_transfer_encoding(name));
    }

    fn refuse(&mut self, status: u16) {
        if self.response.phase() == ResponsePhase::Silent {
            self.response.refuse(self.out, status);
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), ClientGone> {
        self.respond(200, &[]);
        if self.is_over() {
            return if self.response.is_cut() { Err(ClientGone) } else { Ok(()) };
        }
        if self.response.is_bodiless() || bytes.is_empty() {
            return self.look_at_client();
        }
        self.response.speak();
        // What was collected before has been sent, and the client may have left since.
        if self.out.is_empty() && self.client_gone() {
            return Err(ClientGone);
        }
        while self.out.len() + bytes.len() > self.collect_at_most {
            let n = self.send(bytes)?;
            bytes = &bytes[n..];
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn send_file(&mut self, file: &FileRest<'_>) -> Result<bool, ClientGone> {
        self.respond(200, &[]);
        if self.is_over() || self.response.is_bodiless() {
            return Ok(true);
        }
        if self.framed {
            return Ok(false);
        }
        if self.out.len() + FilePart::SIZE > self.max_payload {
            self.send(b"")?;
        }
        self.wait_for_credit(self.n_collected())?;
        let (n_bytes, max_payload) = (self.out.len(), self.max_payload);
        let next =
            self.with_client(|response, client| response.file_frame(n_bytes, true, client, max_payload));
        let next = next.ok_or(ClientGone)?;
        let is_sent = self.channel.send_file(next.frame, self.out, file)?;
        if is_sent {
            self.sent(&next);
            self.out.clear();
        }
        Ok(is_sent)
    }

    fn flush(&mut self) {
        // A client that is gone is reported by the next `write`.
        let _ = match (self.is_over(), self.out.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => self.look_at_client(),
            (false, false) => self.send(b"").map(drop).inspect_err(|_| self.drop_collected()),
        };
    }

    fn collects(&self, n_bytes: usize) -> bool {
        self.out.len() + n_bytes <= self.collect_at_most
    }

    fn finish(&mut self) {
        self.respond(200, &[]);
        if self.is_over() {
            return;
        }
        self.response.end_response();
        if self.send(b"").is_err() {
            // As in `flush`; `conclude` says the rest.
            self.response.reopen();
        }
    }

    fn abort(&mut self) {
        if self.is_over() {
            return;
        }
        if !self.out.is_empty() {
            // As in `flush`.
            let _ = self.send(b"");
        }
        self.response.abort();
    }

    fn client_gone(&mut self) -> bool {
        self.channel.receive();
        self.response.is_cut() || self.with_client(|_, client| client.is_gone())
    }

    fn hijack(&mut self) -> io::Result<OwnedFd> {
        if self.response.phase() != ResponsePhase::Silent {
            return Err(Errno::ALREADY.into());
        }
        let (application, router) = socket::stream_pair()?;
        let frame = self.response.frame(FrameKind::Hijacked).with_flags(Flags::END);
        match self.channel.send_socket(frame, router.as_fd()) {
            Ok(true) => {}
            Ok(false) => return Err(Errno::AGAIN.into()),
            Err(ClientGone) => return Err(Errno::PIPE.into()),
        }
        self.sent(&NextFrame { frame, n_bytes: 0 });
        Ok(application)
    }

    fn leave_state(&mut self, kinds: u32) {
        let frame = self.response.frame(FrameKind::State).with_aux(kinds);
        // Fails when there is no router.
        let _ = self.channel.send(frame, &[], ReceiveWait::Endless);
    }

    fn trace(&mut self, text: &[u8]) {
        let frame = self.response.frame(FrameKind::Trace);
        let text = &text[..text.len().min(MAX_TRACE)];
        self.channel.send_if_room(frame, &[text]);
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
