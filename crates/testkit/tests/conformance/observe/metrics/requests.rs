//! Requests of a listener beside their statuses: what they bring, and how many there are at a time.

use corral_testkit::{Request, daemon, php_app, site};
use serde_json::json;

use super::{eventually, expect_sample, samples};

/// Runs until the test says that it may end.
const HELD: &str =
    "<?php while (!file_exists(__DIR__ . '/release')) { usleep(1000); clearstatcache(); } echo 'held';";

#[test]
fn bytes_of_bodies_are_counted() {
    let site = site().file("index.php", "<?php echo strlen(file_get_contents('php://input'));");
    let server = daemon().application(php_app(&site)).start();
    let received = format!("corral_http_request_body_bytes_total{{listener=\"{}\"}}", server.address());
    server.get("/").expect(200).expect_body("0");
    expect_sample(&server, &received, 0.0);
    for (len, sum) in [(10, 10.0), (100_000, 100_010.0), (0, 100_010.0)] {
        server.send(&Request::post("/").body(vec![b'x'; len])).expect(200).expect_body(len.to_string());
        expect_sample(&server, &received, sum);
    }
}

/// A request is in progress until all of its reply was sent.
#[test]
fn requests_are_in_progress() {
    let site = site().file("index.php", HELD);
    let server = daemon().application(php_app(&site).processes(2)).start();
    let in_progress = format!("corral_http_requests_in_progress{{listener=\"{}\"}}", server.address());
    expect_sample(&server, &in_progress, 0.0);
    let mut clients = server.begin_all("/", 2);
    expect_sample(&server, &in_progress, 2.0);
    site.write("release", "");
    for client in &mut clients {
        client.read_response().expect(200);
    }
    expect_sample(&server, &in_progress, 0.0);
}

/// The framing of bodies is that of HTTP/1.
mod http1_only {
    use super::*;

    #[test]
    fn chunks_count_without_their_framing() {
        let site = site().file("index.php", "<?php echo strlen(file_get_contents('php://input'));");
        let server = daemon().application(php_app(&site)).http(json!({ "chunked_transform": true })).start();
        let received = format!("corral_http_request_body_bytes_total{{listener=\"{}\"}}", server.address());
        let mut client = server.connect();
        client.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
        client.write("2;x=y\r\nde\r\n0\r\n\r\n");
        client.read_response().expect(200).expect_body("5");
        expect_sample(&server, &received, 5.0);
    }

    #[test]
    fn a_body_that_is_thrown_away_does_not_count() {
        let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
        let mut client = server.connect();
        client.send(&Request::post("/").body(vec![b'x'; 50_000])).expect(200);
        client.get("/").expect(200);
        eventually("both are counted", || (samples(&server)["corral_requests_total"] == 2.0).then_some(()));
        let received = format!("corral_http_request_body_bytes_total{{listener=\"{}\"}}", server.address());
        assert_eq!(samples(&server)[&received], 0.0);
    }
}
