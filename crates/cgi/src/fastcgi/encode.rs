//! Records on their way to a server.

use super::{FIRST, HEADER, VERSION, kind};

/// Longest content of a record, a multiple of eight as some servers like it.
const MAX_CONTENT: usize = 0xfff8;

/// Appends the record that begins a request. With `keep` the server leaves the connection open behind it.
pub fn append_begin(keep: bool, out: &mut Vec<u8>) {
    const RESPONDER: [u8; 2] = [0, 1];
    out.extend_from_slice(&header(kind::BEGIN_REQUEST, 8));
    out.extend_from_slice(&RESPONDER);
    out.extend_from_slice(&[u8::from(keep), 0, 0, 0, 0, 0]);
}

/// Appends a name and its value as `append_params` takes them.
pub fn append_pair(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    append_length(name.len(), out);
    append_length(value.len(), out);
    out.extend_from_slice(name);
    out.extend_from_slice(value);
}

/// One byte if it is enough, else four with the highest bit set. Nothing in memory here is longer than 31 bits can say.
fn append_length(len: usize, out: &mut Vec<u8>) {
    match u8::try_from(len) {
        Ok(len @ 0..=0x7f) => out.push(len),
        _ => out.extend_from_slice(&(u32::try_from(len).unwrap_or(u32::MAX) | 1 << 31).to_be_bytes()),
    }
}

/// Most bytes of names and values that all servers understand: php-fpm reads each record for itself.
pub const MAX_PARAMS: usize = MAX_CONTENT;

/// Appends the records of these names and values, and the one that says that there are no more.
pub fn append_params(pairs: &[u8], out: &mut Vec<u8>) {
    for piece in pairs.chunks(MAX_CONTENT) {
        out.extend_from_slice(&header(kind::PARAMS, piece.len()));
        out.extend_from_slice(piece);
    }
    out.extend_from_slice(&header(kind::PARAMS, 0));
}

/// Makes whole records, as they were appended here, those of another request.
pub fn set_request_id(id: u16, records: &mut [u8]) {
    let mut rest = records;
    while let Some((header, behind)) = rest.split_first_chunk_mut::<HEADER>() {
        let len = usize::from(u16::from_be_bytes([header[4], header[5]])) + usize::from(header[6]);
        [header[2], header[3]] = id.to_be_bytes();
        rest = behind.get_mut(len..).unwrap_or_default();
    }
}

fn header(kind: u8, len: usize) -> [u8; HEADER] {
    debug_assert!(len <= MAX_CONTENT, "a record of {len} bytes");
    let [id_high, id_low] = FIRST.to_be_bytes();
    let [.., len_high, len_low] = len.to_be_bytes();
    [VERSION, kind, id_high, id_low, len_high, len_low, 0, 0]
}

/// A body on its way: what of it may go next, and the framing in front of that.
#[derive(Debug)]
pub struct Stdin {
    /// The number of the request.
    request: u16,
    header: [u8; HEADER],
    /// Bytes of the header that were not sent.
    n_framing: usize,
    /// Bytes of the record's content that were not sent.
    n_content: usize,
    /// The last record has begun.
    is_closed: bool,
}

impl Default for Stdin {
    /// For the first request on a connection.
    fn default() -> Self {
        Self::of_request(FIRST)
    }
}

impl Stdin {
    /// For the request with this number.
    #[must_use]
    pub fn of_request(request: u16) -> Self {
        Self { request, header: [0; HEADER], n_framing: 0, n_content: 0, is_closed: false }
    }

    /// The next bytes to send, if so many bytes of the body are at hand: framing, then so many of these bytes.
    /// `is_last` when none follow them. Both are nothing when there is nothing to send.
    pub fn next(&mut self, available: usize, is_last: bool) -> (&[u8], usize) {
        if self.n_framing == 0 && self.n_content == 0 && !self.is_closed && (available > 0 || is_last) {
            let len = available.min(MAX_CONTENT);
            self.header = header(kind::STDIN, len);
            set_request_id(self.request, &mut self.header);
            (self.n_framing, self.n_content) = (HEADER, len);
            self.is_closed = len == 0;
        }
        (&self.header[HEADER - self.n_framing..], self.n_content.min(available))
    }

    /// So many bytes of what `next` said were sent. Returns how many of them were the body's.
    pub fn advance(&mut self, n: usize) -> usize {
        let n_framing = n.min(self.n_framing);
        let n_content = (n - n_framing).min(self.n_content);
        self.n_framing -= n_framing;
        self.n_content -= n_content;
        n_content
    }

    /// Whether everything was sent, the record that closes the stream included.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.is_closed && self.n_framing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_begins_with_its_role_and_whether_to_keep_the_connection() {
        let mut out = Vec::new();
        append_begin(false, &mut out);
        append_begin(true, &mut out);
        let record = |keep| [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, keep, 0, 0, 0, 0, 0];
        assert_eq!(out, [record(0), record(1)].concat());
    }

    #[test]
    fn records_become_those_of_another_request() {
        let pairs = vec![b'x'; MAX_CONTENT + 3];
        let mut out = Vec::new();
        append_begin(true, &mut out);
        append_params(&pairs, &mut out);
        let first = out.clone();
        set_request_id(0x0203, &mut out);
        let ids = [0, 16, 16 + 8 + MAX_CONTENT, out.len() - 8].map(|at| [out[at + 2], out[at + 3]]);
        assert_eq!(ids, [[2, 3]; 4]);
        set_request_id(1, &mut out);
        assert!(out == first, "nothing else has changed");
        assert_eq!(Stdin::of_request(0x0203).next(0, true).0, [1, 5, 2, 3, 0, 0, 0, 0]);
        set_request_id(1, &mut out[..3]);
    }

    #[test]
    fn lengths_take_one_byte_or_four() {
        let mut out = Vec::new();
        append_pair(b"A", &[b'x'; 127], &mut out);
        assert_eq!(out[..3], [1, 127, b'A']);
        out.clear();
        append_pair(b"AB", &[b'x'; 128], &mut out);
        assert_eq!(out[..7], [2, 0x80, 0, 0, 128, b'A', b'B']);
        assert_eq!(out.len(), 7 + 128);
    }

    #[test]
    fn many_parameters_take_several_records() {
        let mut out = Vec::new();
        append_params(&[b'x'; MAX_CONTENT + 1], &mut out);
        assert_eq!(out[..8], [1, 4, 0, 1, 0xff, 0xf8, 0, 0]);
        assert_eq!(out[8 + MAX_CONTENT..], [1, 4, 0, 1, 0, 1, 0, 0, b'x', 1, 4, 0, 1, 0, 0, 0, 0]);
    }

    /// Sends a body, of which pieces of these sizes come, so many bytes at a time; the records that leave.
    #[track_caller]
    fn check(pieces: &[usize], step: usize, records: &[usize]) {
        let mut stdin = Stdin::default();
        let (mut sent, mut at_hand) = (Vec::new(), 0);
        let mut pieces = pieces.iter();
        while !stdin.is_sent() {
            let (framing, n_content) = stdin.next(at_hand, pieces.len() == 0);
            let all = [framing, &vec![b'x'; n_content]].concat();
            if all.is_empty() {
                at_hand += pieces.next().expect("there is something to send, or more to come");
                continue;
            }
            let n = step.min(all.len());
            sent.extend_from_slice(&all[..n]);
            at_hand -= stdin.advance(n);
        }
        let mut expect = Vec::new();
        for &len in records {
            expect.extend_from_slice(&header(kind::STDIN, len));
            expect.extend(vec![b'x'; len]);
        }
        assert!(sent == expect, "{pieces:?} in steps of {step}");
    }

    #[test]
    fn bodies_become_records_however_the_socket_takes_them() {
        for step in [1, 3, 8, 9, 100_000] {
            check(&[], step, &[0]);
            check(&[5], step, &[5, 0]);
            check(&[5, 7], step, &[5, 7, 0]);
            check(&[MAX_CONTENT + 2], step, &[MAX_CONTENT, 2, 0]);
        }
    }
}
