//! How much of what a client has sent is handled in one turn of its connection, by the frames that it consists of: a
//! few kilobytes may be hundreds of frames, and other connections wait meanwhile.

/// The connection preface (RFC 9113 section 3.4) in bytes, which is not a frame.
const PREFACE: u32 = 24;

/// A frame's header (RFC 9113 section 4.1) in bytes: three of length, one of type, then flags and stream.
const HEADER: u8 = 9;

/// Work of one turn, where the cheapest frame is 1. A turn ends with the frame that uses the last of it up.
const PER_TURN: u32 = 64;

/// Work of one read.
const READ: u32 = 4;

/// Work of a frame of this type (RFC 9113 section 6).
fn work_of(kind: u8) -> u32 {
    match kind {
        // HEADERS: a request is decoded, and its task is begun.
        0x1 => 2,
        // SETTINGS: may change the windows of all streams, and is acknowledged.
        0x4 => 12,
        // PING, which is answered, and WINDOW_UPDATE, by which a stream goes on with its reply.
        0x6 | 0x8 => 4,
        _ => 1,
    }
}

/// The place of a connection in its input, and the work that is left for this turn.
#[derive(Debug)]
pub(super) struct TurnBudget {
    left: u32,
    /// The last read of this turn has left nothing behind.
    may_read: bool,
    /// Bytes until the next frame's header.
    n_payload: u32,
    /// Bytes of a header that were passed, and the first four of them: length and type.
    n_header: u8,
    header: u32,
}

impl Default for TurnBudget {
    fn default() -> Self {
        Self { left: PER_TURN, may_read: true, n_payload: PREFACE, n_header: 0, header: 0 }
    }
}

impl TurnBudget {
    /// All the work of a turn may be done again.
    pub(super) fn end_turn(&mut self) {
        (self.left, self.may_read) = (PER_TURN, true);
    }

    /// Whether something more is read in this turn.
    pub(super) fn may_read(&self) -> bool {
        self.may_read && self.left > 0
    }

    /// Something was read; with as much as there was room for, it was the last of this turn.
    pub(super) fn note_read(&mut self, is_full: bool) {
        self.left = self.left.saturating_sub(READ);
        self.may_read = !is_full;
    }

    /// How many of these bytes, which come next, are handled in this turn.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while let Some((&first, behind)) = rest.split_first() {
            if self.n_payload > 0 {
                let n = rest.len().min(self.n_payload as usize);
                self.n_payload -= n as u32;
                rest = &rest[n..];
                continue;
            }
            if self.n_header == 0 && self.left == 0 {
                break;
            }
            if self.n_header < 4 {
                self.header = self.header << 8 | u32::from(first);
            }
            self.n_header += 1;
            rest = behind;
            if self.n_header == HEADER {
                let [_, _, _, kind] = self.header.to_be_bytes();
                self.left = self.left.saturating_sub(work_of(kind));
                (self.n_payload, self.n_header) = (self.header >> 8, 0);
            }
        }
        bytes.len() - rest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, len: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, len, kind, 0, 0, 0, 0, 1];
        frame.resize(frame.len() + usize::from(len), b'x');
        frame
    }

    /// How many of these bytes pass in each turn, which come in pieces of this size behind the preface.
    fn turns(bytes: &[u8], size: usize) -> Vec<usize> {
        let mut pace = TurnBudget::default();
        assert_eq!(pace.pass(&[b'p'; PREFACE as usize]), PREFACE as usize);
        let (mut rest, mut turns) = (bytes, Vec::new());
        while !rest.is_empty() {
            pace.end_turn();
            let before = rest.len();
            loop {
                let n = pace.pass(&rest[..rest.len().min(size)]);
                rest = &rest[n..];
                if n == 0 || rest.is_empty() {
                    break;
                }
            }
            turns.push(before - rest.len());
        }
        turns
    }

    #[test]
    fn a_turn_ends_between_two_frames() {
        let (cheap, dear) = (frame(0x0, 3), frame(0x4, 0));
        for size in [1, 2, 8, 9, 10, 13, 4096] {
            let n_cheap = PER_TURN as usize * cheap.len();
            assert_eq!(turns(&cheap.repeat(130), size), [n_cheap, n_cheap, 2 * cheap.len()], "{size}");
            let n_dear = PER_TURN.div_ceil(work_of(0x4)) as usize * dear.len();
            assert_eq!(turns(&dear.repeat(13), size), [n_dear, n_dear, dear.len()], "{size}");
        }
    }

    #[test]
    fn a_large_frame_is_one() {
        let data = [&[0, 0x40, 0, 0, 0, 0, 0, 0, 1][..], &[b'x'; 0x4000]].concat();
        assert_eq!(turns(&data.repeat(3), 1000), [3 * data.len()]);
    }

    #[test]
    fn nothing_is_read_behind_a_full_read() {
        let mut pace = TurnBudget::default();
        pace.note_read(false);
        assert!(pace.may_read());
        pace.note_read(true);
        assert!(!pace.may_read());
        pace.end_turn();
        assert!(pace.may_read());
    }

    #[test]
    fn small_reads_come_to_an_end() {
        let mut pace = TurnBudget::default();
        (0..PER_TURN.div_ceil(READ)).for_each(|_| pace.note_read(false));
        assert!(!pace.may_read());
    }
}
