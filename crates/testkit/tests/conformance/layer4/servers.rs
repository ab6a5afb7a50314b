//! The servers that connections are passed on to: the choice among them, and those that do not answer.

use std::io::Read;
use std::net::TcpListener;

use corral_testkit::{Origin, assert_says, daemon};
use serde_json::{Value, json};

use super::{check_said, config, connect, expect_status, named, rest, start};

/// The names that so many connections hear.
fn heard(server: &corral_testkit::Daemon, n: usize) -> String {
    let hear = |_| {
        let mut name = [0];
        connect(server.address().socket()).read_exact(&mut name).expect("a name");
        char::from(name[0])
    };
    (0..n).map(hear).collect()
}

#[test]
fn servers_take_turns() {
    let (a, b) = (named("a"), named("b"));
    let server = daemon().start_unconfigured();
    let mut config = config(&server.address().to_string(), &[a.address(), b.address()], json!({}), json!({}));
    config["settings"] = json!({ "listen_threads": 1 });
    config["upstreams"]["pool"]["servers"][a.address()] = json!({ "weight": 3 });
    server.control().put("/config", &config).expect_done();
    let heard = heard(&server, 8);
    assert_eq!((heard.matches('a').count(), heard.matches('b').count()), (6, 2), "{heard}");
}

#[test]
fn a_client_keeps_its_server() {
    let origins = ["a", "b", "c", "d"].map(named);
    let servers: Vec<_> = origins.iter().map(Origin::address).collect();
    let server = start(&servers, json!({}), json!({ "balance": { "hash": "$remote_addr" } }));
    let heard = heard(&server, 12);
    assert_eq!(heard, heard[..1].repeat(12));
}

/// A server that refuses connections is not asked again for a while.
#[test]
fn the_next_server_is_tried() {
    let good = named("g");
    let bad = closed_address();
    let server = start(&[bad.clone(), good.address()], json!({}), json!({}));
    assert_eq!(heard(&server, 8), "g".repeat(8));
    let at = format!("/upstreams/pool/servers/{bad}");
    expect_status(&server, &format!("{at}/state"), &json!("avoided"));
    expect_status(&server, &format!("{at}/requests/active"), &json!(0));
    server.expect_log(&format!("upstream \"pool\", server \"http://{bad}\": connect"));
}

#[test]
fn without_a_server_the_connection_ends() {
    let server = start(&[closed_address()], json!({}), json!({}));
    assert_eq!(rest(&mut connect(server.address().socket())), "");
    expect_status(&server, "/connections/active", &json!(0));
    let empty = start(&[], json!({}), json!({}));
    assert_eq!(rest(&mut connect(empty.address().socket())), "");
    empty.expect_log("upstream \"pool\": no server is available, client 127.");
}

/// A server that takes no connection any more, as its queue is full, is given up after its time.
#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let full = TcpListener::bind("127.0.0.1:0").expect("a port");
    rustix::net::listen(&full, 0).expect("it listens");
    let address = full.local_addr().expect("an address");
    let _waiting: Vec<_> = (0..4).filter_map(|_| try_connect(address)).collect();
    let good = named("g");
    let group = json!({ "timeouts": { "connect": 1 } });
    let server = start(&[address.to_string(), good.address()], json!({}), group);
    assert_eq!(heard(&server, 2), "gg");
    expect_status(&server, &format!("/upstreams/pool/servers/{address}/requests/failed"), &json!(1));
}

fn try_connect(address: std::net::SocketAddr) -> Option<std::net::TcpStream> {
    std::net::TcpStream::connect_timeout(&address, std::time::Duration::from_millis(100)).ok()
}

/// An address at which nothing listens.
fn closed_address() -> String {
    corral_testkit::Address::fresh().to_string()
}

#[test]
fn a_unix_socket_can_be_a_listener_and_a_server() {
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};
    let server = daemon().start_unconfigured();
    let (front, back) = (server.path("front.sock"), server.path("back.sock"));
    let listener = UnixListener::bind(&back).expect("a path");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut heard = Vec::new();
            let _ = stream.read_to_end(&mut heard);
            let _ = stream.write_all(&heard);
        }
    });
    let unix = |path: &std::path::Path| format!("unix:{}", path.display());
    let config = config(&unix(&front), &[unix(&back)], json!({}), json!({}));
    std::os::unix::fs::chown(&back, Some(0), Some(0)).ok();
    std::fs::set_permissions(&back, std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("its mode");
    server.control().put("/config", &config).expect_done();
    let mut client = UnixStream::connect(&front).expect("it listens");
    client.write_all(b"there and back").expect("it takes bytes");
    client.shutdown(std::net::Shutdown::Write).expect("it is open");
    let mut heard = String::new();
    client.read_to_string(&mut heard).expect("the end");
    assert_eq!(heard, "there and back");
}

#[test]
fn options_of_requests_are_refused_by_name() {
    let server = daemon().start_unconfigured();
    let check = |listener: Value, detail: &str| {
        let config = config(&server.address().to_string(), &[], listener, json!({}));
        let reply = server.control().put("/config", &config);
        assert_says(&reply.expect_refused(400, "Invalid configuration."), detail);
    };
    check(
        json!({ "http2": true }),
        "The \"http2\" option is for listeners whose \"protocol\" is \"http\", and that of this one is \"tcp\".",
    );
    check(
        json!({ "protocol": "http", "idle_timeout": 5 }),
        "The \"idle_timeout\" option is for listeners whose \"protocol\" is \"tcp\"",
    );
    check(json!({ "pass": "routes" }), "Request \"pass\" points to invalid location \"routes\".");
    check(
        json!({ "pass": "upstreams/$host" }),
        "A listener whose \"protocol\" is \"tcp\" passes to servers alone.",
    );
    check(json!({ "protocol": "tpc" }), "The \"protocol\" value must be \"http\", \"tcp\", or \"udp\".");
    check(json!({ "idle_timeout": 0 }), "The \"idle_timeout\" number must be equal to or greater than 1.");
    check(
        json!({ "limit_connections": { "connections": 1, "key": "$host" } }),
        "Connections that are passed on are counted by their client's address alone.",
    );
}

#[test]
fn a_server_is_one_for_tcp_and_for_requests_alike() {
    let origin = Origin::saying("a");
    let server = daemon().start_unconfigured();
    let other = corral_testkit::Address::fresh();
    let mut config = config(&server.address().to_string(), &[origin.address()], json!({}), json!({}));
    config["listeners"][other.to_string()] = json!({ "pass": "upstreams/pool" });
    server.control().put("/config", &config).expect_done();
    corral_testkit::Client::connect(other.socket()).get("/").expect(200).expect_body("a");
    server.get("/").expect(200).expect_body("a");
    check_said(
        &mut connect(server.address().socket()),
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\n",
    );
}

/// Checks of servers that get no requests connect, and say nothing.
/// Options: upstreams.{N}.protocol
#[test]
fn checks_only_connect() {
    let (said, heard) = std::sync::mpsc::channel();
    let origin = Origin::start(move |peer| {
        let _ = said.send(peer.read());
    });
    let gone = closed_address();
    let group = json!({ "protocol": "tcp", "health": { "interval": 1, "falls": 1, "rises": 1 } });
    let server = start(&[origin.address(), gone.clone()], json!({}), group);
    let state = |address: &str| format!("/upstreams/pool/servers/{address}/state");
    expect_status(&server, &state(&gone), &json!("down"));
    for _ in 0..2 {
        assert_eq!(heard.recv_timeout(super::PATIENCE), Ok(Vec::new()));
    }
    expect_status(&server, &state(&origin.address()), &json!("up"));
}

#[test]
fn servers_of_connections_get_no_requests() {
    let server = daemon().routes(json!([])).start();
    let check = |config: Value, detail: &str| {
        let reply = server.control().put("/config", &config);
        assert_says(&reply.expect_refused(400, "Invalid configuration."), detail);
    };
    let pools = |pool: Value| json!({ "pool": pool });
    let servers = json!({ "127.0.0.1:1": {} });
    let raw = pools(json!({ "protocol": "tcp", "servers": servers }));
    let none = "The servers of this upstream get no requests, as its \"protocol\" is \"tcp\".";
    check(json!({ "listeners": { "127.0.0.1:1": { "pass": "upstreams/pool" } }, "upstreams": raw }), none);
    check(json!({ "routes": [{ "action": { "pass": "upstreams/pool" } }], "upstreams": raw }), none);
    let of_requests = |name| {
        format!(
            "The \"{name}\" option is for servers that get requests, and the \"protocol\" of these is \"tcp\"."
        )
    };
    for (name, value) in
        [("http2", json!(true)), ("sticky", json!({ "cookie": "a" })), ("keepalive", json!({}))]
    {
        let mut pool = json!({ "protocol": "tcp", "servers": servers });
        pool[name] = value;
        check(json!({ "upstreams": pools(pool) }), &of_requests(name));
    }
    let pool = json!({ "protocol": "tcp", "servers": servers, "health": { "path": "/" } });
    check(json!({ "upstreams": pools(pool) }), &of_requests("path"));
    for address in ["unix:/run/dns", "https://localhost:53"] {
        let config = json!({
            "listeners": { "127.0.0.1:1/udp": { "pass": "upstreams/pool" } },
            "upstreams": pools(json!({ "servers": { address: {} } })),
        });
        check(config, "Some servers of this upstream cannot be sent datagrams.");
    }
}
