//! TLS: ended at the listener, or passed on to the server that the client's name chooses.

use std::io::{Read, Write};
use std::net::Shutdown;

use corral_testkit::{Authority, Client, Daemon, Origin, Request, TlsClient, assert_says, daemon};
use serde_json::{Value, json};

use super::{PATIENCE, check_said, connect, expect_status, named, rest, shouting};

/// A server with a certificate for one name, that says it.
fn secret(authority: &Authority, name: &str) -> Origin {
    let said = name.to_owned();
    Origin::start_tls(&authority.server(name, &[name]), move |peer| {
        peer.read_request();
        peer.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{said}", said.len()).as_bytes());
    })
}

/// The name of the server that a client gets.
fn answer(server: &Daemon, tls: &TlsClient, host: &str) -> Option<String> {
    let mut client = Client::try_connect_tls(server.address().socket(), tls, host).ok()?;
    client.try_send(&Request::get("/")).ok().map(|reply| reply.text())
}

fn group(origin: &Origin) -> Value {
    json!({ "servers": { origin.address(): {} } })
}

struct Names {
    server: Daemon,
    authority: Authority,
    _origins: Vec<Origin>,
}

/// A listener that leads to servers by name; those of `pass` say `rest`.
fn names(listener: Value) -> Names {
    let authority = Authority::new("names");
    let (db, any) = (secret(&authority, "db.example.com"), secret(&authority, "a.b.example.org"));
    let rest = named("rest");
    let server = daemon().start_unconfigured();
    let mut options = json!({
        "protocol": "tcp",
        "sni": { "db.example.com": "upstreams/db", "*.Example.org": "upstreams/any" }
    });
    super::merge(&mut options, listener);
    let config = json!({
        "listeners": { server.address().to_string(): options },
        "upstreams": { "db": group(&db), "any": group(&any), "rest": group(&rest) },
        "settings": { "http": { "header_read_timeout": 2 } },
        "access_log": { "path": server.path("log.tcp"), "format": "$tls_server_name $status $connection_end" }
    });
    server.control().put("/config", &config).expect_done();
    Names { server, authority, _origins: vec![db, any, rest] }
}

/// Options: listeners.{addr}.sni.{name}
#[test]
fn a_name_chooses_the_server() {
    let Names { server, authority, .. } = &names(json!({ "pass": "upstreams/rest" }));
    let tls = TlsClient::new(authority);
    assert_eq!(answer(server, &tls, "db.example.com").as_deref(), Some("db.example.com"));
    assert_eq!(answer(server, &tls, "a.b.example.org").as_deref(), Some("a.b.example.org"));
    assert_eq!(answer(server, &tls, "www.example.com"), None, "what speaks there is not TLS");
    check_said(&mut connect(server.address().socket()), "not TLS", "rest");
    let log = || std::fs::read_to_string(server.path("log.tcp")).unwrap_or_default();
    corral_testkit::eventually("the log has the name", || {
        log().contains("db.example.com 200 ").then_some(())
    });
}

#[test]
fn without_pass_other_clients_are_turned_away() {
    let Names { server, authority, .. } = &names(json!({}));
    let tls = TlsClient::new(authority);
    assert_eq!(answer(server, &tls, "db.example.com").as_deref(), Some("db.example.com"));
    assert_eq!(answer(server, &tls, "example.org"), None);
    let mut client = connect(server.address().socket());
    client.write_all(b"not TLS").expect("it takes bytes");
    // Bytes that were not read make it a reset.
    assert!(!matches!(client.read(&mut [0]), Ok(1..)));
    expect_status(server, "/connections/active", &json!(0));
}

/// The first message in pieces: single bytes in packets of their own, and in records of their own.
#[test]
fn the_first_message_may_come_in_pieces() {
    let Names { server, .. } = &names(json!({}));
    let hello = hello("db.example.com");
    let records: Vec<u8> = hello[5..].iter().flat_map(|byte| [0x16, 3, 1, 0, 1, *byte]).collect();
    for message in [&hello, &records] {
        let mut client = connect(server.address().socket());
        client.set_nodelay(true).expect("a socket");
        for piece in message.chunks(7) {
            client.write_all(piece).expect("it takes bytes");
        }
        let mut answer = [0; 6];
        client.read_exact(&mut answer).expect("the server's first message");
        assert_eq!((answer[0], answer[5]), (0x16, 2), "{answer:?}");
    }
}

/// A first message of TLS as rustls sends it.
fn hello(name: &str) -> Vec<u8> {
    let config = TlsClient::new(&Authority::new("anybody")).config();
    let name = name.to_owned().try_into().expect("a name");
    let mut connection = rustls::ClientConnection::new(config, name).expect("a session");
    let mut hello = Vec::new();
    connection.write_tls(&mut hello).expect("it is written to memory");
    hello
}

#[test]
fn hostile_first_messages_end_early() {
    let Names { server, .. } = &names(json!({ "pass": "upstreams/rest" }));
    let hello = hello("db.example.com");
    // Neither a name nor an end.
    let mut endless = connect(server.address().socket());
    let record = [&[0x16, 3, 1, 0x20, 0][..], &[1, 0, 0xff, 0xff], &[0; 0x1ffc]].concat();
    for _ in 0..8 {
        if endless.write_all(&record).is_err() {
            break;
        }
    }
    assert!(!matches!(endless.read(&mut [0]), Ok(1..)), "it is not passed on");
    // Nothing more comes.
    let mut silent = connect(server.address().socket());
    silent.write_all(&hello[..20]).expect("it takes bytes");
    assert_eq!(rest(&mut silent), "");
    // The client leaves in the middle.
    for len in [1, 5, 6, 40, hello.len() - 1] {
        let mut client = connect(server.address().socket());
        client.write_all(&hello[..len]).expect("it takes bytes");
        client.shutdown(Shutdown::Write).expect("it is open");
        client.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        assert!(!matches!(client.read(&mut [0]), Ok(1..)), "{len}");
    }
    // What rustls takes for a broken message goes where everything else goes.
    for at in 5..hello.len().min(120) {
        let mut damaged = hello.clone();
        damaged[at] ^= 0xff;
        damaged.extend([0; 64]);
        let mut client = connect(server.address().socket());
        client.write_all(&damaged).expect("it takes bytes");
        client.shutdown(Shutdown::Write).expect("it is open");
    }
    expect_status(server, "/connections/active", &json!(0));
}

#[test]
fn a_listener_may_speak_tls_for_its_servers() {
    let authority = Authority::new("ended here");
    let origin = shouting();
    let server = daemon().start_unconfigured();
    let bundle = authority.server("localhost", &["localhost", "db.example.com"]);
    server.control().send(&Request::new("PUT", "/certificates/ours").body(bundle.pem())).0.expect(200);
    let tls = json!({ "tls": { "certificate": "ours" } });
    let config = super::config(&server.address().to_string(), &[origin.address()], tls, json!({}));
    server.control().put("/config", &config).expect_done();
    // A protocol that the listener has never heard of.
    let client = TlsClient::new(&authority).protocols(&["postgresql"]);
    let mut client = Client::connect_tls(server.address().socket(), &client, "localhost");
    client.write("hello");
    client.read_until_text("HELLO");
    client.finish_writing();
    client.read_until_text("bye");
    let mut plain = connect(server.address().socket());
    plain.write_all(b"no TLS at all").expect("it takes bytes");
    assert!(!matches!(plain.read(&mut [0]), Ok(1..)));
    expect_status(&server, "/connections/active", &json!(0));
    // A name chooses among the servers, too.
    let named = named("other");
    let mut config = config;
    config["upstreams"]["other"] = group(&named);
    let listener = &mut config["listeners"][server.address().to_string()];
    listener["sni"] = json!({ "db.example.com": "upstreams/other" });
    server.control().put("/config", &config).expect_done();
    let client = TlsClient::new(&authority);
    let mut other = Client::connect_tls(server.address().socket(), &client, "db.example.com");
    other.read_until_text("other");
    let mut first = Client::connect_tls(server.address().socket(), &client, "localhost");
    first.write("a");
    first.read_until_text("A");
}

#[test]
fn wrong_names_are_refused() {
    let server = daemon().start_unconfigured();
    let check = |sni: Value, detail: &str| {
        let listener = json!({ "sni": sni });
        let config = super::config(&server.address().to_string(), &[], listener, json!({}));
        let reply = server.control().put("/config", &config);
        assert_says(&reply.expect_refused(400, "Invalid configuration."), detail);
    };
    for name in ["", "*", "*.", "127.0.0.1", "a b", "a.example:443", "a.*.example", "https://a.example"] {
        check(json!({ name: "upstreams/pool" }), &format!("The \"sni\" name \"{name}\" is not a host name."));
    }
    check(json!({ "a.example": "upstreams/none" }), "There is no upstream \"upstreams/none\".");
    check(json!({ "a.example": "routes" }), "There is no upstream \"routes\".");
    check(
        json!({ "a.example": "upstreams/pool", "A.example.": "upstreams/pool" }),
        "The \"sni\" name \"A.example.\" is there already.",
    );
}
