//! What a client sends on a WebSocket connection. Pure: bytes go in, parts of messages and control frames come out.

use std::ops::Range;

use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

use super::frames::{Closing, LONGEST_CONTROL, parse_head};

/// Something that the client has said. Ranges are of the bytes that were given.
#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    /// A part of a text.
    Text(Part),
    /// A part of a message of bytes.
    Binary(Part),
    /// Asks for a pong.
    Ping(Range<usize>),
    /// Answers a ping, or is a sign of life.
    Pong,
    /// The client will say nothing more.
    Close(Range<usize>),
}

/// What there is of a message.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// A range of the bytes that were given.
    pub bytes: Range<usize>,
    /// True for the last part of a message.
    pub ends: bool,
}

/// A frame whose payload is being read.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// That of its message: text or binary.
    opcode: Data,
    is_final: bool,
    /// Of the next byte, and those behind it.
    mask: [u8; 4],
    left: u64,
}

/// The state between two frames, or within one.
#[derive(Debug)]
pub struct Incoming {
    max_frame: u64,
    frame: Option<Frame>,
    /// Of the message that is not complete.
    message: Option<Data>,
}

impl Incoming {
    /// The state at the beginning. Frames may have `max_frame` bytes of payload.
    #[must_use]
    pub fn new(max_frame: u64) -> Self {
        Self { max_frame, frame: None, message: None }
    }

    /// Reads one item from the beginning of `bytes`, at most `window` bytes of a message. Returns how many bytes are
    /// done with; when there is no item, more has to come first.
    ///
    /// # Errors
    /// When the client breaks the rules: the connection is to be closed.
    pub fn next(&mut self, bytes: &mut [u8], window: usize) -> Result<(usize, Option<Item>), Closing> {
        if let Some(frame) = self.frame {
            return Ok(self.part(frame, bytes, 0, window));
        }
        let Some((head, len, n_head)) = parse_head(bytes)? else { return Ok((0, None)) };
        let mask = head.mask.ok_or(Closing::protocol("a frame is not masked"))?;
        if head.rsv1 || head.rsv2 || head.rsv3 {
            return Err(Closing::protocol("a reserved bit is set"));
        }
        let OpCode::Data(data) = head.opcode else {
            return control(&head, len, mask, bytes, n_head);
        };
        let frame = self.begin(&head, data, len, mask)?;
        let (n, item) = self.part(frame, bytes, n_head, window);
        Ok((n, item))
    }

    fn begin(&mut self, head: &FrameHeader, data: Data, left: u64, mask: [u8; 4]) -> Result<Frame, Closing> {
        if left > self.max_frame {
            return Err(Closing { code: 1009, reason: "frame too big" });
        }
        let opcode = match (data, self.message) {
            (Data::Continue, Some(opcode)) => opcode,
            (Data::Text | Data::Binary, None) => data,
            (Data::Continue, None) => return Err(Closing::protocol("nothing to continue")),
            (Data::Text | Data::Binary, Some(_)) => {
                return Err(Closing::protocol("a message within another"));
            }
            (Data::Reserved(_), _) => return Err(Closing::protocol("unknown opcode")),
        };
        Ok(Frame { opcode, is_final: head.is_final, mask, left })
    }

    /// Takes what is there of a frame's payload, from `start` on.
    fn part(
        &mut self,
        mut frame: Frame,
        bytes: &mut [u8],
        start: usize,
        window: usize,
    ) -> (usize, Option<Item>) {
        let there = bytes.len() - start;
        let n = there.min(window).min(usize::try_from(frame.left).unwrap_or(usize::MAX));
        let range = start..start + n;
        unmask(&mut bytes[range.clone()], frame.mask);
        frame.mask.rotate_left(n % 4);
        frame.left -= n as u64;
        let is_complete = frame.left == 0;
        let ends = is_complete && frame.is_final;
        self.frame = (!is_complete).then_some(frame);
        self.message = (!ends).then_some(frame.opcode);
        let says_something = n > 0 || ends;
        let end = range.end;
        let part = Part { bytes: range, ends };
        let item = if frame.opcode == Data::Text { Item::Text(part) } else { Item::Binary(part) };
        (end, says_something.then_some(item))
    }
}

/// A whole control frame: they are short, and not divided.
fn control(
    head: &FrameHeader,
    len: u64,
    mask: [u8; 4],
    bytes: &mut [u8],
    n_head: usize,
) -> Result<(usize, Option<Item>), Closing> {
    if !head.is_final || len > LONGEST_CONTROL {
        return Err(Closing::protocol("a control frame is divided or too long"));
    }
    let range = n_head..n_head + len as usize;
    let Some(payload) = bytes.get_mut(range.clone()) else { return Ok((0, None)) };
    unmask(payload, mask);
    let item = match head.opcode {
        OpCode::Control(Control::Ping) => Item::Ping(range.clone()),
        OpCode::Control(Control::Pong) => Item::Pong,
        OpCode::Control(Control::Close) => {
            check_close(payload)?;
            Item::Close(range.clone())
        }
        OpCode::Control(Control::Reserved(_)) | OpCode::Data(_) => {
            return Err(Closing::protocol("unknown opcode"));
        }
    };
    Ok((range.end, Some(item)))
}

/// RFC 6455 section 7.4.
fn check_close(payload: &[u8]) -> Result<(), Closing> {
    let [high, low, reason @ ..] = payload else {
        let is_empty = payload.is_empty();
        return if is_empty { Ok(()) } else { Err(Closing::protocol("half a close code")) };
    };
    let is_allowed = match u16::from_be_bytes([*high, *low]) {
        1004..=1006 | 1015..=2999 => false,
        code => (1000..5000).contains(&code),
    };
    if !is_allowed {
        return Err(Closing::protocol("invalid close code"));
    }
    std::str::from_utf8(reason).map_err(|_| Closing { code: 1007, reason: "a reason is not UTF-8" })?;
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
        let mut incoming = Incoming::new(1000);
        let mut said = Vec::new();
        let (mut given, mut buffer) = (0, Vec::new());
        while given < bytes.len() {
            let end = bytes.len().min(given + step);
            buffer.extend_from_slice(&bytes[given..end]);
            given = end;
            loop {
                let (n, item) = incoming.next(&mut buffer, window).map_err(|closing| closing.code)?;
                let text = |range: Range<usize>| String::from_utf8_lossy(&buffer[range]).into_owned();
                let end = |part: &Part| if part.ends { "." } else { "" };
                match item {
                    Some(Item::Text(part)) => {
                        said.push(format!("1:{}{}", text(part.bytes.clone()), end(&part)));
                    }
                    Some(Item::Binary(part)) => {
                        said.push(format!("2:{}{}", text(part.bytes.clone()), end(&part)));
                    }
                    Some(Item::Ping(range)) => said.push(format!("ping {}", text(range))),
                    Some(Item::Pong) => said.push("pong".to_owned()),
                    Some(Item::Close(range)) => said.push(format!("close {}", range.len())),
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
