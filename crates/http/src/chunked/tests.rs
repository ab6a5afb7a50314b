//! Chunked bodies: good and bad ones, limits, and every way to split them.

use super::*;

/// A body, and the decoded text with what is left over, or the error; split at every boundary.
#[track_caller]
fn check(body: &str, expect: Result<(&str, &str), ChunkError>) {
    let mut data = vec![0];
    data.extend_from_slice(body.as_bytes());
    for step in 1..=body.len().min(255) {
        data[0] = step as u8;
        crate::fuzz::fuzz_chunked(&data);
    }
    let mut out = Vec::new();
    let result = ChunkDecoder::new(300).decode(body.as_bytes(), &mut out, usize::MAX).map(|decoded| {
        assert!(decoded.done, "{body:?} is not complete");
        (std::str::from_utf8(&out).expect("ASCII"), &body[decoded.consumed..])
    });
    assert_eq!(result, expect, "{body:?}");
}

#[test]
fn chunks_are_joined() {
    check("0\r\n\r\n", Ok(("", "")));
    check("5\r\nhello\r\n0\r\n\r\nGET /", Ok(("hello", "GET /")));
    check("5\r\nhello\r\n00A\r\n, world!!!\r\n000\r\n\r\n", Ok(("hello, world!!!", "")));
    check("2\r\n\r\n\r\n0\r\n\r\n", Ok(("\r\n", "")));
}

#[test]
fn extensions_and_trailers_are_discarded() {
    check("3;x=1\r\nabc\r\n0;y\r\n\r\n", Ok(("abc", "")));
    check("3 ; x = \"a;b\"\r\nabc\r\n0\r\n\r\n", Ok(("abc", "")));
    check("1\r\na\r\n0\r\nA: b\r\nContent-Length: 5\r\nC:\r\n\r\nrest", Ok(("a", "rest")));
}

#[test]
fn trailers_are_kept_for_who_wants_them() {
    let body = b"1\r\na\r\n0\r\nA: b\r\nLong:\tc d \r\nC:\r\n\r\nrest";
    let mut decoder = ChunkDecoder::new(300).keeping_trailers();
    // Byte by byte, as they may come.
    for byte in body {
        decoder.decode(&[*byte], &mut Vec::new(), usize::MAX).unwrap();
    }
    let expected: [(&[u8], &[u8]); 3] = [(b"A", b"b"), (b"Long", b"c d"), (b"C", b"")];
    assert!(decoder.trailers().eq(expected));
    assert_eq!(ChunkDecoder::new(300).trailers().count(), 0);
}

#[test]
fn sizes_are_plain_hexadecimal() {
    for body in ["", "x", "-1", "+1", "0x1", " 1", "\r\n", ";a\r\n", "g\r\n", "1g\r\n", "1_0\r\n", "1.0\r\n"]
    {
        if !body.is_empty() {
            check(body, Err(ChunkError::BadSize));
        }
    }
    check("00000000000000001\r\na\r\n", Err(ChunkError::BadSize));
    check("10000000000000000\r\n", Err(ChunkError::BadSize));
    check("0000000000000001\r\na\r\n0\r\n\r\n", Ok(("a", "")));
}

#[test]
fn lines_end_with_crlf_only() {
    check("1\na\r\n0\r\n\r\n", Err(ChunkError::BadLineEnd));
    check("1\r\na\n0\r\n\r\n", Err(ChunkError::BadLineEnd));
    check("1\r\nab\r\n0\r\n\r\n", Err(ChunkError::BadLineEnd));
    check("1\rXa", Err(ChunkError::BadLineEnd));
    check("1\r\na\rX", Err(ChunkError::BadLineEnd));
    check("0\r\n\n", Err(ChunkError::BadLineEnd));
    check("0\r\n\rX", Err(ChunkError::BadLineEnd));
    check("0\r\nA: b\n\r\n", Err(ChunkError::BadLineEnd));
    check("1;a\nb\r\n", Err(ChunkError::BadLineEnd));
}

#[test]
fn malformed_extensions_are_refused() {
    check("1 \r\na\r\n", Err(ChunkError::BadExtension));
    check("1 a\r\n", Err(ChunkError::BadExtension));
    check("1;a\0\r\n", Err(ChunkError::BadExtension));
    check("1;a\x7f\r\n", Err(ChunkError::BadExtension));
    check(&format!("1;{}\r\n", "a".repeat(5000)), Err(ChunkError::ExtensionsTooLong));
    check(
        &"1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\na\r\n".repeat(90),
        Err(ChunkError::ExtensionsTooLong),
    );
}

#[test]
fn malformed_trailers_are_refused() {
    check("0\r\nA\r\n", Err(ChunkError::BadTrailer));
    check("0\r\nA : b\r\n", Err(ChunkError::BadTrailer));
    check("0\r\n A: b\r\n", Err(ChunkError::BadTrailer));
    check("0\r\n: b\r\n", Err(ChunkError::BadTrailer));
    check("0\r\nA: b\0\r\n", Err(ChunkError::BadTrailer));
    check("0\r\nA: b\r\n folded\r\n", Err(ChunkError::BadTrailer));
    check(&format!("0\r\nA: {}\r\n", "b".repeat(5000)), Err(ChunkError::TrailersTooLong));
}

#[test]
fn a_body_may_not_outgrow_its_limit() {
    check(&format!("12c\r\n{}\r\n0\r\n\r\n", "a".repeat(300)), Ok((&"a".repeat(300), "")));
    check("12d\r\n", Err(ChunkError::BodyTooLarge));
    check("ffffffffffffffff\r\n", Err(ChunkError::BodyTooLarge));
    check(&format!("c8\r\n{}\r\n65\r\n", "a".repeat(200)), Err(ChunkError::BodyTooLarge));
}

#[test]
fn an_unfinished_body_is_not_done() {
    for body in ["5\r\nhel", "5\r\nhello", "5\r\nhello\r\n0\r\n", "0\r\n\r", "0\r\nA: b\r\n", "5"] {
        let mut out = Vec::new();
        let mut decoder = ChunkDecoder::new(300);
        let decoded = decoder.decode(body.as_bytes(), &mut out, usize::MAX).expect("a good beginning");
        assert_eq!(decoded, Decoded { consumed: body.len(), done: false }, "{body:?}");
    }
}

#[test]
fn the_heads_of_chunks_are_hexadecimal() {
    for len in [1, 9, 10, 15, 16, 255, 4096, 1 << 20, usize::MAX] {
        assert_eq!(ChunkHead::new(len).as_bytes(), format!("{len:x}\r\n").as_bytes());
    }
}
