//! A client's side of a WebSocket connection. Pure: bytes go in, parts of messages and control frames come out.

use std::ops::Range;

use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

use super::frames::{CloseReason, LONGEST_CONTROL, LONGEST_HEAD, parse_head};

/// Something that the client has said. Ranges are of the bytes that were given.
#[derive(Debug, PartialEq, Eq)]
pub enum ClientItem {
    /// A part of a text.
    Text(MessagePart),
    /// A part of a message of bytes.
    Binary(MessagePart),
    /// Asks for a pong.
    Ping(Range<usize>),
    /// Answers a ping, or is a sign of life.
    Pong,
    /// The client will say nothing more.
    Close(Range<usize>),
}

/// A part of a message.
#[derive(Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// A range of the bytes that were given.
    pub bytes: Range<usize>,
    /// True for the last part of a message.
    pub ends: bool,
}

/// The kind and the payload of a control frame.
pub type ControlFrame = (Control, Vec<u8>);

/// A frame whose payload is being read.
#[derive(Debug, Clone, Copy)]
struct ClientFrame {
    /// Opcode of the frame's message: text or binary.
    opcode: Data,
    is_final: bool,
    /// Mask of the next byte, and those behind it.
    mask: [u8; 4],
    left: u64,
}

/// The state between two frames, or within one.
#[derive(Debug)]
pub struct ClientFrames {
    max_frame: u64,
    /// Both sides have agreed on an extension, which gives reserved bits a meaning.
    is_extended: bool,
    frame: Option<ClientFrame>,
    /// Opcode of the message that is not complete.
    message: Option<Data>,
}

impl ClientFrames {
    /// The state at the beginning. Frames may have `max_frame` bytes, their heads included.
    #[must_use]
    pub fn new(max_frame: u64) -> Self {
        Self { max_frame, is_extended: false, frame: None, message: None }
    }

    /// Takes frames with reserved bits: both sides have agreed on an extension (RFC 6455 section 9).
    #[must_use]
    pub fn extended(self, is_extended: bool) -> Self {
        Self { is_extended, ..self }
    }

    /// Reads one item from the beginning of `bytes`, at most `window` bytes of a message. Returns how many bytes are
    /// done with; when there is no item, more has to come first.
    ///
    /// # Errors
    /// When the client breaks the rules: the connection is to be closed.
    pub fn next(
        &mut self,
        bytes: &mut [u8],
        window: usize,
    ) -> Result<(usize, Option<ClientItem>), CloseReason> {
        if let Some(frame) = self.frame {
            return Ok(self.part(frame, bytes, 0, window));
        }
        let Some((head, len, n_head)) = parse_head(bytes)? else { return Ok((0, None)) };
        let mask = self.check_head(&head)?;
        let OpCode::Data(data) = head.opcode else {
            return control(&head, len, mask, bytes, n_head);
        };
        if len.saturating_add(n_head as u64) > self.max_frame {
            return Err(CloseReason { code: 1009, reason: "frame too big" });
        }
        let frame = self.begin(&head, data, len, mask)?;
        let (n, item) = self.part(frame, bytes, n_head, window);
        Ok((n, item))
    }

    /// Checks the beginning of `bytes`, which are not changed. Returns how many keep to the rules, 0 when more has to
    /// come first, and the kind and payload of a control frame.
    ///
    /// # Errors
    /// When the client breaks the rules: the connection is to be closed.
    pub fn check(&mut self, bytes: &[u8]) -> Result<(usize, Option<ControlFrame>), CloseReason> {
        if let Some(frame) = self.frame {
            let n = frame.room(bytes.len());
            self.advance(frame, n);
            return Ok((n, None));
        }
        let Some((head, len, n_head)) = parse_head(bytes)? else { return Ok((0, None)) };
        let mask = self.check_head(&head)?;
        match head.opcode {
            OpCode::Control(kind) => {
                let mut copy = bytes[..bytes.len().min(LONGEST_HEAD + LONGEST_CONTROL as usize)].to_vec();
                let (n, item) = control(&head, len, mask, &mut copy, n_head)?;
                Ok((n, item.map(|_| (kind, copy[n_head..n].to_vec()))))
            }
            OpCode::Data(_) if len.saturating_add(n_head as u64) > self.max_frame => {
                // As Unit counts, with the head.
                Err(CloseReason { code: 1009, reason: "frame too big" })
            }
            OpCode::Data(data) => {
                let frame = self.begin(&head, data, len, mask)?;
                let n = frame.room(bytes.len() - n_head);
                self.advance(frame, n);
                Ok((n_head + n, None))
            }
        }
    }

    fn check_head(&self, head: &FrameHeader) -> Result<[u8; 4], CloseReason> {
        let mask = head.mask.ok_or(CloseReason::protocol("a frame is not masked"))?;
        let is_reserved = head.rsv1 || head.rsv2 || head.rsv3;
        if is_reserved && !self.is_extended {
            Err(CloseReason::protocol("a reserved bit is set"))
        } else {
            Ok(mask)
        }
    }

    fn begin(
        &mut self,
        head: &FrameHeader,
        data: Data,
        left: u64,
        mask: [u8; 4],
    ) -> Result<ClientFrame, CloseReason> {
        let opcode = match (data, self.message) {
            (Data::Continue, Some(opcode)) => opcode,
            (Data::Text | Data::Binary, None) => data,
            (Data::Continue, None) => return Err(CloseReason::protocol("nothing to continue")),
            (Data::Text | Data::Binary, Some(_)) => {
                return Err(CloseReason::protocol("a message within another"));
            }
            (Data::Reserved(_), _) => return Err(CloseReason::protocol("unknown opcode")),
        };
        Ok(ClientFrame { opcode, is_final: head.is_final, mask, left })
    }

    /// Takes what is there of a frame's payload, from `start` on.
    fn part(
        &mut self,
        mut frame: ClientFrame,
        bytes: &mut [u8],
        start: usize,
        window: usize,
    ) -> (usize, Option<ClientItem>) {
        let n = frame.room(window.min(bytes.len() - start));
        let range = start..start + n;
        unmask(&mut bytes[range.clone()], frame.mask);
        frame.mask.rotate_left(n % 4);
        let ends = self.advance(frame, n);
        let says_something = n > 0 || ends;
        let end = range.end;
        let part = MessagePart { bytes: range, ends };
        let item = if frame.opcode == Data::Text { ClientItem::Text(part) } else { ClientItem::Binary(part) };
        (end, says_something.then_some(item))
    }

    /// Leaves `n` bytes of the payload behind. Returns whether they are the last ones of a message.
    fn advance(&mut self, mut frame: ClientFrame, n: usize) -> bool {
        frame.left -= n as u64;
        let is_complete = frame.left == 0;
        let ends = is_complete && frame.is_final;
        self.frame = (!is_complete).then_some(frame);
        self.message = (!ends).then_some(frame.opcode);
        ends
    }
}

impl ClientFrame {
    /// How many of `n` bytes belong to it.
    fn room(&self, n: usize) -> usize {
        n.min(usize::try_from(self.left).unwrap_or(usize::MAX))
    }
}

/// A whole control frame: they are short, and not divided.
fn control(
    head: &FrameHeader,
    len: u64,
    mask: [u8; 4],
    bytes: &mut [u8],
    n_head: usize,
) -> Result<(usize, Option<ClientItem>), CloseReason> {
    if !head.is_final || len > LONGEST_CONTROL {
        return Err(CloseReason::protocol("a control frame is divided or too long"));
    }
    let range = n_head..n_head + len as usize;
    let Some(payload) = bytes.get_mut(range.clone()) else { return Ok((0, None)) };
    unmask(payload, mask);
    let item = match head.opcode {
        OpCode::Control(Control::Ping) => ClientItem::Ping(range.clone()),
        OpCode::Control(Control::Pong) => ClientItem::Pong,
        OpCode::Control(Control::Close) => {
            check_close(payload)?;
            ClientItem::Close(range.clone())
        }
        OpCode::Control(Control::Reserved(_)) | OpCode::Data(_) => {
            return Err(CloseReason::protocol("unknown opcode"));
        }
    };
    Ok((range.end, Some(item)))
}

/// RFC 6455 section 7.4.
fn check_close(payload: &[u8]) -> Result<(), CloseReason> {
    let [high, low, reason @ ..] = payload else {
        let is_empty = payload.is_empty();
        return if is_empty { Ok(()) } else { Err(CloseReason::protocol("half a close code")) };
    };
    let is_allowed = match u16::from_be_bytes([*high, *low]) {
        1004..=1006 | 1015..=2999 => false,
        code => (1000..5000).contains(&code),
    };
    if !is_allowed {
        return Err(CloseReason::protocol("invalid close code"));
    }
    std::str::from_utf8(reason).map_err(|_| CloseReason { code: 1007, reason: "a reason is not UTF-8" })?;
    Ok(())
}

fn unmask(bytes: &mut [u8], mask: [u8; 4]) {
    for (idx, byte) in bytes.iter_mut().enumerate() {
        *byte ^= mask[idx % 4];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: [u8; 4] = [1, 2, 3, 4];

    /// A frame of a client.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first, 0x80 | payload.len() as u8];
        bytes.extend_from_slice(&MASK);
        bytes.extend_from_slice(payload);
        unmask(&mut bytes[6..], MASK);
        bytes
    }

    /// All that is said, in short: the window is opened again after each item.
    fn read(mut bytes: Vec<u8>, step: usize, window: usize) -> Result<String, u16> {
        let mut incoming = ClientFrames::new(1000);
        let mut said = Vec::new();
        let (mut given, mut buffer) = (0, Vec::new());
        while given < bytes.len() {
            let end = bytes.len().min(given + step);
            buffer.extend_from_slice(&bytes[given..end]);
            given = end;
            loop {
                let (n, item) = incoming.next(&mut buffer, window).map_err(|closing| closing.code)?;
                let text = |range: Range<usize>| String::from_utf8_lossy(&buffer[range]).into_owned();
                let end = |part: &MessagePart| if part.ends { "." } else { "" };
                match item {
                    Some(ClientItem::Text(part)) => {
                        said.push(format!("1:{}{}", text(part.bytes.clone()), end(&part)));
                    }
                    Some(ClientItem::Binary(part)) => {
                        said.push(format!("2:{}{}", text(part.bytes.clone()), end(&part)));
                    }
                    Some(ClientItem::Ping(range)) => said.push(format!("ping {}", text(range))),
                    Some(ClientItem::Pong) => said.push("pong".to_owned()),
                    Some(ClientItem::Close(range)) => said.push(format!("close {}", range.len())),
                    None if n == 0 => break,
                    None => {}
                }
                buffer.drain(..n);
            }
        }
        bytes.clear();
        Ok(said.join(" "))
    }

    #[track_caller]
    fn check(frames: &[Vec<u8>], expect: Result<&str, u16>) {
        let got = read(frames.concat(), usize::MAX / 2, usize::MAX);
        assert_eq!(got.as_deref().map_err(|code| *code), expect);
    }

    #[test]
    fn messages_come_whole_or_in_fragments_with_control_frames_between() {
        check(&[frame(0x81, b"hello"), frame(0x82, b"bin")], Ok("1:hello. 2:bin."));
        check(
            &[frame(0x01, b"he"), frame(0x89, b"?"), frame(0x00, b"l"), frame(0x8a, b""), frame(0x80, b"lo")],
            Ok("1:he ping ? 1:l pong 1:lo."),
        );
        check(&[frame(0x81, b""), frame(0x88, b"\x03\xe8bye")], Ok("1:. close 5"));
        check(&[frame(0x02, b""), frame(0x80, b"")], Ok("2:."));
    }

    /// The checked bytes that are passed on, in short, some at a time.
    fn pass(bytes: &[u8], step: usize) -> Result<String, u16> {
        let (mut incoming, mut buffer) = (ClientFrames::new(1000), Vec::new());
        let (mut passed, mut said) = (Vec::new(), String::new());
        for piece in bytes.chunks(step) {
            buffer.extend_from_slice(piece);
            loop {
                let (n, control) = incoming.check(&buffer).map_err(|closing| closing.code)?;
                match control {
                    Some((kind, payload)) => {
                        said += &format!("{kind} {} ", String::from_utf8_lossy(&payload));
                    }
                    None => passed.extend_from_slice(&buffer[..n]),
                }
                buffer.drain(..n);
                if n == 0 {
                    break;
                }
            }
        }
        assert!(!said.is_empty() || passed == bytes);
        Ok(said)
    }

    #[test]
    fn frames_that_are_passed_on_keep_the_rules_too() {
        let message = [frame(0x01, b"he"), frame(0x00, b"l"), frame(0x80, b"lo"), frame(0x82, b"")].concat();
        assert_eq!(pass(&message, 1).as_deref(), Ok(""));
        assert_eq!(pass(&message, 7).as_deref(), Ok(""));
        let control =
            [frame(0x89, b"?"), frame(0x82, b"x"), frame(0x8a, b""), frame(0x88, b"\x03\xe8bye")].concat();
        for step in [1, 5, 100] {
            assert_eq!(pass(&control, step).as_deref(), Ok("PING ? PONG  CLOSE \u{3}\u{fffd}bye "));
        }
        let bad: [&[u8]; 6] = [
            &[0x81, 0x01, b'x'],
            &frame(0xc1, b"x"),
            &frame(0x80, b"x"),
            &[frame(0x01, b"x"), frame(0x81, b"y")].concat(),
            &frame(0x09, b"x"),
            &frame(0x88, b"\x03\xed"),
        ];
        for bad in bad {
            assert_eq!((pass(bad, 1), pass(bad, 100)), (Err(1002), Err(1002)), "{bad:?}");
        }
        assert_eq!(pass(&[0x82, 0xfe, 4, 0, 0, 0, 0, 0], 3), Err(1009));
        let extended = frame(0xc1, b"x");
        assert_eq!(ClientFrames::new(1000).extended(true).check(&extended), Ok((extended.len(), None)));
    }

    #[test]
    fn bytes_may_come_one_by_one_and_go_through_a_small_window() {
        let frames = [frame(0x81, b"hello"), frame(0x89, b"p"), frame(0x82, b"x")].concat();
        assert_eq!(read(frames.clone(), 1, 9).unwrap(), "1:h 1:e 1:l 1:l 1:o. ping p 2:x.");
        assert_eq!(read(frames, 100, 2).unwrap(), "1:he 1:ll 1:o. ping p 2:x.");
    }

    #[test]
    fn who_breaks_the_rules_is_told_why() {
        check(&[vec![0x81, 0x01, b'x']], Err(1002)); // not masked
        check(&[frame(0xc1, b"x")], Err(1002)); // reserved bit
        check(&[frame(0x83, b"x")], Err(1002)); // reserved opcode
        check(&[frame(0x8b, b"x")], Err(1002));
        check(&[frame(0x80, b"x")], Err(1002)); // nothing to continue
        check(&[frame(0x01, b"x"), frame(0x81, b"y")], Err(1002));
        check(&[frame(0x09, b"x")], Err(1002)); // divided control frame
        check(&[vec![0x89, 0xfe, 0, 126, 0, 0, 0, 0]], Err(1002)); // long control frame
        check(&[vec![0x82, 0xfe, 4, 0, 0, 0, 0, 0]], Err(1009));
        check(&[frame(0x88, b"x")], Err(1002));
        for code in [0_u16, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535] {
            check(&[frame(0x88, &code.to_be_bytes())], Err(1002));
        }
        for code in [1000_u16, 1003, 1007, 1014, 3000, 4999] {
            check(&[frame(0x88, &code.to_be_bytes())], Ok("close 2"));
        }
        check(&[frame(0x88, b"\x03\xe8\xff")], Err(1007));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_say_the_same_however_they_come(
            options: u8,
            frames in proptest::collection::vec((proptest::num::u8::ANY, ".{0,20}"), 0..6),
        ) {
            let frames = frames.iter().map(|(first, payload)| frame(first & 0x8f, payload.as_bytes()));
            crate::fuzz::fuzz_websocket(&[vec![options], frames.flatten().collect()].concat());
        }
    }
}
