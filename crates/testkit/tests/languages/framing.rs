//! Responses that an application has framed itself, where its interface leaves it that.

use corral_testkit::Request;

use crate::runtime::Runtime;

/// `/framed` for these pieces.
fn framed(pieces: &str) -> Request {
    Request::get(&format!("/framed?{}", pieces.replace("\r\n", "%0D%0A").replace(' ', "%20")))
}

/// A body that the application has framed itself is unwrapped; one that it only declares as chunked stays as it is.
pub(crate) fn taken_apart(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    for (pieces, content) in [
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5\r\nhel~lo\r\n6;x=1\r\n world~\r\n~0\r\n\r\n", "hello world"),
        ("5~\r\nhello\r\n0\r\n~\r\n", "hello"),
        ("0\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n~more", "hello"),
        ("no chunks\r\n~and more", "no chunks\r\nand more"),
        ("a", "a"),
    ] {
        let response = client.send(&framed(pieces)).expect(200);
        assert_eq!(response.text(), content, "{pieces:?}");
    }
    for habit in ["has no chunks", "goes on behind the last chunk"] {
        server.expect_log(habit);
        assert_eq!(server.log().matches(habit).count(), 1, "{}", server.log());
    }
}

/// For `HEAD`, for HTTP/1.0, and for clients that want to see what is behind the last chunk.
pub(crate) fn for_others(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    let pieces = "5\r\nhello\r\n~0\r\nX-After: yes\r\n\r\n";
    let request = framed(pieces);
    let head = String::from_utf8(request.encode()).expect("requests are text").replacen("GET", "HEAD", 1);
    client.write(head);
    let answer = client.try_read_response_to("HEAD").expect("there is a reply").expect(200);
    assert_eq!(answer.text(), "");
    client.send(&framed(pieces)).expect(200).expect_body("hello");
    client.write(framed(pieces).field("TE", "trailers").encode());
    let answer = client.read_until_text("\r\n0\r\nX-After: yes\r\n\r\n");
    assert!(answer.contains("hello\r\n"), "{answer}");
    let old = String::from_utf8(framed(pieces).encode())
        .expect("requests are text")
        .replacen("HTTP/1.1", "HTTP/1.0", 1);
    client.write(old);
    let answer = String::from_utf8(client.read_to_end()).expect("replies are text");
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
}

/// The client sees that something is missing.
pub(crate) fn broken(runtime: &Runtime) {
    let server = runtime.serve();
    for (pieces, reason) in [
        ("5\r\nhello\r\n~ZZ", "badly framed: invalid chunk size"),
        ("5\r\nhello!\r\n~0\r\n\r\n", "badly framed: chunk does not end with CRLF"),
        ("5\r\nhello\r\n", "badly framed: its last chunk is missing"),
    ] {
        let mut client = server.begin(&framed(pieces).field("Connection", "close"));
        let answer = String::from_utf8(client.read_to_end()).expect("replies are text");
        let is_told = answer.starts_with("HTTP/1.1 503") || !answer.ends_with("0\r\n\r\n");
        assert!(is_told, "{pieces:?} is taken for a response: {answer}");
        server.expect_log(reason);
    }
    server.get("/pid").expect(200);
}
