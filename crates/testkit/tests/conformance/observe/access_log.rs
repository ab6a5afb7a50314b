//! Access logs (section 18), and beyond Unit several of them and buffers.

use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Request, Signal, Site, assert_says, daemon, eventually, signal, site};
use serde_json::{Value, json};

const REFUSED: &str = "Invalid configuration.";

/// A daemon that answers everything, and a folder that it may write to.
struct Logged {
    server: Daemon,
    site: Site,
}

impl Logged {
    /// `{}` stands for the folder.
    fn new(access_log: Value) -> Self {
        let site = site().writable_folder("");
        let logged = Self { server: daemon().start_unconfigured(), site };
        logged.configure(access_log);
        logged
    }

    fn configure(&self, access_log: Value) {
        let access_log: Value =
            serde_json::from_str(&access_log.to_string().replace("{}", &self.site.root()))
                .expect("a path needs no escape");
        let action = json!({ "return": 200, "response_headers": { "X-R": "r" } });
        let config = json!({ "routes": [{ "action": action }], "access_log": access_log });
        self.server.control().put("/config", &self.server.with_listener(config)).expect_done();
    }

    /// Waits until so many requests have begun.
    fn await_requests(&self, n: u64) {
        let begun = || self.server.control().get("/status/requests/total").json() == n;
        eventually("the requests begin", || begun().then_some(()));
    }

    /// Waits for so many lines.
    #[track_caller]
    fn lines(&self, name: &str, n: usize) -> Vec<String> {
        eventually("the entries are written", || {
            let text = std::fs::read_to_string(self.site.path(name)).ok()?;
            let lines: Vec<_> = text.lines().map(str::to_owned).collect();
            (lines.len() >= n).then_some(lines)
        })
    }
}

/// The one line that a request leaves.
#[track_caller]
fn check(format: Value, request: &Request, expected: &str) {
    let logged = Logged::new(json!({ "path": "{}/log", "format": format }));
    logged.server.send(request);
    assert_eq!(logged.lines("log", 1), [expected], "{format}");
}

/// Options: access_log.format
#[test]
fn text_is_made_of_variables() {
    let get = Request::get("/p%20q?a=1&a=2");
    check(json!("$method $uri $status $body_bytes_sent $arg_a"), &get, "GET /p q 200 0 2");
    check(json!("$arg_none|$header_none|$cookie_none"), &get, "-|-|-");
    check(json!("constant"), &get, "constant");
    check(json!("$response_header_x_r $response_header_content_length"), &get, "r 0");
    check(json!("`${uri} ${args.a} ${vars.status}`"), &get, "/p q 1,2 200");
    let hostile = Request::get("/").field("User-Agent", "a \"quoted\" \\ word");
    check(json!("<$header_user_agent>"), &hostile, "<a \\x22quoted\\x22 \\x5C word>");
}

/// A client that sends nothing in a field has sent the field.
#[test]
fn what_is_there_and_empty_is_no_dash() {
    let get = Request::get("/?a=&b").field("Referer", "").field("Cookie", "c=; d=1");
    check(json!("<$header_referer|$arg_a|$arg_b|$cookie_c>"), &get, "<|||>");
    check(json!("<$header_none|$arg_c|$cookie_e|$response_header_x_none>"), &get, "<-|-|-|->");
    check(
        json!({ "referer": "$header_referer", "none": "$header_none" }),
        &get,
        r#"{"referer":"","none":"-"}"#,
    );
}

/// Headers that the server adds to files and to bodies in pieces are there in logs and in templates.
#[test]
fn what_the_server_adds_to_replies_is_known() {
    let site = site().file("a.txt", "hello").writable_folder("out");
    let format = "$response_header_etag|$response_header_content_length|$response_header_transfer_encoding";
    let fields = json!({ "X-Seen": format, "X-Script": "`${vars.response_header_content_length}`" });
    let action = json!({ "share": format!("{}$uri", site.root()), "response_headers": fields });
    let gzip = json!({ "http": { "compression": { "types": "*", "compressors": { "encoding": "gzip" } } } });
    let log = json!({ "path": site.path("out/log"), "format": format });
    let config = json!({ "routes": [{ "action": action }], "access_log": log, "settings": gzip });
    let server = daemon().config(config).start();
    let mut n = 0;
    let mut expect = |request: &Request, status: u16, length: Option<&str>, seen: Option<&str>| {
        let reply = server.send(request).expect(status);
        let etag = reply.field("ETag").unwrap_or("-");
        n += 1;
        let line = eventually("the entry is written", || {
            let text = std::fs::read_to_string(site.path("out/log")).ok()?;
            text.lines().nth(n - 1).map(str::to_owned)
        });
        let logged = etag.replace('"', "\\x22");
        assert_eq!(line, format!("{logged}|{}|-", length.unwrap_or("-")), "{request:?}");
        let expected = seen.map(|length| format!("{etag}|{length}|"));
        assert_eq!(reply.field("X-Seen"), expected.as_deref(), "{request:?}");
        assert_eq!(reply.field("X-Script"), seen, "{request:?}");
    };
    expect(&Request::get("/a.txt"), 200, Some("5"), Some("5"));
    expect(&Request::new("HEAD", "/a.txt"), 200, Some("5"), Some("5"));
    expect(&Request::get("/a.txt").field("Range", "bytes=1-2"), 206, Some("2"), Some("2"));
}

/// Headers that the server adds to replies are there as well.
#[test]
fn fields_of_the_server_are_known() {
    let format = json!("$response_header_server|$response_header_date|$response_header_transfer_encoding");
    let logged = Logged::new(json!({ "path": "{}/log", "format": format }));
    let response = logged.server.get("/").expect(200);
    let line = logged.lines("log", 1).remove(0);
    let words: Vec<_> = line.split('|').collect();
    assert_eq!(words[0], response.field("Server").expect("it is sent"));
    assert!(words[1].ends_with(" GMT"), "{line}");
    assert_eq!(words[2], "-");
}

/// Options: access_log.format.{N}
#[test]
fn an_object_makes_a_line_of_json() {
    let request = Request::get("/?a=%22").field("User-Agent", "say \"x\"\\");
    let format = json!({ "agent": "$header_user_agent", "status": "$status", "js": "`${args.a}\n`", "none": "$arg_x" });
    let logged = Logged::new(json!({ "path": "{}/log", "format": format }));
    logged.server.send(&request);
    let line: Value = serde_json::from_str(&logged.lines("log", 1)[0]).expect("a line is JSON");
    assert_eq!(line, json!({ "agent": "say \"x\"\\", "status": "200", "js": "\"\n", "none": "-" }));
}

/// Options: access_log.if
#[test]
fn entries_can_depend_on_the_request() {
    for (condition, expected) in [
        ("$arg_log", "/?log=1"),
        ("!$arg_quiet", "/?log=1"),
        ("`${args.log == 1}`", "/?log=1"),
        // An exception counts as true.
        ("`${args.log ? args.a.b : ''}`", "/?log=1"),
    ] {
        let logged = Logged::new(json!({ "path": "{}/log", "format": "$request_uri", "if": condition }));
        for target in ["/?quiet=1", "/?log=1"] {
            logged.server.get(target).expect(200);
        }
        assert_eq!(logged.lines("log", 1), [expected], "{condition}");
    }
}

#[test]
fn wrong_forms_are_refused() {
    let server = daemon().start_unconfigured();
    let refuse = |form: Value, detail: &str| {
        let reply = server.control().put("/config", &json!({ "access_log": form }));
        assert_says(&reply.expect_refused(400, REFUSED), detail);
    };
    refuse(json!({}), "Required parameter \"path\" is missing.");
    refuse(json!({ "path": "" }), "The \"path\" string must not be empty.");
    refuse(json!({ "path": "/x", "if": 1 }), "The \"if\" must be a string");
    refuse(json!({ "path": "/x", "format": "$foo" }), "Unknown variable \"foo\" in the \"format\" value.");
    refuse(
        json!({ "path": "/x", "format": { "": 1 } }),
        "In the access log format, the name must not be empty.",
    );
    refuse(
        json!({ "path": "/x", "format": { "a": 1 } }),
        "In the access log format, the value must be a string.",
    );
    // Unit takes the short form of an empty path for one that cannot be opened.
    let reply = server.control().put("/config", &json!({ "access_log": "" }));
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    assert_eq!(detail, "The \"access_log\" string must not be empty.");
    let reply = server.control().put("/config", &json!({ "access_log": "/no/such/folder/log" }));
    let detail = reply.expect_refused(500, "Failed to apply new configuration.");
    assert!(detail.contains("/no/such/folder/log") && detail.contains("No such file"), "{detail}");
}

#[test]
fn several_logs_are_written_beside_each_other() {
    let json_log = json!({ "path": "{}/json", "format": { "uri": "$uri" } });
    let logged = Logged::new(json!([{ "path": "{}/text", "format": "$uri" }, json_log]));
    logged.server.get("/x").expect(200);
    assert_eq!(logged.lines("text", 1), ["/x"]);
    assert_eq!(logged.lines("json", 1), ["{\"uri\":\"/x\"}"]);
}

/// A full disk costs entries, but neither a request nor a line of the server's log for each of them.
#[test]
fn a_log_that_cannot_be_written_is_told_of_once() {
    let logged = Logged::new(json!("/dev/full"));
    for _ in 0..5 {
        logged.server.get("/").expect(200);
    }
    logged.server.expect_log("[error] ");
    logged.server.control().get("/status");
    assert_eq!(logged.server.log().matches("write to the access log: No space left").count(), 1);
}

/// Options: access_log.buffer, access_log.flush
#[test]
fn a_buffer_is_written_when_it_is_full_and_after_a_time() {
    let logged = Logged::new(json!({ "path": "{}/log", "format": "$uri", "buffer": 512, "flush": 3600 }));
    let mut client = logged.server.connect();
    let long = format!("/{}", "x".repeat(99));
    client.get(&long).expect(200);
    assert_eq!(std::fs::read_to_string(logged.site.path("log")).expect("it is there"), "");
    for _ in 0..40 {
        client.get(&long).expect(200);
    }
    logged.lines("log", 4);
    // The end of a configuration is the end of its buffers.
    logged.configure(json!({ "path": "{}/other", "format": "$uri" }));
    logged.lines("log", 41);
    logged.configure(json!({ "path": "{}/timed", "format": "$uri", "buffer": 4096, "flush": 1 }));
    logged.server.get("/timed").expect(200);
    assert_eq!(logged.lines("timed", 1), ["/timed"]);
}

#[test]
fn a_buffer_is_written_at_the_end() {
    let mut logged = Logged::new(json!({ "path": "{}/log", "format": "$uri", "buffer": 512, "flush": 3600 }));
    logged.server.get("/last").expect(200);
    logged.server.stop();
    assert_eq!(logged.lines("log", 1), ["/last"]);
}

#[test]
fn logs_are_reopened_when_they_were_moved() {
    let logged = Logged::new(json!({ "path": "{}/log", "format": "$uri" }));
    logged.server.get("/before").expect(200);
    logged.lines("log", 1);
    std::fs::rename(logged.site.path("log"), logged.site.path("moved")).expect("rename the log");
    signal(logged.server.pid(), Signal::USR1);
    eventually("the log is there again", || logged.site.path("log").exists().then_some(()));
    eventually("entries go to the new file", || {
        logged.server.get("/after").expect(200);
        logged.site.read("log").contains("/after").then_some(())
    });
    assert!(logged.site.read("moved").starts_with("/before\n"));
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// Options: access_log, access_log.path
    #[test]
    fn the_default_is_the_combined_format() {
        for form in [json!("{}/log"), json!({ "path": "{}/log" })] {
            let logged = Logged::new(form);
            let request = Request::get("/a?b=1").field("Referer", "http://r/").field("User-Agent", "agent/1");
            logged.server.send(&request).expect(200);
            // Entries are written after the replies, so those of two event loops have no order.
            logged.lines("log", 1);
            logged.server.get("/").expect(200);
            let lines = logged.lines("log", 2);
            let (before, rest) = lines[0].split_once('[').expect("a time in brackets");
            let (_, after) = rest.split_once(']').expect("a time in brackets");
            assert_eq!(before, "127.0.0.1 - - ");
            assert_eq!(after, " \"GET /a?b=1 HTTP/1.1\" 200 0 \"http://r/\" \"agent/1\"");
            assert!(lines[1].ends_with("\"GET / HTTP/1.1\" 200 0 \"-\" \"-\""), "{}", lines[1]);
        }
    }

    #[test]
    fn what_is_no_request_is_logged_as_well() {
        let logged = Logged::new(json!("{}/log"));
        let mut client = logged.server.connect();
        client.write("GET nothing HTTP/1.1\r\n\r\n");
        client.read_response().expect(400);
        assert!(logged.lines("log", 1)[0].contains(" 400 "), "{:?}", logged.lines("log", 1));
    }

    /// Heads that are not understood, or not completed.
    #[test]
    fn odd_requests_are_logged_as_far_as_they_are_known() {
        let logged =
            Logged::new(json!({ "path": "{}/log", "format": "$request_line|$status|$body_bytes_sent|$uri" }));
        for (n, (head, expected)) in [
            ("GET /\n", "-|400|54|-"),
            ("G@T / HTTP/1.1\r\n\r\n", "-|400|54|-"),
            ("GET / HTTP/2.0\r\n\r\n", "GET / HTTP/2.0|505|54|-"),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1|400|54|/"),
            ("GE", "-|400|0|-"),
            ("GET / HTTP/1.1", "-|400|0|-"),
            ("GET / HTTP/1.1\nReferer: ", "GET / HTTP/1.1|400|0|/"),
        ]
        .into_iter()
        .enumerate()
        {
            let mut client = logged.server.connect();
            client.write(head);
            if expected.contains("|0|") {
                drop(client);
            } else {
                client.read_response();
            }
            assert_eq!(logged.lines("log", n + 1)[n], expected, "{head:?}");
        }
        // A connection without a request leaves nothing.
        drop(logged.server.connect());
        logged.server.get("/last").expect(200);
        assert_eq!(logged.lines("log", 8)[7], "GET /last HTTP/1.1|200|0|/last");
    }

    /// The clock runs from the first byte of a request, whatever the connection has done before.
    #[test]
    fn the_time_of_a_request_begins_with_its_first_byte() {
        let logged = Logged::new(json!({ "path": "{}/log", "format": "$request_time" }));
        let seconds = |n: usize| logged.lines("log", n)[n - 1].parse::<f64>().expect("a number");
        let mut client = logged.server.connect();
        client.write("G");
        logged.await_requests(1);
        let begun = Instant::now();
        let mut waiting = logged.server.connect();
        eventually("time passes", || (begun.elapsed() >= Duration::from_millis(300)).then_some(()));
        let least = begun.elapsed().as_secs_f64();
        client.write("ET / HTTP/1.1\r\nHost: a\r\n\r\n");
        client.read_response().expect(200);
        assert!(seconds(1) + 0.001 >= least, "{} {least}", seconds(1));
        // Neither the wait before the request counts nor the request before.
        let started = Instant::now();
        waiting.get("/").expect(200);
        let most = started.elapsed().as_secs_f64();
        // A request within a millisecond may have begun in the one before that.
        assert!(seconds(2) <= most + 0.001, "{} {most}", seconds(2));
    }

    #[test]
    fn the_target_is_logged_as_it_was_sent() {
        check(json!("$request_uri|$uri"), &Request::get("/9?q#a"), "/9?q#a|/9");
        check(json!("$request_uri|$request_uri"), &Request::get("/#"), "/#|/#");
        check(json!("`${vars.request_uri}`"), &Request::get("/p?a#b?c"), "/p?a#b?c");
    }

    #[test]
    fn the_access_log_has_a_line_for_each_request() {
        let logs = site().writable_folder("logs");
        let path = logs.path("logs/access.log");
        let server = daemon()
        .config(json!({
            "routes": [{ "match": { "uri": "/gone" }, "action": { "return": 410 } }, { "action": { "return": 200 } }],
            "access_log": path,
        }))
        .start();
        server
            .send(&Request::get("/a?b=c").field("User-Agent", "test \"agent\"").field("Referer", "http://x/"))
            .expect(200);
        let lines = |n: usize| {
            eventually("the lines are logged", || {
                let lines: Vec<String> = logs.read("logs/access.log").lines().map(str::to_owned).collect();
                (lines.len() == n).then_some(lines)
            })
        };
        // Another event loop may be faster with its line.
        lines(1);
        server.get("/gone").expect(410);
        let lines = lines(2);
        assert!(lines[0].starts_with("127."), "{lines:?}");
        assert!(lines[0].contains("\"GET /a?b=c HTTP/1.1\" 200 0 \"http://x/\" "), "{lines:?}");
        assert!(lines[1].contains("\"GET /gone HTTP/1.1\" 410 54 \"-\" \"-\""), "{lines:?}");
    }
}
