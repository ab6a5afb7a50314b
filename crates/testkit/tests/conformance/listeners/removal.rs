//! Listeners that are removed, and what becomes of their connections.

use std::time::{Duration, Instant};

use corral_testkit::{Address, Authority, Client, Request, daemon, eventually};
use serde_json::json;

use super::{check_answers, config, start};

#[test]
fn a_removed_listener_closes_its_socket_and_idle_connections() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let mut idle = server.connect();
    idle.get("/").expect(200);
    server.control().put("/config/listeners", &json!({})).expect_done();
    assert!(Client::try_connect(server.address().socket()).is_err());
    eventually("the idle connection is closed", || idle.is_closed().then_some(()));
}

/// Nothing of theirs is lost: no request has begun.
#[test]
fn a_removed_listener_ends_connections_that_have_not_begun() {
    let trusted = json!({ "source": "127.0.0.0/8" });
    for (name, members, sent) in [
        ("plain, silent", json!({}), ""),
        ("PROXY, silent", json!({ "proxy_protocol": trusted }), ""),
        ("PROXY, half a header", json!({ "proxy_protocol": trusted }), "PROXY TCP4 192.0"),
        ("TLS, silent", json!({ "tls": { "certificate": "a" } }), ""),
        ("TLS, half a greeting", json!({ "tls": { "certificate": "a" } }), "\x16\x03\x01\x02\x00\x01"),
        ("both, silent", json!({ "tls": { "certificate": "a" }, "proxy_protocol": trusted }), ""),
        (
            "both, half a greeting",
            json!({ "tls": { "certificate": "a" }, "proxy_protocol": trusted }),
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n\x16\x03",
        ),
    ] {
        let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
        let bundle = Authority::new("Testers").server("a", &["a.example"]).pem();
        server.control().put_text("/certificates/a", &bundle).0.expect(200);
        let address = server.address().to_string();
        let mut listener = json!({ "pass": "routes" });
        listener.as_object_mut().expect("it is one").extend(members.as_object().expect("they are").clone());
        server.control().put("/config/listeners", &json!({ address: listener })).expect_done();
        let mut silent = server.connect();
        silent.write(sent);
        eventually("it is accepted", || {
            (server.control().get("/status/connections/accepted").json().as_u64() >= Some(1)).then_some(())
        });
        server.control().put("/config/listeners", &json!({})).expect_done();
        let begun = Instant::now();
        eventually(&format!("{name}: it is closed"), || silent.is_closed().then_some(()));
        assert!(begun.elapsed() < Duration::from_secs(5), "{name}: {:?}", begun.elapsed());
        let logged = server.log();
        assert!(!logged.contains("not ready in time"), "{name}: {logged}");
    }
}

#[test]
fn idle_connections_of_a_removed_listener_are_closed_and_others_stay() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let other = Address::fresh();
    let pointer = format!("/config/listeners/{other}");
    server.control().put(&pointer, &json!({ "pass": "routes" })).expect_done();
    let mut leaving = Client::connect(other.socket());
    leaving.get("/").expect(200);
    let mut staying = server.connect();
    staying.get("/").expect(200);
    server.control().delete(&pointer).expect_done();
    assert!(leaving.is_closed());
    staying.get("/").expect(200);
}

#[test]
fn a_removed_listener_is_gone_and_its_idle_connections_with_it() {
    let (kept, removed) = (Address::fresh(), Address::fresh());
    let daemon = start(&[&kept.to_string(), &removed.to_string()]);
    let mut used = Client::connect(removed.socket());
    used.get("/").expect(200);
    let mut silent = Client::connect(removed.socket());
    let mut elsewhere = Client::connect(kept.socket());
    elsewhere.get("/").expect(200);
    daemon.control().put("/config", &config(&[&kept.to_string()])).expect_done();
    assert!(used.is_closed());
    assert!(silent.is_closed());
    assert!(Client::try_connect(removed.socket()).is_err());
    elsewhere.get("/").expect(200);
    daemon.control().put("/config", &config(&[&kept.to_string(), &removed.to_string()])).expect_done();
    check_answers(removed.socket());
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn a_request_that_has_begun_is_answered_though_its_listener_goes() {
        let address = Address::fresh();
        let daemon = start(&[&address.to_string()]);
        let mut client = Client::connect(address.socket());
        let request = Request::get("/").encode();
        let (start, rest) = request.split_at(10);
        client.write(start);
        let active = || daemon.control().get("/status/connections/active").0.text().trim() == "1";
        eventually("the request has begun", || active().then_some(()));
        daemon.control().put("/config", &config(&[])).expect_done();
        client.write(rest);
        client.read_response().expect(200).expect_field("Connection", "close");
        assert!(client.is_closed());
    }
}
