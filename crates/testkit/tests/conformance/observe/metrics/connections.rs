//! Connections by their protocol.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};

use corral_testkit::{Daemon, Origin, PATIENCE, daemon};
use serde_json::{Value, json};

use super::{expect_sample, samples};

#[track_caller]
fn expect_connections(server: &Daemon, protocol: &str, open: f64, begun: f64) {
    expect_sample(server, &format!("corral_connections_open{{protocol=\"{protocol}\"}}"), open);
    expect_sample(server, &format!("corral_connections_begun_total{{protocol=\"{protocol}\"}}"), begun);
}

/// Tests say themselves what their clients speak.
mod http1_only {
    use super::*;

    #[test]
    fn connections_of_http_1_begin_with_a_request() {
        let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
        let mut client = server.connect();
        client.get("/").expect(200);
        client.get("/").expect(200);
        let silent = server.connect();
        expect_connections(&server, "HTTP/1", 2.0, 1.0);
        drop(silent);
        expect_connections(&server, "HTTP/1", 1.0, 1.0);
        let mut wrong = server.connect();
        wrong.write("nonsense\r\n\r\n");
        wrong.read_response().expect(400);
        drop((client, wrong));
        expect_connections(&server, "HTTP/1", 0.0, 2.0);
        expect_connections(&server, "HTTP/2", 0.0, 0.0);
    }

    /// A server whose connections all go to this one.
    fn passing_on(protocol: &str, to: &str) -> Daemon {
        let server = daemon().start_unconfigured();
        let listener = json!({ "protocol": protocol, "pass": "upstreams/pool" });
        let config: Value = json!({
            "listeners": { server.address().to_string(): listener },
            "upstreams": { "pool": { "servers": { to: {} } } }
        });
        server.control().put("/config", &config).expect_done();
        server
    }

    #[test]
    fn connections_that_are_passed_on() {
        let origin = Origin::start(|peer| {
            let mut piece = peer.read();
            while !piece.is_empty() && peer.write(&piece) {
                piece = peer.read();
            }
        });
        let server = passing_on("tcp", &origin.address());
        let mut client = TcpStream::connect(server.address().socket()).expect("it listens");
        client.write_all(b"hello").expect("it reads");
        let mut heard = [0; 5];
        client.read_exact(&mut heard).expect("it answers");
        expect_connections(&server, "TCP", 1.0, 1.0);
        expect_connections(&server, "HTTP/1", 0.0, 0.0);
        drop(client);
        expect_connections(&server, "TCP", 0.0, 1.0);
    }

    #[test]
    fn sessions_of_datagrams() {
        let origin = UdpSocket::bind("127.0.0.1:0").expect("a port");
        origin.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        let server = passing_on("udp", &origin.local_addr().expect("an address").to_string());
        let client = UdpSocket::bind("127.0.0.1:0").expect("a port");
        client.send_to(b"hello", server.address().socket()).expect("it listens");
        let mut room = [0; 16];
        assert_eq!(origin.recv(&mut room).expect("it is passed on"), 5);
        expect_connections(&server, "UDP", 1.0, 1.0);
        client.send_to(b"again", server.address().socket()).expect("it listens");
        assert_eq!(origin.recv(&mut room).expect("it is passed on"), 5);
        expect_connections(&server, "UDP", 1.0, 1.0);
        assert_eq!(samples(&server)["corral_connections_accepted_total"], 1.0);
    }
}
