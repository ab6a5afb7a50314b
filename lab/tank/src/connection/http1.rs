//! Requests on a connection of HTTP/1, one after the other.

mod decoder;

use std::io::{ErrorKind, Read, Write};

use self::decoder::Decoder;
use super::Context;
use crate::clock::Nanos;
use crate::failure::Failure;
use crate::outcome::{Job, Marks, Outcome};
use crate::requests::{Form, Protocol};
use crate::transport::Transport;

/// An open connection, and the request on it.
pub(super) struct Http1 {
    transport: Transport,
    decoder: Decoder,
    current: Option<Current>,
}

struct Current {
    job: Job,
    marks: Marks,
    n_written: usize,
    size_in: u64,
}

impl Http1 {
    pub(super) fn new(transport: Transport) -> Self {
        Self { transport, decoder: Decoder::default(), current: None }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none()
    }

    /// Sends a request on a connection that is idle since `ready`.
    pub(super) fn send(&mut self, job: Job, ready: Nanos, cx: &mut Context) -> Result<(), Failure> {
        self.decoder.begin(cx.requests.list[job.request].is_head);
        let marks = Marks { ready, ..Marks::default() };
        self.current = Some(Current { job, marks, n_written: 0, size_in: 0 });
        self.write(cx)
    }

    /// Writes what is left of the request.
    fn write(&mut self, cx: &mut Context) -> Result<(), Failure> {
        let Some(current) = self.current.as_mut().filter(|current| current.marks.sent == 0) else {
            return Ok(());
        };
        let Form::Http1(bytes) = &cx.requests.list[current.job.request].form else { return Ok(()) };
        while current.n_written < bytes.len() {
            match self.transport.write(&bytes[current.n_written..]) {
                Ok(n_written) => current.n_written += n_written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(Failure::of_io(&error)),
            }
        }
        current.marks.sent = cx.clock.now();
        Ok(())
    }

    pub(super) fn on_event(&mut self, is_hup: bool, cx: &mut Context) -> Result<(), Failure> {
        match self.transport.flush() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(Failure::of_io(&error)),
            _ => {}
        }
        let written = self.write(cx);
        // An answer may have come before the server closed, so that an error of writing is not the last word.
        let read = self.read(is_hup || written.is_err(), cx);
        read.and(written)
    }

    /// Reads until there is no more; after a hang-up, until the end.
    fn read(&mut self, is_hup: bool, cx: &mut Context) -> Result<(), Failure> {
        loop {
            let read = self.transport.read(&mut cx.buffer);
            match read {
                Ok(0) => return self.on_end(cx),
                Ok(n_read) => {
                    self.on_bytes(n_read, cx)?;
                    if !is_hup && self.transport.is_drained(n_read, cx.buffer.len()) {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::of_io(&error)),
            }
        }
    }

    fn on_bytes(&mut self, n_read: usize, cx: &mut Context) -> Result<(), Failure> {
        // Bytes that no request asked for.
        let current = self.current.as_mut().ok_or(Failure::Protocol)?;
        if current.marks.answered == 0 {
            current.marks.answered = cx.clock.now();
        }
        current.size_in += n_read as u64;
        let input = &cx.buffer[..n_read];
        let n_taken = self.decoder.take(input, &cx.expectation).map_err(|_| Failure::Protocol)?;
        if !self.decoder.is_done() {
            return Ok(());
        }
        // A server that answers before the end of the request has lost the place where the next one begins.
        let is_sent = current.marks.sent != 0;
        self.finish(cx);
        let is_kept =
            self.decoder.keeps_alive() && cx.protocol == Protocol::Http1 { keep_alive: true } && is_sent;
        match is_kept {
            true if n_taken == n_read => Ok(()),
            true => Err(Failure::Protocol),
            false => Err(Failure::Closed),
        }
    }

    /// The server has said all that it will.
    fn on_end(&mut self, cx: &mut Context) -> Result<(), Failure> {
        if self.current.is_some() && self.decoder.ends_with_connection() {
            self.finish(cx);
        }
        Err(Failure::Closed)
    }

    /// The answer is whole.
    fn finish(&mut self, cx: &mut Context) {
        let Some(current) = self.current.take() else { return };
        // One look at the clock does for an answer that came in one piece.
        let is_whole = self.decoder.came_at_once();
        let end = if is_whole { current.marks.answered } else { cx.clock.now() };
        cx.done.push(Outcome {
            job: current.job,
            marks: current.marks,
            end,
            failure: cx.expectation.fault(self.decoder.status(), self.decoder.body()),
            status: self.decoder.status(),
            size_out: current.n_written as u64,
            size_in: current.size_in,
        });
    }

    pub(super) fn abandon(&mut self, failure: Failure, end: Nanos, cx: &mut Context) {
        let Some(current) = self.current.take() else { return };
        let failed = Outcome::failed(current.job, current.marks, end, failure);
        let size_out = current.n_written as u64;
        cx.done.push(Outcome { size_out, size_in: current.size_in, status: self.decoder.status(), ..failed });
    }
}
