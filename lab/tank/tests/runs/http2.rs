//! HTTP/2, with nginx at the other end.

use std::fs;

use crate::nginx::{Nginx, folder};
use crate::tank::tank;
use crate::tls;

#[test]
fn streams_share_connections() {
    let nginx = Nginx::start(folder(), "listen 127.0.0.1:@A http2; return 200 hello;");
    let run =
        tank(&["-n", "1000", "-c", "3", "--http2", "-m", "20", "--expect-body", "hello", &nginx.url("http")]);
    run.is_good(1000);
    assert_eq!(run.number("/connections"), 3);
    let log = nginx.log(1000);
    assert!(log.len() == 1000 && log.iter().all(|line| line.starts_with("GET / HTTP/2.0 ")), "{}", log[0]);
}

#[test]
fn an_open_loop_uses_as_few_connections_as_it_needs() {
    let nginx = Nginx::start(folder(), "listen 127.0.0.1:@A http2; return 200 hello;");
    let run = tank(&["-s", "const(200,1s)", "--http2", "-m", "100", &nginx.url("http")]);
    run.is_good(200);
    assert!(run.number("/connections") <= 3, "{:#}", run.json);
}

#[test]
fn connections_that_the_server_ends_in_order_lose_no_request() {
    let nginx = Nginx::start(folder(), "listen 127.0.0.1:@A http2; keepalive_requests 30; return 200 hello;");
    let run = tank(&["-n", "1000", "-c", "2", "--http2", "-m", "8", &nginx.url("http")]);
    run.is_good(1000);
    assert!(run.number("/connections") >= 30, "{:#}", run.json);
}

#[test]
fn more_streams_than_the_server_allows_wait() {
    let nginx = Nginx::start(
        folder(),
        "listen 127.0.0.1:@A http2; http2_max_concurrent_streams 4; return 200 hello;",
    );
    tank(&["-n", "500", "-c", "2", "--http2", "-m", "50", &nginx.url("http")]).is_good(500);
}

#[test]
fn large_bodies_go_both_ways() {
    let folder = folder();
    let body = folder.path().join("large");
    fs::write(&body, "x".repeat(300_000)).expect("the folder takes files");
    let path = body.to_str().expect("temporary folders have plain names").to_owned();
    let directives = "listen 127.0.0.1:@A http2; client_max_body_size 1m;
        location /large { root @D; } location / { proxy_pass http://127.0.0.1:@B; }
    } server { listen 127.0.0.1:@B; client_max_body_size 1m; return 204;";
    let nginx = Nginx::start(folder, directives);
    let url = nginx.url("http");
    let large = format!("{url}large");
    tank(&["-n", "50", "-c", "2", "--http2", "-m", "5", "--expect-body-size", "300000", &large]).is_good(50);
    let run = tank(&["-n", "20", "-c", "2", "--http2", "-m", "5", "-b", &path, &url]);
    run.is_good(20);
    assert_eq!(run.number("/statuses/204"), 20);
}

#[test]
fn tls_agrees_on_it() {
    let (nginx, ca) = tls::nginx("listen 127.0.0.1:@A ssl http2; return 200 hello;");
    tank(&["-n", "300", "-c", "3", "--http2", "-m", "10", "--ca", &ca, &nginx.url("https")]).is_good(300);
    let (nginx, ca) = tls::nginx("listen 127.0.0.1:@A ssl; return 200 hello;");
    let run = tank(&["-n", "2", "-c", "1", "--http2", "--ca", &ca, &nginx.url("https")]);
    assert_eq!((run.failures().as_str(), run.code), ("tls 2", Some(1)), "{:#}", run.json);
}

#[test]
fn wrong_answers_are_counted_by_kind() {
    let directives = "listen 127.0.0.1:@A http2; location = /bad { return 503; }
        location = /cut { return 444; } location / { return 200 hello; }";
    let nginx = Nginx::start(folder(), directives);
    let [good, bad] = ["", "bad"].map(|path| format!("{}{path}", nginx.url("http")));
    let run = tank(&["-n", "100", "-c", "2", "--http2", "-m", "4", &format!("3 {good}"), &bad]);
    assert_eq!((run.failures().as_str(), run.number("/good")), ("status 25", 75), "{:#}", run.json);
}

#[test]
fn a_server_of_http1_is_told() {
    let nginx = Nginx::start(folder(), "listen 127.0.0.1:@A; return 200 hello;");
    let run = tank(&["-n", "2", "-c", "1", "--http2", &nginx.url("http")]);
    assert_eq!((run.number("/failed"), run.code), (2, Some(1)), "{:#}", run.json);
    assert_eq!(run.number("/failures/timeout"), 0, "{:#}", run.json);
}
