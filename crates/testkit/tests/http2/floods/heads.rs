//! Heads that are larger than they look, or never end.

use corral_testkit::{Frame, flag, kind, remembered};

use super::{stream, target};

/// A field that no table remembers, with so long a value.
fn literal(length: u8) -> Vec<u8> {
    let mut field = vec![0, 1, b'x', length];
    field.resize(4 + usize::from(length), b'a');
    field
}

/// The first fields of a GET: `:method`, `:scheme`, `:path` by the static table, `:authority: a`.
const GET: [u8; 6] = [0x82, 0x86, 0x84, 0x01, 1, b'a'];

/// CVE-2024-27316 and its like.
#[test]
fn continuations_without_an_end() {
    let target = target();
    let block = literal(100).repeat(100);
    let n_refused = target.flood(&[], |turn| match turn {
        0 => Frame::new(kind::HEADERS, flag::END_STREAM, 1, GET).encode(),
        _ => Frame::new(kind::CONTINUATION, 0, 1, block.clone()).encode(),
    });
    assert_ne!(n_refused, 0);
}

#[test]
fn empty_continuations_without_an_end() {
    let target = target();
    let n_refused = target.flood(&[], |turn| match turn {
        0 => Frame::new(kind::HEADERS, flag::END_STREAM, 1, GET).encode(),
        _ => Frame::new(kind::CONTINUATION, 0, 1, []).encode().repeat(500),
    });
    assert_ne!(n_refused, 0);
}

/// A field of 4 KB enters the table once, and a byte names it again: 8 KB of a head would be 32 MB of fields. The
/// responses cannot leave, as their windows are closed.
#[test]
fn references_with_a_closed_window() {
    let target = target();
    let value = remembered("x", &"a".repeat(4000));
    target.flood(&[(4, 0)], |turn| {
        let head = |references: usize| [&GET[..], &vec![0xbe; references]].concat();
        let frame =
            |id, block| Frame::new(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, id, block).encode();
        match turn {
            0 => frame(1, [&GET[..], &value].concat()),
            _ => (0..20).flat_map(|n| frame(stream(turn * 20 + n), head(8000))).collect(),
        }
    });
}

/// Heads just below what is allowed, on as many streams as there may be, whose responses cannot leave.
#[test]
fn large_ones_with_a_closed_window() {
    let target = target();
    let block = [&GET[..], &literal(120).repeat(60)].concat();
    target.flood(&[(4, 0)], |turn| {
        let streams = (turn * 20..(turn + 1) * 20).map(stream);
        let frame = |id| Frame::new(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, id, block.clone());
        streams.flat_map(|id| frame(id).encode()).collect()
    });
}

/// Settings number 1: how large a table the other side may have. Fields that change the table all the time.
#[test]
fn changes_of_the_table() {
    let target = target();
    target.flood(&[(1, u32::MAX)], |turn| {
        let sizes = [0x20, 0x3f, 0xe1, 0x1f];
        let block = [&sizes[..], &GET].concat();
        let streams = (turn * 20..(turn + 1) * 20).map(stream);
        let frame = |id| Frame::new(kind::HEADERS, flag::END_STREAM | flag::END_HEADERS, id, block.clone());
        streams.flat_map(|id| frame(id).encode()).collect()
    });
}
