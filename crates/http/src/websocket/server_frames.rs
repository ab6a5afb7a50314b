//! An application's side of a WebSocket connection: its frames, between which the router may put its own.

use tungstenite::protocol::frame::coding::{Control, OpCode};

use super::frames::{LONGEST_HEAD, append_control, parse_head};

/// Frames of the application on their way, and those of the router that wait for the end of one.
#[derive(Debug, Default)]
pub struct ServerFrames {
    /// Bytes for the client, from `n_sent` on.
    bytes: Vec<u8>,
    n_sent: usize,
    /// The head of the application's frame, as far as it has come.
    head: Vec<u8>,
    /// Bytes of the application's frame that are still to come.
    left: u64,
    /// Frames of the router that wait.
    own: Vec<u8>,
    /// The answer to the latest ping, if so much waits that it has to wait for the rest.
    pong: Vec<u8>,
    /// The frame that is under way is a close.
    is_closing: bool,
    is_closed: bool,
}

/// The application sends what is not a frame of a server.
#[derive(Debug, PartialEq, Eq)]
pub struct NoFrame;

/// Where so many bytes wait for a client, it has stopped reading: of the pings that it still sends, the latest is
/// answered (RFC 6455 section 5.5.3).
const MOST_BEFORE_PONG: usize = 4 * 1024;

/// Room that is kept when nothing waits, and before which bytes that were sent are not moved out of the way.
const KEPT_ROOM: usize = 16 * 1024;

impl ServerFrames {
    /// Bytes to be sent now.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.n_sent..]
    }

    /// So much of it was sent.
    pub fn sent(&mut self, n: usize) {
        self.n_sent += n;
        if self.pending().is_empty() {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT_ROOM);
            self.n_sent = 0;
            self.append_pong();
        } else if self.n_sent >= KEPT_ROOM.max(self.pending().len()) {
            self.bytes.drain(..std::mem::take(&mut self.n_sent));
        }
    }

    fn append_pong(&mut self) {
        if self.is_between() && !self.is_closed {
            self.bytes.append(&mut self.pong);
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
                    self.append_pong();
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
        let n_waiting = self.pending().len() + self.own.len();
        let is_pong = kind == Control::Pong;
        if is_pong {
            self.pong.clear();
        }
        let out = match self.is_between() {
            _ if is_pong && n_waiting >= MOST_BEFORE_PONG => &mut self.pong,
            true => &mut self.bytes,
            false => &mut self.own,
        };
        append_control(out, kind, payload);
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
        let mut outgoing = ServerFrames::default();
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

    /// Many pings of a client that takes nothing while they come.
    fn after_pings(outgoing: &mut ServerFrames) {
        for n in 0..100_000_u32 {
            outgoing.control(Control::Pong, &n.to_be_bytes());
            let n_waiting = outgoing.bytes.capacity() + outgoing.own.capacity() + outgoing.pong.capacity();
            assert!(n_waiting < 4 * MOST_BEFORE_PONG, "{n_waiting} after {n}");
        }
    }

    /// All bytes that come out, taken some at a time.
    fn drain(outgoing: &mut ServerFrames) -> Vec<u8> {
        let mut out = Vec::new();
        while !outgoing.pending().is_empty() {
            let n = outgoing.pending().len().min(1000);
            out.extend_from_slice(&outgoing.pending()[..n]);
            outgoing.sent(n);
        }
        out
    }

    const LATEST_PONG: &[u8] = b"\x8a\x04\x00\x01\x86\x9f";

    #[test]
    fn of_many_pings_the_latest_is_answered() {
        let mut outgoing = ServerFrames::default();
        after_pings(&mut outgoing);
        let out = drain(&mut outgoing);
        let (frames, rest) = out.as_chunks::<6>();
        assert!(rest.is_empty() && frames.iter().all(|frame| frame.starts_with(b"\x8a\x04")));
        assert_eq!(frames.last().map(|frame| &frame[..]), Some(LATEST_PONG));
        assert!(frames.len() > 100, "a few are all answered: {}", frames.len());
        // What was not answered is forgotten with that.
        outgoing.control(Control::Pong, b"!");
        assert_eq!(drain(&mut outgoing), b"\x8a\x01!");
    }

    #[test]
    fn pings_within_a_frame_are_answered_behind_it() {
        let mut outgoing = ServerFrames::default();
        outgoing.take(b"\x81\x05h").unwrap();
        after_pings(&mut outgoing);
        assert_eq!(drain(&mut outgoing), b"\x81\x05h");
        outgoing.take(b"ello\x81\x01!").unwrap();
        let out = drain(&mut outgoing);
        assert!(out.starts_with(b"ello\x8a\x04\0\0\0\0"));
        assert!(out.ends_with(&[LATEST_PONG, b"\x81\x01!"].concat()), "{out:?}");
    }

    #[test]
    fn an_answer_that_waits_is_forgotten_when_another_one_is_given() {
        let mut outgoing = ServerFrames::default();
        outgoing.take(&[b"\x82\x7e\x10\x00".to_vec(), vec![0; MOST_BEFORE_PONG]].concat()).unwrap();
        outgoing.control(Control::Pong, b"1");
        outgoing.sent(1000);
        outgoing.control(Control::Pong, b"2");
        assert!(drain(&mut outgoing).ends_with(b"\0\0\x8a\x012"));
    }

    #[test]
    fn a_close_is_the_last_frame_though_pings_came_before() {
        let mut outgoing = ServerFrames::default();
        after_pings(&mut outgoing);
        assert!(outgoing.close(b"\x03\xe9"));
        assert!(drain(&mut outgoing).ends_with(b"\x88\x02\x03\xe9"));
        let mut outgoing = ServerFrames::default();
        outgoing.take(b"\x88\x02\x03").unwrap();
        after_pings(&mut outgoing);
        outgoing.take(b"\xe8").unwrap();
        assert_eq!(drain(&mut outgoing), b"\x88\x02\x03\xe8");
    }

    /// A client that is always a little behind.
    #[test]
    fn what_was_sent_is_given_back_before_all_is_sent() {
        let mut outgoing = ServerFrames::default();
        let frame = [b"\x82\x7e\x40\x00".to_vec(), vec![0; 0x4000]].concat();
        outgoing.take(&frame).unwrap();
        for _ in 0..1000 {
            outgoing.take(&frame).unwrap();
            outgoing.sent(frame.len());
            assert_eq!(outgoing.pending().len(), frame.len());
            assert!(outgoing.bytes.capacity() < 8 * frame.len(), "{}", outgoing.bytes.capacity());
        }
        drain(&mut outgoing);
        assert!(outgoing.bytes.capacity() <= KEPT_ROOM);
    }

    #[test]
    fn nothing_follows_a_close() {
        check(&[b"\x88\x02\x03\xe8\x81\x01x"], b"\x88\x02\x03\xe8");
        check(&[b"\x88\x02\x03", b"\xe8\x81\x01x"], b"\x88\x02\x03\xe8");
        let mut outgoing = ServerFrames::default();
        assert!(outgoing.close(b"\x03\xe9") && outgoing.is_closed());
        outgoing.take(b"\x81\x01x").unwrap();
        assert_eq!(outgoing.pending(), b"\x88\x02\x03\xe9");
        outgoing.sent(4);
        assert!(outgoing.pending().is_empty());
    }

    #[test]
    fn a_frame_that_is_under_way_cannot_be_closed() {
        let mut outgoing = ServerFrames::default();
        outgoing.take(b"\x81\x05h").unwrap();
        assert!(!outgoing.close(b""));
    }

    #[test]
    fn what_is_no_frame_of_a_server_is_refused() {
        assert_eq!(ServerFrames::default().take(b"\x81\x81\0\0\0\0x"), Err(NoFrame));
        assert_eq!(ServerFrames::default().take(b"\x83\x00"), Err(NoFrame));
    }
}
