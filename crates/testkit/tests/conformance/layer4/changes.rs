//! Connections over changes of the configuration, upgrades and the end.

use corral_testkit::{Signal, eventually, is_alive, signal};
use serde_json::json;

use super::{check_said, connect, finish, named, put, rest, shouting, start};

#[test]
fn a_change_leaves_connections_alone() {
    let (a, b) = (shouting(), named("b"));
    let server = start(&[a.address()], json!({}), json!({}));
    let mut client = connect(server.address().socket());
    check_said(&mut client, "x", "X");
    put(&server, &[b.address()], json!({ "idle_timeout": 5 }), json!({}));
    check_said(&mut connect(server.address().socket()), "", "b");
    check_said(&mut client, "y", "Y");
    finish(&client);
    assert_eq!(rest(&mut client), "bye");
}

/// Options: listeners.{addr}.drain_timeout
#[test]
fn connections_outlive_their_listener_for_a_while() {
    let origin = shouting();
    let server = start(&[origin.address()], json!({}), json!({}));
    let mut lasting = connect(server.address().socket());
    check_said(&mut lasting, "a", "A");
    server.control().put("/config", &json!({})).expect_done();
    assert!(std::net::TcpStream::connect(server.address().socket()).is_err(), "the listener is gone");
    check_said(&mut lasting, "b", "B");
    drop(lasting);
    put(&server, &[origin.address()], json!({ "drain_timeout": 1 }), json!({}));
    let mut short = connect(server.address().socket());
    check_said(&mut short, "a", "A");
    server.control().put("/config", &json!({})).expect_done();
    check_said(&mut short, "b", "B");
    assert_eq!(rest(&mut short), "");
}

/// New connections get what the listener has become, open ones stay what they are.
#[test]
fn a_listener_may_become_one_of_http_and_back() {
    let origin = shouting();
    let server = start(&[origin.address()], json!({}), json!({}));
    let mut raw = connect(server.address().socket());
    check_said(&mut raw, "a", "A");
    let requests = server.with_listener(json!({ "routes": [{ "action": { "return": 204 } }] }));
    server.control().put("/config", &requests).expect_done();
    let mut kept = server.connect();
    kept.get("/").expect(204);
    check_said(&mut raw, "b", "B");
    put(&server, &[origin.address()], json!({}), json!({}));
    assert!(kept.is_closed(), "a connection that waits for requests has none to wait for");
    check_said(&mut connect(server.address().socket()), "c", "C");
    check_said(&mut raw, "d", "D");
}

#[test]
fn connections_go_on_over_an_upgrade() {
    let origin = shouting();
    let mut server = start(&[origin.address()], json!({}), json!({}));
    let mut client = connect(server.address().socket());
    check_said(&mut client, "a", "A");
    let old = server.upgrade();
    check_said(&mut connect(server.address().socket()), "new", "NEW");
    check_said(&mut client, "b", "B");
    finish(&client);
    assert_eq!(rest(&mut client), "bye");
    eventually("the old process has nothing left to do", || (!is_alive(old)).then_some(()));
}

#[test]
fn a_graceful_end_waits_for_connections() {
    let origin = shouting();
    let mut server = start(&[origin.address()], json!({}), json!({}));
    let mut client = connect(server.address().socket());
    check_said(&mut client, "a", "A");
    signal(server.pid(), Signal::QUIT);
    check_said(&mut client, "b", "B");
    finish(&client);
    assert_eq!(rest(&mut client), "bye");
    assert!(server.wait_for_end().success());
}

#[test]
fn the_end_of_the_daemon_ends_them() {
    let origin = shouting();
    let mut server = start(&[origin.address()], json!({}), json!({}));
    let mut client = connect(server.address().socket());
    check_said(&mut client, "a", "A");
    assert!(server.stop().success());
    assert!(std::io::Read::read(&mut client, &mut [0]).is_ok_and(|n| n == 0));
}

/// Connections that a router has lost are not known to the next one, which takes new ones.
#[test]
fn a_router_that_dies_is_replaced() {
    let origin = shouting();
    let server = start(&[origin.address()], json!({}), json!({}));
    let router = server.named("router")[0];
    server.kill(router);
    eventually("the next router serves", || {
        let mut client = std::net::TcpStream::connect(server.address().socket()).ok()?;
        client.set_read_timeout(Some(super::PATIENCE)).ok()?;
        std::io::Write::write_all(&mut client, b"a").ok()?;
        std::io::Read::read_exact(&mut client, &mut [0]).ok()
    });
}
