//! How many connections there may be: of one client, and of all.

use std::io::Read;

use corral_testkit::{daemon, eventually};
use serde_json::json;

use super::{check_said, config, connect, expect_status, rest, shouting, start};

#[test]
fn a_client_has_so_many_connections() {
    let origin = shouting();
    let limit = json!({ "limit_connections": { "connections": 2 } });
    let server = start(&[origin.address()], limit, json!({}));
    let mut clients = [0; 2].map(|_| connect(server.address().socket()));
    clients.iter_mut().for_each(|client| check_said(client, "a", "A"));
    assert_eq!(rest(&mut connect(server.address().socket())), "");
    drop(clients);
    eventually("there is room again", || {
        let mut client = connect(server.address().socket());
        std::io::Write::write_all(&mut client, b"a").ok()?;
        client.read_exact(&mut [0]).ok()
    });
    let limits = server.control().get("/status").json()["limits"].clone();
    let limit = limits.as_object().and_then(|limits| limits.values().next()).expect("it is there");
    assert!(limit["refused"].as_u64().is_some_and(|n| n >= 1), "{limits}");
}

#[test]
fn they_count_among_all_connections() {
    let origin = shouting();
    let server = daemon().start_unconfigured();
    let mut config = config(&server.address().to_string(), &[origin.address()], json!({}), json!({}));
    config["settings"] = json!({ "limits": { "connections_per_address": 1 } });
    server.control().put("/config", &config).expect_done();
    let mut first = connect(server.address().socket());
    check_said(&mut first, "a", "A");
    assert_eq!(rest(&mut connect(server.address().socket())), "");
    expect_status(&server, "/connections/refused", &json!(1));
    config["settings"] = json!({ "limits": { "connections": 1 } });
    server.control().put("/config", &config).expect_done();
    let mut second = connect(server.address().socket());
    second.set_read_timeout(Some(std::time::Duration::from_millis(300))).expect("a time-out");
    std::io::Write::write_all(&mut second, b"b").expect("the kernel takes it");
    assert!(second.read(&mut [0]).is_err(), "it waits to be accepted");
    check_said(&mut first, "c", "C");
    drop(first);
    second.set_read_timeout(Some(super::PATIENCE)).expect("a time-out");
    check_said(&mut second, "", "B");
}
