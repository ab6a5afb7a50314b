//! Applications that fail: what the visitor sees, what the log says, and that the next request is fine.

use corral_testkit::{Daemon, Request, daemon, eventually, python_app, site};
use serde_json::json;

use crate::app;

/// An application that does this at `/bad`, and is well elsewhere.
fn with_bad(code: &str) -> String {
    format!(
        "import os, sys, threading, time

def bad(environ, start_response):
    {}

def application(environ, start_response):
    if environ['PATH_INFO'] == '/bad':
        return bad(environ, start_response)
    start_response('200 OK', [])
    return [b'ok %d' % os.getpid()]
",
        code.replace('\n', "\n    ")
    )
}

/// The request fails with 500, the log tells of it with this text, and the same worker serves the next one.
#[track_caller]
fn check(code: &str, logged: &str) {
    let (_site, server) = app(&with_bad(code));
    let before = server.get("/ok").expect(200).text();
    server.get("/bad?q=1").expect(500);
    server.expect_log("GET /bad?q=1: ");
    server.expect_log(logged);
    server.get("/ok").expect(200).expect_body(before);
}

#[test]
fn exceptions_before_the_head() {
    check("raise ValueError('went wrong')", "ValueError: went wrong");
    check("raise ValueError('went wrong')", "app.py\", line");
    check(
        "start_response('200 OK', [])\nraise ValueError('after start_response')",
        "ValueError: after start_response",
    );
    check("undefined", "NameError: name 'undefined' is not defined");
    check("return undefined(1)", "NameError");
    check("raise KeyboardInterrupt", "KeyboardInterrupt");
    check("def f(): f()\nf()", "RecursionError");
}

#[test]
fn exceptions_in_the_body_before_anything_was_sent() {
    check("start_response('200 OK', [])\nreturn (1 // 0 for i in range(3))", "ZeroDivisionError");
    check("start_response('200 OK', [])\nreturn iter([b'', 5])", "the body of a response consists of bytes");
}

#[test]
fn both_exceptions_of_a_body_that_cannot_be_closed_are_logged() {
    let code = "class Body:
    def __iter__(self): raise ValueError('in the body')
    def close(self): raise KeyError('in close')
start_response('200 OK', [])
return Body()";
    check(code, "ValueError: in the body");
    check(code, "KeyError: 'in close'");
}

#[test]
fn what_is_no_response() {
    check("return [b'x']", "the application did not call start_response()");
    check("return []", "the application did not call start_response()");
    check("return None", "'NoneType' object is not iterable");
    check("start_response('200 OK', [])\nreturn 'x'", "an application returns an iterable of bytes");
    check("start_response('200 OK', [])\nreturn ['x']", "the body of a response consists of bytes");
    check("start_response(200, [])\nreturn []", "status and headers of a response are strings");
    check("start_response('OK', [])\nreturn []", "is not a status");
    check("start_response('100 Continue', [])\nreturn []", "is not a status");
    check("start_response('200 OK', [('A', 1)])\nreturn []", "status and headers of a response are strings");
    check("start_response('200 OK', ['A: b'])\nreturn []", "a tuple of two strings");
    check("start_response('200 OK', [('A', 'b\\r\\nInjected: yes')])\nreturn []", "is none of HTTP");
    check("start_response('200 OK', [('A b', 'c')])\nreturn []", "is none of HTTP");
    check("start_response('200 OK', [('A:', 'c')])\nreturn []", "is none of HTTP");
    check("start_response('200 OK', [('', 'c')])\nreturn []", "is none of HTTP");
    check("start_response('2000', [])\nreturn []", "is not a status");
    check(
        "start_response('200 OK', [('A', '\u{20ac}')])\nreturn []",
        "characters that HTTP has no bytes for",
    );
}

#[test]
fn a_failure_may_replace_a_head_that_was_not_sent() {
    let (_site, server) = app(&with_bad(
        "start_response('200 OK', [('X-A', '1')])
try:
    raise ValueError('inner')
except ValueError:
    start_response('503 Sorry', [('X-B', '2')], sys.exc_info())
return [b'sorry']",
    ));
    let response = server.get("/bad").expect(503).expect_body("sorry").expect_no_field("X-A");
    response.expect_field("X-B", "2");
}

#[test]
fn a_failure_after_the_head_cuts_the_response() {
    for code in [
        "start_response('200 OK', [])\nyield b'begun'\nraise ValueError('late')",
        "start_response('200 OK', [('Content-Length', '100')])\nyield b'begun'\nraise ValueError('late')",
        "write = start_response('200 OK', [])\nwrite(b'begun')\ntry:\n    raise ValueError('late')\nexcept \
        ValueError:\n    start_response('500 X', [], sys.exc_info())\nyield b''",
    ] {
        let (_site, server) = app(&with_bad(code));
        let mut client = server.connect();
        client.write("GET /bad HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = String::from_utf8(client.read_to_end()).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("begun"), "{answer}");
        assert!(!answer.ends_with("0\r\n\r\n"), "the client must see that something is missing: {answer}");
        server.expect_log("GET /bad: ");
        server.expect_log("ValueError: late");
        server.get("/ok").expect(200);
    }
}

/// `close` is called whatever happened.
#[test]
fn what_fails_is_closed_and_what_fails_to_close_is_told() {
    let (_site, server) = app("closed = 0
class Body:
    def __init__(self, bad, close):
        self.bad, self.fails = bad, close
    def __iter__(self):
        yield b'x'
        if self.bad:
            raise ValueError('in the body')
    def close(self):
        global closed
        closed += 1
        if self.fails:
            raise OSError('in close')

def application(environ, start_response):
    start_response('200 OK', [])
    path = environ['PATH_INFO']
    return [str(closed).encode()] if path == '/closed' else Body(path == '/bad', path == '/close')
");
    let mut client = server.connect();
    assert!(client.try_send(&Request::get("/bad")).is_err());
    server.get("/closed").expect(200).expect_body("1");
    server.get("/close").expect(200).expect_body("x");
    server.get("/closed").expect(200).expect_body("2");
    server.expect_log("GET /close: ");
    server.expect_log("OSError: in close");
}

/// An application that calls `sys.exit` gets a new process, and the visitor an error.
#[test]
fn an_exit_costs_one_request_and_its_worker() {
    let (_site, server) = app(&with_bad("sys.exit(3)"));
    let before = server.get("/").expect(200).text();
    server.get("/bad").expect(500);
    server.expect_log("SystemExit: 3");
    let after = eventually("another worker serves", || {
        let response = server.get("/");
        (response.status == 200).then(|| response.text())
    });
    assert_ne!(before, after);
}

#[test]
fn a_client_that_leaves_is_no_error_of_the_application() {
    let (_site, server) = app(&with_bad(
        "start_response('200 OK', [])
while True:
    yield b'x' * 100_000",
    ));
    let mut client = server.connect();
    client.write("GET /bad HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_until_text("xxxx");
    drop(client);
    server.get("/").expect(200);
    assert!(!server.log().contains("GET /bad"), "{}", server.log());
}

#[test]
fn the_error_stream_is_the_log() {
    let (_site, server) = app(&with_bad(
        "environ['wsgi.errors'].write('said to wsgi.errors\\n')
environ['wsgi.errors'].writelines(['and ', 'more\\n'])
environ['wsgi.errors'].flush()
print('said to stderr', file=sys.stderr)
start_response('200 OK', [])
return []",
    ));
    server.get("/bad").expect(200);
    for line in ["said to wsgi.errors", "and more", "said to stderr"] {
        expect_error(&server, line);
    }
}

/// The log has a line of level `error` with this text.
#[track_caller]
fn expect_error(server: &Daemon, text: &str) {
    server.expect_log(text);
    let log = server.log();
    let line = log.lines().find(|line| line.contains(text)).expect("it was just there");
    assert!(line.contains(" [error] "), "{line}");
}

#[test]
fn what_goes_wrong_is_an_error_in_the_log_and_what_is_printed_is_not() {
    let (_site, mut server) = app("
import atexit, os, sys, threading

def at_exit():
    print('left at exit', file=sys.stderr)
    raise RuntimeError('failed at exit')

atexit.register(at_exit)
print('loaded', flush=True)

def fail():
    raise KeyError('in a thread')

def application(environ, start_response):
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    raise ValueError('in a request')
");
    server.get("/x").expect(500);
    expect_error(&server, "GET /x: Traceback");
    expect_error(&server, "ValueError: in a request");
    expect_error(&server, "KeyError: 'in a thread'");
    server.expect_log("\"python\": loaded");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("loaded")).expect("it was just there");
    assert!(line.contains(" [notice] "), "{line}");
    server.stop();
    expect_error(&server, "left at exit");
    expect_error(&server, "RuntimeError: failed at exit");
}

#[test]
fn a_failed_startup_is_an_error_in_the_log() {
    let site = site().file(
        "app.py",
        "import sys\nprint('on the way', file=sys.stderr)\nraise RuntimeError('no database')",
    );
    let server = daemon().start_unconfigured();
    let app = json!({ "python": python_app(&site).value() });
    let reply = server.control().put("/config/applications", &app);
    assert!(reply.0.text().contains("no database"), "{reply:?}");
    expect_error(&server, "on the way");
    expect_error(&server, "application \"python\": Traceback");
}

/// One line for each habit, however many processes have it and however often.
#[test]
fn a_habit_is_spoken_of_once_for_all_processes() {
    let site = site().file(
        "app.py",
        "import os
def application(environ, start_response):
    start_response('200', [('X-Pid', str(os.getpid()))])
    return b'one piece'
",
    );
    let server = daemon().python(python_app(&site).with("processes", json!(3))).start();
    for _ in 0..3 {
        let pid = server.get("/").expect(200).expect_body("one piece").field("X-Pid").map(str::parse);
        server.kill(pid.expect("it has a field").expect("it is a number"));
    }
    server.get("/").expect(200);
    for habit in ["the application returns bytes", "a status without the space and words"] {
        server.expect_log(habit);
        assert_eq!(server.log().matches(habit).count(), 1, "{habit}\n{}", server.log());
    }
}
