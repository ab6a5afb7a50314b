//! One connection: bytes, ends, resets, silence.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use corral_testkit::{Origin, Width, daemon, dial, eventually, resident_memory};
use serde_json::json;

use super::{PATIENCE, check_said, connect, expect_status, finish, named, rest, shouting, start};

/// Options: listeners.{addr}.protocol
#[test]
fn bytes_go_through_as_they_are() {
    let origin = shouting();
    let server = start(&[origin.address()], json!({}), json!({}));
    let mut client = connect(server.address().socket());
    check_said(&mut client, "hello\r\n\r\n\0", "HELLO\r\n\r\n\0");
    check_said(&mut client, "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n");
    finish(&client);
    assert_eq!(rest(&mut client), "bye");
}

/// A client that has said all still hears, and so does a server.
#[test]
fn one_side_may_end_before_the_other() {
    let (said, heard) = std::sync::mpsc::channel();
    let origin = Origin::start(move |peer| {
        peer.write(b"first");
        peer.finish_writing();
        let mut heard = Vec::new();
        loop {
            let piece = peer.read();
            if piece.is_empty() {
                break;
            }
            heard.extend(piece);
        }
        said.send(heard).expect("the test waits");
    });
    let server = start(&[origin.address()], json!({}), json!({}));
    let mut client = connect(server.address().socket());
    assert_eq!(rest(&mut client), "first");
    client.write_all(b"last").expect("the server listens");
    finish(&client);
    assert_eq!(heard.recv_timeout(PATIENCE).as_deref(), Ok(&b"last"[..]));
    expect_status(&server, "/connections/active", &json!(0));
    let origin = shouting();
    super::put(&server, &[origin.address()], json!({}), json!({}));
    let mut client = connect(server.address().socket());
    client.write_all(b"x").expect("the server listens");
    finish(&client);
    assert_eq!(rest(&mut client), "Xbye");
}

/// A server that speaks first needs no word of the client.
#[test]
fn a_server_may_speak_first() {
    let origin = named("220 ready\r\n");
    let server = start(&[origin.address()], json!({}), json!({}));
    check_said(&mut connect(server.address().socket()), "", "220 ready\r\n");
}

/// A connection that breaks on one side is broken on the other: it is not taken for the end of a whole answer.
#[test]
fn resets_are_passed_on() {
    let origin = Origin::start(|peer| {
        peer.write(b"half of it");
        peer.read();
        peer.reset();
    });
    let server = start(&[origin.address()], json!({}), json!({}));
    let mut client = connect(server.address().socket());
    check_said(&mut client, "", "half of it");
    client.write_all(b"x").expect("the connection is open");
    let error = client.read(&mut [0; 16]).expect_err("no end, but a reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// A reset takes back nothing that the server has said before, and that a slow client has still to get.
#[test]
fn a_reset_comes_behind_the_bytes_before_it() {
    const LEN: usize = 32 << 10;
    let (said, heard) = std::sync::mpsc::channel();
    let origin = Origin::start(move |peer| {
        peer.write(&vec![b'x'; LEN]);
        peer.read();
        peer.reset();
        said.send(()).expect("the test waits");
    });
    let server = start(&[origin.address()], json!({}), json!({}));
    let address = server.address().socket();
    let mut client = dial(address.ip(), address, Width::Narrow).expect("the listener accepts");
    client.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    client.write_all(b"go on").expect("the connection is open");
    heard.recv_timeout(PATIENCE).expect("the server has reset the connection");
    let (mut n_heard, mut piece) = (0, [0; 4096]);
    let end = loop {
        match client.read(&mut piece) {
            Ok(n) if n > 0 => n_heard += n,
            end => break end,
        }
    };
    assert_eq!((n_heard, end.map_err(|error| error.kind())), (LEN, Err(ErrorKind::ConnectionReset)));
}

#[test]
fn a_server_hears_that_its_client_is_gone() {
    let (said, heard) = std::sync::mpsc::channel();
    let origin = Origin::start(move |peer| {
        peer.write(b"?");
        said.send(peer.read_error()).expect("the test waits");
    });
    let server = start(&[origin.address()], json!({}), json!({}));
    let mut client = connect(server.address().socket());
    check_said(&mut client, "", "?");
    rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).expect("a socket");
    drop(client);
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(Some(ErrorKind::ConnectionReset)));
    expect_status(&server, "/connections/active", &json!(0));
}

/// Options: listeners.{addr}.idle_timeout
#[test]
fn silence_ends_a_connection() {
    let origin = shouting();
    let server = start(&[origin.address()], json!({ "idle_timeout": 1 }), json!({}));
    let mut client = connect(server.address().socket());
    check_said(&mut client, "a", "A");
    assert_eq!(rest(&mut client), "");
}

/// Bytes of a fast sender wait where they are while the other side does not read: in the kernel's buffers.
#[test]
fn a_slow_reader_takes_no_memory() {
    const LEN: usize = 256 << 20;
    let origin = Origin::start(|peer| {
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..LEN / piece.len() {
            if !peer.write(&piece) {
                return;
            }
        }
    });
    let server = start(&[origin.address()], json!({}), json!({}));
    let router = server.named("router")[0];
    let before = resident_memory(router).expect("it runs");
    let mut clients: Vec<_> = (0..20).map(|_| connect(server.address().socket())).collect();
    for client in &mut clients {
        check_said(client, "", "xxxx");
    }
    expect_status(&server, "/connections/active", &json!(20));
    let grown = resident_memory(router).expect("it runs").saturating_sub(before);
    assert!(grown < 16 << 20, "the router has grown by {grown} bytes");
    let mut left = LEN - 4;
    let mut piece = vec![0; 1 << 20];
    while left > 0 {
        left -= clients[0].read(&mut piece).expect("more");
    }
    assert_eq!(clients[0].read(&mut piece).expect("the end"), 0);
}

#[test]
fn a_thousand_connections_at_once() {
    let origin = shouting();
    corral_testkit::raise_descriptor_limit();
    let server = start(&[origin.address()], json!({}), json!({}));
    let mut clients: Vec<TcpStream> = (0..1000).map(|_| connect(server.address().socket())).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        check_said(client, &format!("n{number}"), &format!("N{number}"));
    }
    expect_status(&server, "/connections/active", &json!(1000));
    drop(clients);
    expect_status(&server, "/connections/active", &json!(0));
}

/// Options: access_log.format
#[test]
fn access_logs_tell_of_each_connection() {
    let origin = shouting();
    let server = daemon().start_unconfigured();
    let address = server.address().to_string();
    let mut config = super::config(&address, &[origin.address()], json!({}), json!({}));
    let figures = "$status|$request_length|$body_bytes_sent|$connection_end";
    let format = format!("$remote_addr|$request_line|{figures}|$uri|$upstream_addr");
    config["access_log"] = json!([
        { "path": server.path("log.format"), "format": format },
        { "path": server.path("log.combined") },
        { "path": server.path("log.requests"), "if": "$request_uri" },
    ]);
    server.control().put("/config", &config).expect_done();
    let mut client = connect(server.address().socket());
    check_said(&mut client, "hello", "HELLO");
    finish(&client);
    assert_eq!(rest(&mut client), "bye");
    let ip = client.local_addr().expect("an address").ip();
    let line = format!("TCP {address} {}", origin.address());
    let read = |name: &str| std::fs::read_to_string(server.path(name)).unwrap_or_default();
    eventually("the entries are written", || (!read("log.combined").is_empty()).then_some(()));
    assert_eq!(read("log.format"), format!("{ip}|{line}|200|5|8|client|-|{}\n", origin.address()));
    let combined = read("log.combined");
    assert!(combined.starts_with(&format!("{ip} - - [")), "{combined}");
    assert!(combined.ends_with(&format!("] \"{line}\" 200 8 \"-\" \"-\"\n")), "{combined}");
    assert_eq!(read("log.requests"), "");
}
