//! Datagrams: sessions of clients, and what servers answer.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corral_testkit::{Address, Daemon, assert_says, daemon, eventually};
use serde_json::{Value, json};

use super::{PATIENCE, check_said, connect, expect_status, merge, shouting};

/// A server that answers each datagram with `n` times its name and the datagram. Ends when it is dropped.
struct Server {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
}

impl Server {
    fn start(name: &'static str, n: usize) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = socket.local_addr().expect("an address");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a time-out");
        let ends = Arc::new(AtomicBool::new(false));
        let (ended, mut room) = (Arc::clone(&ends), vec![0; 65_536]);
        std::thread::spawn(move || {
            while !ended.load(Ordering::SeqCst) {
                let Ok((len, client)) = socket.recv_from(&mut room) else { continue };
                let answer = [name.as_bytes(), &room[..len]].concat();
                for _ in 0..n {
                    let _ = socket.send_to(&answer, client);
                }
            }
        });
        Self { address, ends }
    }

    fn address(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
    }
}

/// A configuration with one listener of UDP for these servers.
fn config(address: &str, servers: &[&str], options: Value, group: Value) -> Value {
    let members: serde_json::Map<_, _> =
        servers.iter().map(|server| ((*server).to_owned(), json!({}))).collect();
    let mut upstream = json!({ "servers": members });
    merge(&mut upstream, group);
    let mut listener = json!({ "protocol": "udp", "pass": "upstreams/pool" });
    merge(&mut listener, options);
    json!({ "listeners": { address: listener }, "upstreams": { "pool": upstream } })
}

fn start(servers: &[&str], options: Value) -> Daemon {
    let server = daemon().start_unconfigured();
    let config = config(&server.address().to_string(), servers, options, json!({}));
    server.control().put("/config", &config).expect_done();
    server
}

fn client(to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((to.ip(), 0)).expect("a port");
    socket.connect(to).expect("an address");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    socket
}

#[track_caller]
fn check(client: &UdpSocket, said: &str, expect: &str) {
    client.send(said.as_bytes()).expect("it is sent");
    assert_eq!(hear(client).as_deref(), Some(expect));
}

fn hear(client: &UdpSocket) -> Option<String> {
    let mut room = [0; 65_536];
    let len = client.recv(&mut room).ok()?;
    Some(String::from_utf8_lossy(&room[..len]).into_owned())
}

/// Sends a datagram until one comes back.
#[track_caller]
fn ask(client: &UdpSocket, said: &str) -> String {
    client.set_read_timeout(Some(Duration::from_millis(200))).expect("a time-out");
    eventually("an answer", || {
        let _ = client.send(said.as_bytes());
        hear(client)
    })
}

#[test]
fn datagrams_go_to_a_server_and_back() {
    let pool = Server::start("a:", 1);
    let server = start(&[&pool.address()], json!({}));
    let clients = [0; 2].map(|_| client(server.address().socket()));
    for round in 0..3 {
        for (number, client) in clients.iter().enumerate() {
            check(client, &format!("{round} of {number}"), &format!("a:{round} of {number}"));
        }
    }
    check(&clients[0], "", "a:");
    let large = "x".repeat(60_000);
    check(&clients[0], &large, &format!("a:{large}"));
    expect_status(&server, "/connections/active", &json!(2));
    expect_status(&server, "/upstreams/pool/servers", &{
        let requests = json!({ "active": 2, "total": 2, "failed": 0 });
        json!({ pool.address(): { "state": "up", "requests": requests } })
    });
}

/// The client of a listener on all addresses hears from the one that it has asked.
#[test]
fn answers_come_from_the_address_that_was_asked() {
    let pool = Server::start("a:", 1);
    let server = daemon().start_unconfigured();
    let port = corral_testkit::port_of_all_addresses();
    let config = config(&format!("*:{port}/udp"), &[&pool.address()], json!({}), json!({}));
    server.control().put("/config", &config).expect_done();
    for ip in ["127.0.0.1", "127.11.12.13"] {
        let ip: IpAddr = ip.parse().expect("an address");
        check(&client((ip, port).into()), "x", "a:x");
    }
}

/// A port may be one of both protocols, as that of DNS.
#[test]
fn a_port_may_have_listeners_of_both_protocols() {
    let (udp, tcp) = (Server::start("a:", 1), shouting());
    let server = daemon().start_unconfigured();
    let address = server.address().to_string();
    let listeners = json!({
        address.clone(): { "protocol": "tcp", "pass": "upstreams/tcp" },
        format!("{address}/udp"): { "pass": "upstreams/udp" }
    });
    let upstreams = json!({
        "tcp": { "servers": { tcp.address(): {} } },
        "udp": { "servers": { udp.address(): {} } }
    });
    server.control().put("/config", &json!({ "listeners": listeners, "upstreams": upstreams })).expect_done();
    check(&client(server.address().socket()), "x", "a:x");
    check_said(&mut connect(server.address().socket()), "x", "X");
    let up = json!({ "state": "up" });
    let expect = json!({ address.clone(): up, format!("{address}/udp"): up });
    expect_status(&server, "/listeners", &expect);
}

/// Options: listeners.{addr}.responses
#[test]
fn a_server_sends_no_more_than_it_may() {
    let pool = Server::start("a:", 5);
    let server = start(&[&pool.address()], json!({ "responses": 2 }));
    let client = client(server.address().socket());
    check(&client, "x", "a:x");
    assert_eq!(hear(&client).as_deref(), Some("a:x"));
    expect_status(&server, "/connections/active", &json!(0));
    client.set_read_timeout(Some(Duration::from_millis(200))).expect("a time-out");
    assert_eq!(hear(&client), None);
    let silent = start(&[&pool.address()], json!({ "responses": 0 }));
    let client = self::client(silent.address().socket());
    client.send(b"x").expect("it is sent");
    expect_status(&silent, "/connections/dropped_datagrams", &json!(5));
    client.set_read_timeout(Some(Duration::from_millis(50))).expect("a time-out");
    assert_eq!(hear(&client), None);
}

#[test]
fn a_silent_session_ends() {
    let pool = Server::start("a:", 1);
    let server = start(&[&pool.address()], json!({ "idle_timeout": 1 }));
    let client = client(server.address().socket());
    check(&client, "x", "a:x");
    expect_status(&server, "/connections/active", &json!(0));
    check(&client, "y", "a:y");
    expect_status(&server, "/connections/accepted", &json!(2));
}

/// Options: listeners.{addr}.sessions
#[test]
fn there_are_only_so_many_sessions() {
    let pool = Server::start("a:", 1);
    let server = start(&[&pool.address()], json!({ "sessions": 2 }));
    let clients = [0; 3].map(|_| client(server.address().socket()));
    check(&clients[0], "x", "a:x");
    check(&clients[1], "x", "a:x");
    clients[2].send(b"x").expect("it is sent");
    expect_status(&server, "/connections/dropped_datagrams", &json!(1));
    check(&clients[0], "y", "a:y");
    let options = json!({ "limit_connections": { "connections": 1 } });
    let limited = start(&[&pool.address()], options);
    let clients = [0; 2].map(|_| client(limited.address().socket()));
    check(&clients[0], "x", "a:x");
    clients[1].send(b"x").expect("it is sent");
    expect_status(&limited, "/connections/dropped_datagrams", &json!(1));
}

#[test]
fn a_server_that_takes_none_is_avoided() {
    let (good, gone) = (Server::start("g:", 1), closed_address());
    let server = start(&[&gone, &good.address()], json!({}));
    for _ in 0..4 {
        assert_eq!(ask(&client(server.address().socket()), "x"), "g:x");
    }
    let at = format!("/upstreams/pool/servers/{gone}");
    expect_status(&server, &format!("{at}/state"), &json!("avoided"));
    server.expect_log("upstream \"pool\", server");
}

/// An address at which nothing listens.
fn closed_address() -> String {
    UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").to_string()
}

#[test]
fn a_client_gets_another_server_when_its_own_is_removed() {
    let (a, b) = (Server::start("a:", 1), Server::start("b:", 1));
    let server = start(&[&a.address()], json!({}));
    let client = client(server.address().socket());
    check(&client, "x", "a:x");
    let put = |servers: &[&str], options: Value| {
        let config = config(&server.address().to_string(), servers, options, json!({}));
        server.control().put("/config", &config).expect_done();
    };
    put(&[&a.address(), &b.address()], json!({ "idle_timeout": 60 }));
    check(&client, "y", "a:y");
    put(&[&b.address()], json!({}));
    check(&client, "z", "b:z");
    expect_status(&server, "/connections/active", &json!(1));
    server.control().put("/config", &json!({})).expect_done();
    UdpSocket::bind(server.address().socket()).expect("the address is free at once");
    expect_status(&server, "/connections/active", &json!(0));
}

#[test]
fn the_socket_outlives_an_upgrade_and_a_router() {
    let pool = Server::start("a:", 1);
    let mut server = start(&[&pool.address()], json!({}));
    let client = client(server.address().socket());
    check(&client, "x", "a:x");
    server.upgrade();
    assert_eq!(ask(&client, "y"), "a:y");
    let router = *server.named("router").last().expect("it runs");
    server.kill(router);
    let fresh = self::client(server.address().socket());
    assert_eq!(ask(&fresh, "z"), "a:z");
}

#[test]
fn a_thousand_clients_at_once() {
    corral_testkit::raise_descriptor_limit();
    let pool = Server::start("a:", 1);
    let server = start(&[&pool.address()], json!({ "responses": 1 }));
    for _ in 0..10 {
        let clients: Vec<_> = (0..100).map(|_| client(server.address().socket())).collect();
        clients.iter().for_each(|client| drop(client.send(b"x")));
        let n = clients.iter().filter_map(hear).filter(|heard| heard == "a:x").count();
        assert_eq!(n, 100);
    }
    expect_status(&server, "/connections/active", &json!(0));
    expect_status(&server, "/connections/accepted", &json!(1000));
}

#[test]
fn what_is_not_for_datagrams_is_refused() {
    let server = daemon().start_unconfigured();
    let check = |address: &str, options: Value, detail: &str| {
        let reply = server.control().put("/config", &config(address, &[], options, json!({})));
        assert_says(&reply.expect_refused(400, "Invalid configuration."), detail);
    };
    let address = Address::fresh().to_string();
    let others =
        [("drain_timeout", json!(1)), ("sni", json!({})), ("backlog", json!(1)), ("http2", json!(true))];
    for (name, value) in others {
        let detail = format!("The \"{name}\" option is for listeners whose \"protocol\" is");
        check(&address, json!({ name: value }), &detail);
    }
    check("unix:/tmp/x", json!({}), "A listener of UDP has an address with a port, and no Unix socket.");
    check(
        &format!("{address}/udp"),
        json!({ "protocol": "tcp" }),
        "The listener address ends in \"/udp\", and the \"protocol\" is \"tcp\": leave one of the two out.",
    );
    check(&address, json!({ "responses": -1 }), "The \"responses\" number must not be negative.");
    check(&address, json!({ "sessions": 0 }), "The \"sessions\" number must be equal to or greater than 1.");
}
