//! What an application sends on a WebSocket connection: its frames, between which the router may put its own.

use tungstenite::protocol::frame::coding::{Control, OpCode};

use super::frames::{LONGEST_HEAD, append_control, parse_head};

/// Frames of the application on their way, and those of the router that wait for the end of one.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Bytes for the client, from `n_sent` on.
    bytes: Vec<u8>,
    n_sent: usize,
    /// The head of the application's frame, as far as it has come.
    head: Vec<u8>,
    /// Bytes of the application's frame that are still to come.
    left: u64,
    /// Frames of the router that wait.
    own: Vec<u8>,
    /// The frame that is under way is a close.
    is_closing: bool,
    is_closed: bool,
}

/// The application sends what is no frame of a server.
#[derive(Debug, PartialEq, Eq)]
pub struct NoFrame;

impl Outgoing {
    /// What is to be sent now.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.n_sent..]
    }

    /// So much of it was sent.
    pub fn sent(&mut self, n: usize) {
        self.n_sent += n;
        if self.n_sent == self.bytes.len() {
            self.bytes.clear();
            self.n_sent = 0;
        }
    }

    /// Whether a close is among what was taken: nothing may follow it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Takes bytes of the application.
    ///
    /// # Errors
    /// When they are not frames as a server sends them.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<(), NoFrame> {
        while !bytes.is_empty() && !self.is_closed {
            if self.left == 0 {
                bytes = self.take_head(bytes)?;
            }
            let n = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
            self.bytes.extend_from_slice(&bytes[..n]);
            self.left -= n as u64;
            bytes = &bytes[n..];
            if self.is_between() {
                self.is_closed = self.is_closing;
                let own = std::mem::take(&mut self.own);
                if !self.is_closed {
                    self.bytes.extend_from_slice(&own);
                }
            }
        }
        Ok(())
    }

    /// Takes the beginning of a frame; what is behind its head is returned.
    fn take_head<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], NoFrame> {
        let n_known = self.head.len();
        self.head.extend_from_slice(&bytes[..bytes.len().min(LONGEST_HEAD - n_known)]);
        let Some((head, len, n_head)) = parse_head(&self.head).map_err(|_| NoFrame)? else { return Ok(&[]) };
        if head.mask.is_some() {
            return Err(NoFrame);
        }
        self.bytes.extend_from_slice(&self.head[..n_head]);
        self.head.clear();
        self.left = len;
        self.is_closing = head.opcode == OpCode::Control(Control::Close);
        Ok(&bytes[n_head - n_known..])
    }

    fn is_between(&self) -> bool {
        self.left == 0 && self.head.is_empty()
    }

    /// Adds a control frame as soon as no other frame is under way. After a close there are none.
    pub fn control(&mut self, kind: Control, payload: &[u8]) {
        if self.is_closed {
            return;
        }
        if self.is_between() {
            append_control(&mut self.bytes, kind, payload);
        } else {
            append_control(&mut self.own, kind, payload);
        }
    }

    /// Ends the connection; what the application was about to say is cut off. A frame that is under way cannot be
    /// ended: false, and the connection has to be cut.
    #[must_use]
    pub fn close(&mut self, payload: &[u8]) -> bool {
        let may_close = self.is_between();
        if may_close {
            self.control(Control::Close, payload);
            self.is_closed = true;
        }
        may_close
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&[u8]], expect: &[u8]) {
        let mut outgoing = Outgoing::default();
        for piece in pieces {
            outgoing.take(piece).unwrap();
            outgoing.control(Control::Pong, b"!");
        }
        assert_eq!(outgoing.pending(), expect);
    }

    #[test]
    fn own_frames_go_between_those_of_the_application() {
        check(&[b"\x81\x02hi"], b"\x81\x02hi\x8a\x01!");
        check(&[b"\x81\x05he", b"llo\x82", b"\x00"], b"\x81\x05hello\x8a\x01!\x82\x00\x8a\x01!\x8a\x01!");
    }

    #[test]
    fn nothing_follows_a_close() {
        check(&[b"\x88\x02\x03\xe8\x81\x01x"], b"\x88\x02\x03\xe8");
        check(&[b"\x88\x02\x03", b"\xe8\x81\x01x"], b"\x88\x02\x03\xe8");
        let mut outgoing = Outgoing::default();
        assert!(outgoing.close(b"\x03\xe9") && outgoing.is_closed());
        outgoing.take(b"\x81\x01x").unwrap();
        assert_eq!(outgoing.pending(), b"\x88\x02\x03\xe9");
        outgoing.sent(4);
        assert!(outgoing.pending().is_empty());
    }

    #[test]
    fn a_frame_that_is_under_way_cannot_be_closed() {
        let mut outgoing = Outgoing::default();
        outgoing.take(b"\x81\x05h").unwrap();
        assert!(!outgoing.close(b""));
    }

    #[test]
    fn what_is_no_frame_of_a_server_is_refused() {
        assert_eq!(Outgoing::default().take(b"\x81\x81\0\0\0\0x"), Err(NoFrame));
        assert_eq!(Outgoing::default().take(b"\x83\x00"), Err(NoFrame));
    }
}
