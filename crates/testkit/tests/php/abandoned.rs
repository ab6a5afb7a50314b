//! Requests whose clients leave while they wait for a worker (`abandoned`).

use std::{fs, io};

use corral_testkit::{Client, Daemon, Http2, Request, Site, daemon, eventually, php_app, site};
use h2::Reason;
use serde_json::{Value, json};

/// Runs until the test says that it may end.
const HELD: &str =
    "<?php while (!file_exists(__DIR__ . '/release')) { usleep(1000); clearstatcache(); } echo 'held';";

/// Notes the request, with its body, and that it was run to its end although the response is not read.
const RAN: &str = "<?php
    ignore_user_abort(true);
    echo str_repeat('x', 100000);
    flush();
    $body = file_get_contents('php://input');
    file_put_contents(__DIR__ . '/ran/' . uniqid(), \"$_SERVER[REQUEST_METHOD] $_SERVER[QUERY_STRING] $body\");";

/// One process, which is busy.
struct Busy {
    site: Site,
    server: Daemon,
    first: Client,
}

impl Busy {
    fn start(options: &Value) -> Self {
        let site = site().file("held.php", HELD).file("ran.php", RAN).writable_folder("ran");
        let mut app = php_app(&site).value();
        app.as_object_mut().expect("an object").extend(options.as_object().expect("an object").clone());
        let server = daemon().config(json!({
            "settings": { "listen_threads": 2 },
            "applications": { "php": app },
            "routes": [{ "action": { "pass": "applications/php" } }],
        }));
        let server = server.start();
        let mut first = server.connect();
        first.write(Request::get("/held.php").encode());
        let busy = Self { site, server, first };
        busy.expect_active(1);
        busy
    }

    #[track_caller]
    fn expect_active(&self, n: u64) {
        eventually("the requests have come and gone", || {
            let figures = self.server.control().get("/status/applications/php").json();
            (figures["requests"]["active"] == n).then_some(())
        });
    }

    /// A client that sends this and has left when it has come.
    fn leave(&self, request: impl AsRef<[u8]>) {
        let mut client = self.server.connect();
        client.write(request);
    }

    /// Has the process go on, and returns what ran then, in no order.
    fn ran(mut self) -> Vec<String> {
        self.site.write("release", "");
        self.first.read_response().expect(200).expect_body("held");
        self.expect_active(0);
        let files = fs::read_dir(self.site.path("ran")).expect("read the folder");
        let text = |file: io::Result<fs::DirEntry>| fs::read_to_string(file.expect("an entry").path());
        let mut ran: Vec<_> = files.map(|file| text(file).expect("read it").trim_end().to_owned()).collect();
        ran.sort();
        ran
    }
}

fn post(n: usize, version: &str, fields: &str, body: &str) -> String {
    let length = body.len();
    format!("POST /ran.php?{n} {version}\r\nHost: a\r\n{fields}Content-Length: {length}\r\n\r\n{body}")
}

/// WordPress' own cron is such a request: its client sends a POST and leaves at once.
///
/// Options: applications.{N}.abandoned
#[test]
fn a_post_is_run_though_its_client_has_left() {
    let busy = Busy::start(&json!({}));
    busy.leave(post(1, "HTTP/1.1", "", ""));
    busy.leave(post(2, "HTTP/1.1", "Connection: close\r\n", "two"));
    busy.leave(post(3, "HTTP/1.0", "", "three"));
    busy.leave(
        "POST /ran.php?4 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
    );
    busy.leave("DELETE /ran.php?5 HTTP/1.1\r\nHost: a\r\n\r\n");
    busy.expect_active(6);
    assert_eq!(busy.ran(), ["DELETE 5", "POST 1", "POST 2 two", "POST 3 three", "POST 4 four"]);
}

#[test]
fn a_stream_that_was_reset_is_run_too() {
    let busy = Busy::start(&json!({}));
    let listener = format!("/config/listeners/{}/http2", busy.server.address());
    busy.server.control().put(&listener, &json!("prior_knowledge")).expect_done();
    let mut client = Http2::connect(busy.server.address().socket());
    let mut reset = client.open(&Request::post("/ran.php?1"));
    reset.write("one");
    reset.finish();
    busy.expect_active(2);
    reset.reset(Reason::CANCEL);
    let mut read = client.begin_get("/ran.php?2");
    busy.expect_active(3);
    read.reset(Reason::CANCEL);
    busy.expect_active(2);
    let mut whole = client.open(&Request::post("/ran.php?3"));
    whole.write("three");
    whole.finish();
    busy.expect_active(3);
    drop((client, reset, read, whole));
    assert_eq!(busy.ran(), ["POST 1 one", "POST 3 three"]);
}

#[test]
fn what_only_reads_and_what_has_not_come_is_dropped() {
    let busy = Busy::start(&json!({}));
    for method in ["GET", "HEAD", "OPTIONS"] {
        busy.leave(format!("{method} /ran.php HTTP/1.1\r\nHost: a\r\n\r\n"));
        busy.leave(format!("{method} /ran.php HTTP/1.0\r\n\r\nHost: a\r\n\r\n"));
    }
    busy.leave("POST /ran.php HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nhal");
    busy.leave("POST /ran.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n");
    busy.expect_active(1);
    assert!(busy.ran().is_empty());
}

/// Options: applications.{N}.abandoned
#[test]
fn an_application_says_otherwise() {
    let get = "GET /ran.php?get HTTP/1.1\r\nHost: a\r\n\r\n";
    let busy = Busy::start(&json!({ "abandoned": "run" }));
    busy.leave(get);
    busy.leave(post(1, "HTTP/1.1", "", ""));
    busy.expect_active(3);
    assert_eq!(busy.ran(), ["GET get", "POST 1"]);

    let busy = Busy::start(&json!({ "abandoned": "drop" }));
    let mut client = busy.server.connect();
    client.write(post(1, "HTTP/1.1", "", ""));
    busy.expect_active(2);
    drop(client);
    busy.expect_active(1);
    assert!(busy.ran().is_empty());
}

/// A change of the option starts no processes.
#[test]
fn a_change_of_it_keeps_the_processes() {
    let busy = Busy::start(&json!({ "abandoned": "drop" }));
    let before = busy.server.expect_processes("\"php\" worker", 1);
    busy.server.control().put("/config/applications/php/abandoned", &json!("run")).expect_done();
    busy.leave("GET /ran.php?1 HTTP/1.1\r\nHost: a\r\n\r\n");
    busy.expect_active(2);
    assert_eq!(busy.server.expect_processes("\"php\" worker", 1), before);
    assert_eq!(busy.ran(), ["GET 1"]);
}

/// They do not wait for longer than others.
#[test]
fn they_wait_for_a_worker_only_so_long() {
    let busy = Busy::start(&json!({ "limits": { "queue_timeout": 1 } }));
    busy.leave(post(1, "HTTP/1.1", "", ""));
    busy.expect_active(2);
    busy.expect_active(1);
    assert!(busy.ran().is_empty());
}

/// The number of abandoned requests has a bound that a server can bear.
#[test]
fn there_is_an_end_to_them() {
    let busy = Busy::start(&json!({}));
    for n in 0..1000 {
        busy.leave(post(n, "HTTP/1.1", "", ""));
    }
    // As many as each of two event loops holds, and no more.
    busy.expect_active(1 + 2 * 256);
    assert_eq!(busy.ran().len(), 512);
}
