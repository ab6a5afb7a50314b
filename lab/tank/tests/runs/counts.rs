//! Each request that is planned is made, once.

use std::collections::BTreeMap;

use crate::nginx::{Nginx, folder};
use crate::server::{Reply, Server, good};
use crate::tank::tank;

fn hello() -> Server {
    Server::start(|_, _| Reply::Good("hello"))
}

#[test]
fn a_closed_loop_makes_its_number_of_requests() {
    let server = hello();
    let run = tank(&["-n", "1000", "-c", "7", "-t", "2", &server.url()]);
    run.is_good(1000);
    assert_eq!((server.requests().len(), server.n_connections()), (1000, 7));
    assert_eq!((run.number("/connections"), run.number("/statuses/200")), (7, 1000));
}

#[test]
fn a_closed_loop_goes_on_for_its_time() {
    let server = hello();
    let run = tank(&["-d", "1s", "-c", "2", &server.url()]);
    run.is_good(server.requests().len() as u64);
    assert!((run.float("/seconds") - 1.0).abs() < 1e-9, "{:#}", run.json);
}

#[test]
fn an_open_loop_makes_the_requests_of_its_schedule() {
    let server = hello();
    for threads in ["1", "3"] {
        let before = server.requests().len();
        let run = tank(&["-s", "line(1,99,1s) const(100,500ms)", "-t", threads, &server.url()]);
        run.is_good(100);
        assert_eq!((run.number("/planned"), server.requests().len() - before), (100, 100));
    }
}

#[test]
fn ticks_do_not_change_the_number() {
    let server = hello();
    tank(&["-s", "const(100,1s)", "--tick", "100ms", &server.url()]).is_good(100);
    assert_eq!(server.requests().len(), 100);
}

#[test]
fn weights_are_kept_exactly() {
    let server = hello();
    let [a, b] = ["a", "b"].map(|path| format!("{}{path}", server.url()));
    tank(&["-n", "100", "-c", "1", &format!("3 {a}"), &b]).is_good(100);
    let paths = server.requests();
    let n_first = paths.iter().filter(|request| request.starts_with("GET /a ")).count();
    assert_eq!((n_first, paths.len()), (75, 100));
}

#[test]
fn several_servers_have_connections_of_their_own() {
    let servers = [hello(), hello()];
    tank(&["-n", "90", "-c", "3", &servers[0].url(), &format!("2 {}", servers[1].url())]).is_good(90);
    assert_eq!(servers.each_ref().map(|server| server.requests().len()), [30, 60]);
}

#[test]
fn without_keep_alive_each_request_has_a_connection() {
    let server = hello();
    tank(&["-n", "50", "-c", "4", "--no-keep-alive", &server.url()]).is_good(50);
    assert_eq!((server.n_connections(), server.requests().len()), (50, 50));
    assert!(server.requests()[0].contains("\r\nConnection: close\r\n"));
}

#[test]
fn a_server_may_end_connections_in_order() {
    let closing = |body: &str| good(body).replacen("\r\n", "\r\nConnection: close\r\n", 1);
    let server = Server::start(move |_, _| Reply::Last(closing("bye")));
    tank(&["-n", "20", "-c", "2", &server.url()]).is_good(20);
    assert_eq!(server.n_connections(), 20);
    let server = Server::start(|_, _| Reply::Last("HTTP/1.0 200 OK\r\n\r\nuntil the end".to_owned()));
    tank(&["-n", "20", "-c", "2", "--expect-body-size", "13", &server.url()]).is_good(20);
}

#[test]
fn connections_that_the_server_closes_while_they_are_idle_are_replaced() {
    let folder = folder();
    let directives = "listen 127.0.0.1:@A; keepalive_requests 10; location / { return 200 hello; }";
    let nginx = Nginx::start(folder, directives);
    tank(&["-n", "500", "-c", "5", &nginx.url("http")]).is_good(500);
    let mut of_connections: BTreeMap<String, usize> = BTreeMap::new();
    for line in nginx.log(500) {
        let connection = line.split(' ').nth(3).expect("the log names connections").to_owned();
        *of_connections.entry(connection).or_default() += 1;
    }
    assert_eq!(of_connections.values().sum::<usize>(), 500);
    assert!(of_connections.values().all(|n| *n <= 10), "{of_connections:?}");
}

#[test]
fn headers_bodies_and_methods_are_sent() {
    let server = hello();
    let folder = folder();
    let body = folder.path().join("body");
    std::fs::write(&body, "x=1").expect("the folder takes files");
    let body = body.to_str().expect("temporary folders have plain names");
    tank(&["-n", "1", "-H", "X-A: b", "-H", "Host: example.org", "-b", body, &server.url()]).is_good(1);
    tank(&["-n", "1", "-X", "DELETE", &server.url()]).is_good(1);
    let requests = server.requests();
    assert!(requests[0].starts_with("POST / HTTP/1.1\r\n") && requests[0].ends_with("\r\n\r\nx=1"));
    for header in ["x-a: b", "host: example.org", "Content-Length: 3"] {
        assert!(requests[0].contains(&format!("\r\n{header}\r\n")), "{}", requests[0]);
    }
    assert!(requests[1].starts_with("DELETE / HTTP/1.1\r\n"));
}
