//! Answers in pieces of all sizes, and what the decoder makes of them.

use memchr::memmem::Finder;

use super::{Decoder, Malformed};
use crate::expect::Expectation;

/// The answer in words, wherever it is cut.
#[track_caller]
fn check(answer: &str, expected: &str) {
    check_request(false, answer, expected);
}

#[track_caller]
fn check_request(is_head: bool, answer: &str, expected: &str) {
    for size in 1..=answer.len() {
        assert_eq!(in_words(is_head, answer.as_bytes(), size), expected, "in pieces of {size}: {answer:?}");
    }
}

/// `status size kept rest`, or how far an answer is that does not end.
fn in_words(is_head: bool, answer: &[u8], size: usize) -> String {
    let expectation = Expectation {
        status: "2xx".parse().expect("it is a set"),
        body_size: None,
        text: Some(Finder::new("needle").into_owned()),
    };
    let mut decoder = Decoder::default();
    decoder.begin(is_head);
    let mut n_taken = 0;
    for piece in answer.chunks(size) {
        match decoder.take(piece, &expectation) {
            Ok(taken) => n_taken += taken,
            Err(Malformed) => return "malformed".to_owned(),
        }
        if decoder.is_done() {
            let rest = String::from_utf8_lossy(&answer[n_taken..]).into_owned();
            let fault = decoder.body().size();
            return format!("{} {fault} {} {rest:?}", decoder.status(), decoder.keeps_alive());
        }
    }
    let state = if decoder.ends_with_connection() { "until close" } else { "unfinished" };
    format!("{} {} {state}", decoder.status(), decoder.body().size())
}

#[test]
fn lengths_end_bodies() {
    check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200 3 true \"\"");
    check("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nmore", "200 0 true \"more\"");
    check("HTTP/1.1 404 X\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nab", "404 2 unfinished");
    check("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", "malformed");
    check("HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc", "malformed");
}

#[test]
fn chunks_end_bodies() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(&format!("{head}3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\n"), "200 13 true \"\"");
    check(&format!("{head}1\na\n0\nX-Trailer: 1\r\n\r\nrest"), "200 1 true \"rest\"");
    check(&format!("{head}3\r\nab"), "200 2 unfinished");
    check(&format!("{head}x\r\n"), "malformed");
    check(&format!("{head}1\r\nabc"), "malformed");
    check(&format!("{head}11111111111111111\r\n"), "malformed");
}

#[test]
fn a_body_without_a_length_lasts_until_the_end() {
    check("HTTP/1.1 200 OK\r\n\r\nabc", "200 3 until close");
}

#[test]
fn some_answers_have_no_body() {
    check("HTTP/1.1 204 No\r\n\r\n", "204 0 true \"\"");
    check("HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n", "304 0 true \"\"");
    check_request(true, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "200 0 true \"\"");
}

#[test]
fn interim_answers_are_skipped() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n";
    check(&format!("{interim}HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"), "200 1 true \"\"");
    check("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", "malformed");
}

#[test]
fn versions_and_headers_say_what_is_kept() {
    check("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "200 0 false \"\"");
    check("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", "200 0 true \"\"");
    check("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n", "200 0 false \"\"");
}

#[test]
fn nonsense_is_refused() {
    check("SSH-2.0-OpenSSH\r\n\r\n", "malformed");
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "X-Endless: 1\r\n".repeat(10_000));
    for size in [700, 70_000] {
        assert_eq!(in_words(false, endless.as_bytes(), size), "malformed");
    }
}

#[test]
fn a_head_in_many_pieces_is_cheap() {
    let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "y".repeat(60_000));
    assert_eq!(in_words(false, head.as_bytes(), 1), "200 0 true \"\"");
}
