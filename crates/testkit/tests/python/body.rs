//! `wsgi.input`: request bodies of any size, in all the ways that they may be read.

use corral_testkit::Request;
use serde_json::json;

use crate::answering;

#[track_caller]
fn check(code: &str, body: &str, expect: &serde_json::Value) {
    let (_site, server) = answering(&format!("input = environ['wsgi.input']\n{code}"));
    assert_eq!(server.send(&Request::post("/").body(body)).expect(200).json(), *expect, "{code}");
}

#[test]
fn input_is_read_as_a_file() {
    check("return input.read().decode()", "hello", &json!("hello"));
    check(
        "return [input.read(2).decode(), input.read(0).decode(), input.read(-1).decode(), input.read().decode()]",
        "hello",
        &json!(["he", "", "llo", ""]),
    );
    check("return [input.read(100).decode(), input.read(1).decode()]", "hello", &json!(["hello", ""]));
    let lines = "one\ntwo\n\nlast";
    check("return [line.decode() for line in input]", lines, &json!(["one\n", "two\n", "\n", "last"]));
    check(
        "return [line.decode() for line in input.readlines()]",
        lines,
        &json!(["one\n", "two\n", "\n", "last"]),
    );
    check("return [line.decode() for line in input.readlines(5)]", lines, &json!(["one\n", "two\n"]));
    check(
        "return [input.readline().decode(), input.readline(2).decode(), input.readline(10).decode(), \
        input.read().decode(), input.readline().decode()]",
        lines,
        &json!(["one\n", "tw", "o\n", "\nlast", ""]),
    );
}

#[test]
fn no_body_is_an_empty_one() {
    let (_site, server) = answering(
        "input = environ['wsgi.input']\nreturn [input.read().decode(), input.readline().decode(), input.readlines(), \
        list(input)]",
    );
    for _ in 0..2 {
        assert_eq!(server.get("/").expect(200).json(), json!(["", "", [], []]));
    }
    assert_eq!(server.send(&Request::post("/").body("")).expect(200).json(), json!(["", "", [], []]));
}

/// An application may keep what it was given; a later request must not be reached through it.
#[test]
fn what_is_kept_of_a_request_is_of_no_use_later() {
    let (_site, server) = crate::app(
        "
kept = []
def application(environ, start_response):
    found = []
    for use in kept:
        try:
            found.append(use())
        except Exception as error:
            found.append(type(error).__name__)
    kept.clear()
    write = start_response('200 OK', [])
    kept.extend([environ['wsgi.input'].read, lambda: write(b'stolen'), lambda: type(start_response('500 X', [])).__name__])
    return [repr(found).encode()]
",
    );
    server.send(&Request::post("/").body("first")).expect(200).expect_body("[]");
    let response = server.send(&Request::post("/").body("second")).expect(200);
    response.expect_body("['OSError', 'RuntimeError', 'Write']");
}
