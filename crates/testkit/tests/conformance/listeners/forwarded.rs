//! Addresses of clients that trusted peers forward (contract 8), and the PROXY protocol.

use corral_testkit::{Client, Daemon, Request, assert_says, daemon};
use serde_json::{Value, json};

/// A daemon whose listener has these options. Its only route answers with the client's address and scheme
/// as a Location.
#[track_caller]
fn start(options: Value) -> Daemon {
    let daemon = daemon().start_unconfigured();
    daemon.control().put("/config", &config(&daemon, options)).expect_done();
    daemon
}

fn config(daemon: &Daemon, options: Value) -> Value {
    let mut listener = options;
    listener["pass"] = json!("routes");
    json!({
        "listeners": { daemon.address().to_string(): listener },
        "routes": [
            { "match": { "scheme": "https" }, "action": { "return": 301, "location": "/tls/$remote_addr" } },
            { "action": { "return": 301, "location": "/$remote_addr" } }
        ]
    })
}

/// The client as the server sees it, and `tls/` in front if it is believed to speak TLS.
#[track_caller]
fn seen(client: &mut Client, fields: &[(&str, &str)]) -> String {
    let request = fields.iter().fold(Request::get("/"), |request, (name, value)| request.field(name, value));
    let reply = client.send(&request).expect(301);
    reply.field("Location").unwrap_or_default().trim_start_matches('/').to_owned()
}

/// `expect` is the client, or nothing when it is the peer itself.
#[track_caller]
fn check(daemon: &Daemon, fields: &[(&str, &str)], expect: &str) {
    let own = daemon.address().socket().ip().to_string();
    let expect = if expect.is_empty() { "127.0.0.1" } else { expect };
    let found = seen(&mut daemon.connect(), fields);
    // The kernel takes the listener's address for the client's as well, all of 127/8 being this machine.
    let found = if found == own { "127.0.0.1".to_owned() } else { found };
    assert_eq!(found, expect, "{fields:?}");
}

/// Options: listeners.{addr}.forwarded.source, listeners.{addr}.forwarded.client_ip
#[test]
fn the_last_address_of_a_trusted_peer_counts() {
    let daemon = start(json!({ "forwarded": { "source": "127.0.0.0/8", "client_ip": "X-Forwarded-For" } }));
    check(&daemon, &[], "");
    check(&daemon, &[("X-Forwarded-For", "192.0.2.1")], "192.0.2.1");
    check(&daemon, &[("x-forwarded-for", "192.0.2.1, 192.0.2.2")], "192.0.2.2");
    check(
        &daemon,
        &[("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-For", "192.0.2.2 192.0.2.3")],
        "192.0.2.3",
    );
    check(&daemon, &[("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-For", "")], "192.0.2.1");
    check(&daemon, &[("X-Forwarded-For", "192.0.2.1:8080")], "192.0.2.1");
    check(&daemon, &[("X-Forwarded-For", "2001:db8::1")], "2001:db8::1");
    check(&daemon, &[("X-Forwarded-For", "[2001:db8::1]:443")], "2001:db8::1");
    check(&daemon, &[("X-Forwarded-For", "::11.22.33.44")], "::11.22.33.44");
    for nonsense in ["unknown", "0.0.0.0", "::", "192.0.2.1, x", "unix:/x"] {
        check(&daemon, &[("X-Forwarded-For", nonsense)], "");
    }
}

#[test]
fn nobody_else_is_believed() {
    for source in [json!([]), json!("192.0.2.0/24"), json!(["!127.0.0.0/8"]), json!("unix")] {
        let daemon =
            start(json!({ "forwarded": { "source": source, "client_ip": "X-F", "protocol": "X-P" } }));
        check(&daemon, &[("X-F", "192.0.2.1"), ("X-P", "https")], "");
    }
}

/// Options: listeners.{addr}.forwarded.recursive
#[test]
fn trusted_proxies_are_skipped() {
    let source = json!(["127.0.0.0/8", "10.0.0.0/8"]);
    let daemon = start(json!({ "forwarded": { "source": source, "client_ip": "X-F", "recursive": true } }));
    check(&daemon, &[("X-F", "192.0.2.1, 10.0.0.1, 10.0.0.2")], "192.0.2.1");
    check(&daemon, &[("X-F", "192.0.2.1, 192.0.2.2, 10.0.0.2")], "192.0.2.2");
    check(&daemon, &[("X-F", "192.0.2.1"), ("X-F", "10.0.0.1")], "192.0.2.1");
    check(&daemon, &[("X-F", "10.0.0.9, 10.0.0.1")], "10.0.0.9");
    check(&daemon, &[("X-F", "192.0.2.1, x, 10.0.0.1")], "10.0.0.1");
    check(&daemon, &[("X-F", "x")], "");
}

/// Options: listeners.{addr}.forwarded.protocol
#[test]
fn the_scheme_of_a_trusted_peer_counts() {
    let daemon = start(json!({ "forwarded": { "source": "127.0.0.0/8", "protocol": "X-Forwarded-Proto" } }));
    let scheme = |values: &[&str]| {
        let fields: Vec<_> = values.iter().map(|value| ("X-Forwarded-Proto", *value)).collect();
        if seen(&mut daemon.connect(), &fields).starts_with("tls/") { "https" } else { "http" }
    };
    assert_eq!(scheme(&[]), "http");
    assert_eq!(scheme(&["https"]), "https");
    assert_eq!(scheme(&["HTTPS"]), "https");
    assert_eq!(scheme(&["on"]), "https");
    assert_eq!(scheme(&["http", "https"]), "http");
    assert_eq!(scheme(&["", "https"]), "https");
    assert_eq!(scheme(&["wss"]), "http");
}

/// Options: listeners.{addr}.client_ip.source, listeners.{addr}.client_ip.header, listeners.{addr}.client_ip.recursive
#[test]
fn the_old_option_still_works_and_comes_second() {
    let daemon = start(json!({ "client_ip": { "source": "127.0.0.0/8", "header": "X-Old" } }));
    check(&daemon, &[("X-Old", "192.0.2.1, 192.0.2.2")], "192.0.2.2");
    let both = json!({
        "forwarded": { "source": "127.0.0.0/8", "client_ip": "X-New" },
        "client_ip": { "source": "192.0.2.0/24", "header": "X-Old", "recursive": true }
    });
    let daemon = start(both);
    check(&daemon, &[("X-New", "192.0.2.1"), ("X-Old", "198.51.100.1, 192.0.2.9")], "198.51.100.1");
    check(&daemon, &[("X-New", "203.0.113.1"), ("X-Old", "198.51.100.1")], "203.0.113.1");
}

#[test]
fn peers_on_unix_sockets() {
    let daemon = daemon().start_unconfigured();
    let path = daemon.path("run/web.sock");
    let mut document = config(&daemon, json!({ "forwarded": { "source": "unix", "client_ip": "X-F" } }));
    let listener = document["listeners"][daemon.address().to_string()].take();
    document["listeners"] = json!({ format!("unix:{}", path.display()): listener });
    daemon.control().put("/config", &document).expect_done();
    let mut client = Client::try_connect_unix(&path).unwrap();
    assert_eq!(seen(&mut client, &[("X-F", "192.0.2.1")]), "192.0.2.1");
    assert_eq!(seen(&mut client, &[]), "unix:");
}

#[test]
fn bad_options_are_named() {
    let daemon = start(json!({}));
    let detail = |options: Value| {
        let document = config(&daemon, options);
        daemon.control().put("/config", &document).expect_refused(400, "Invalid configuration.")
    };
    let either = "The \"forwarded\" object must have either \"client_ip\" or \"protocol\" option set.";
    assert_says(&detail(json!({ "forwarded": { "source": "*:80" } })), either);
    let missing = "Required parameter \"source\" is missing.";
    assert_says(&detail(json!({ "forwarded": { "client_ip": "X" } })), missing);
    assert_says(&detail(json!({ "proxy_protocol": {} })), missing);
    let header = "Required parameter \"header\" is missing.";
    assert_says(&detail(json!({ "client_ip": { "source": "*:80" } })), header);
    let format = "The \"address\" format is invalid.";
    assert_says(&detail(json!({ "forwarded": { "source": "nonsense", "client_ip": "X" } })), format);
}

/// The client's address that the server sees behind this PROXY protocol header.
#[track_caller]
fn proxied(daemon: &Daemon, header: &[u8]) -> String {
    let mut client = daemon.connect();
    client.write(header);
    seen(&mut client, &[])
}

fn binary(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(body.len()).expect("a short body").to_be_bytes();
    [b"\r\n\r\n\0\r\nQUIT\n", &[command, family][..], &len, body].concat()
}

#[test]
fn a_proxy_header_may_come_in_pieces_and_stays_for_the_connection() {
    let daemon = start(json!({ "proxy_protocol": { "source": "127.0.0.0/8" } }));
    let mut client = daemon.connect();
    for byte in b"PROXY TCP4 192.0.2.1 192.0.2.2 1234 80\r\n" {
        client.write([*byte]);
    }
    assert_eq!(seen(&mut client, &[]), "192.0.2.1");
    assert_eq!(seen(&mut client, &[]), "192.0.2.1");
}

#[test]
fn a_connection_without_the_header_is_closed() {
    let daemon = start(json!({ "proxy_protocol": { "source": "127.0.0.0/8" } }));
    for bytes in ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "PROXY TCP4 1.2.3.4\r\n", "PROXY TCP9 x\r\n"] {
        let mut client = daemon.connect();
        client.write(bytes);
        // Closed with what the client has sent unread, which may show as a reset.
        assert!(client.try_read_response_to("GET").is_err());
    }
    daemon.expect_log("PROXY protocol");
}

#[test]
fn the_header_of_others_is_no_request() {
    let daemon = start(json!({ "proxy_protocol": { "source": "192.0.2.1" } }));
    check(&daemon, &[], "");
    let mut client = daemon.connect();
    client.write("PROXY TCP4 192.0.2.1 192.0.2.2 1234 80\r\n\r\n");
    client.read_response().expect(400);
}

#[test]
fn forwarded_trusts_the_address_of_the_proxy_protocol() {
    let daemon = start(json!({
        "proxy_protocol": { "source": "127.0.0.0/8" },
        "forwarded": { "source": "192.0.2.1", "client_ip": "X-F" }
    }));
    let said = |header: &[u8]| {
        let mut client = daemon.connect();
        client.write(header);
        seen(&mut client, &[("X-F", "198.51.100.1")])
    };
    assert_eq!(said(b"PROXY TCP4 192.0.2.1 192.0.2.2 1234 80\r\n"), "198.51.100.1");
    assert_eq!(said(b"PROXY TCP4 192.0.2.5 192.0.2.2 1234 80\r\n"), "192.0.2.5");
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// Options: listeners.{addr}.proxy_protocol.source
    #[test]
    fn the_proxy_protocol_names_the_client() {
        let daemon = start(json!({ "proxy_protocol": { "source": "127.0.0.0/8" } }));
        let own = daemon.address().socket().ip().to_string();
        assert_eq!(proxied(&daemon, b"PROXY TCP4 192.0.2.1 192.0.2.2 1234 80\r\n"), "192.0.2.1");
        assert_eq!(proxied(&daemon, b"PROXY TCP6 2001:db8::1 ::1 1234 80\r\n"), "2001:db8::1");
        assert!([own.as_str(), "127.0.0.1"].contains(&proxied(&daemon, b"PROXY UNKNOWN\r\n").as_str()));
        let mut body = vec![192, 0, 2, 9, 192, 0, 2, 2, 4, 210, 0, 80];
        assert_eq!(proxied(&daemon, &binary(0x21, 0x11, &body)), "192.0.2.9");
        body.extend_from_slice(&[4, 0, 1, 0]);
        assert_eq!(proxied(&daemon, &binary(0x21, 0x11, &body)), "192.0.2.9");
        assert!([own.as_str(), "127.0.0.1"].contains(&proxied(&daemon, &binary(0x20, 0, b"")).as_str()));
        assert_eq!(proxied(&daemon, &binary(0x21, 0x31, &[0; 216])), "unix:");
    }
}
