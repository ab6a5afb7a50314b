//! Listeners whose connections go to servers as they are.

mod changes;
mod connections;
mod databases;
mod limits;
mod servers;
mod tls;
mod udp;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use corral_testkit::{Daemon, Origin, daemon, eventually};
use serde_json::{Value, json};

/// How long a test waits for bytes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A configuration whose only listener passes on to these servers, with further options of the listener and of the
/// group.
fn config(address: &str, servers: &[String], listener: Value, group: Value) -> Value {
    let members: serde_json::Map<_, _> = servers.iter().map(|server| (server.clone(), json!({}))).collect();
    let mut upstream = json!({ "servers": members });
    merge(&mut upstream, group);
    let mut options = json!({ "protocol": "tcp", "pass": "upstreams/pool" });
    merge(&mut options, listener);
    json!({ "listeners": { address: options }, "upstreams": { "pool": upstream } })
}

fn merge(into: &mut Value, from: Value) {
    let Value::Object(from) = from else { panic!("options are an object") };
    from.into_iter().for_each(|(name, value)| into[name] = value);
}

/// A daemon that passes its connections on.
#[track_caller]
fn start(servers: &[String], listener: Value, group: Value) -> Daemon {
    let server = daemon().start_unconfigured();
    put(&server, servers, listener, group);
    server
}

#[track_caller]
fn put(server: &Daemon, servers: &[String], listener: Value, group: Value) {
    let config = config(&server.address().to_string(), servers, listener, group);
    server.control().put("/config", &config).expect_done();
}

/// A server that shouts back what it gets, and says `bye` at the end.
fn shouting() -> Origin {
    Origin::start(|peer| {
        loop {
            let piece = peer.read();
            if piece.is_empty() {
                peer.write(b"bye");
                return;
            }
            peer.write(&piece.to_ascii_uppercase());
        }
    })
}

/// A server that says its name at once, and nothing more until the client has ended.
fn named(name: &'static str) -> Origin {
    Origin::start(move |peer| {
        peer.write(name.as_bytes());
        while !peer.read().is_empty() {}
    })
}

#[track_caller]
fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the listener accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    stream
}

/// Sends `said`, and reads as many bytes as are expected.
#[track_caller]
fn check_said(stream: &mut TcpStream, said: &str, expect: &str) {
    stream.write_all(said.as_bytes()).expect("the connection takes bytes");
    let mut heard = vec![0; expect.len()];
    stream.read_exact(&mut heard).expect("an answer");
    assert_eq!(String::from_utf8_lossy(&heard), expect);
}

/// All that comes until the end.
#[track_caller]
fn rest(stream: &mut TcpStream) -> String {
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).expect("the end");
    String::from_utf8_lossy(&heard).into_owned()
}

#[track_caller]
fn finish(stream: &TcpStream) {
    stream.shutdown(Shutdown::Write).expect("it is open");
}

/// Waits until the status has this value at a JSON pointer.
#[track_caller]
fn expect_status(server: &Daemon, pointer: &str, expect: &Value) {
    eventually(&format!("{pointer} is {expect}"), || {
        let status = server.control().get("/status").json();
        (status.pointer(pointer) == Some(expect)).then_some(())
    });
}
