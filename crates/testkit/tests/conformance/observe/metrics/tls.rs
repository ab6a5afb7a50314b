//! Handshakes of TLS: their versions, and why some fail.

use std::io::Write;
use std::net::TcpStream;

use corral_testkit::{Authority, Client, Daemon, Request, TlsClient, daemon};
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};

use super::{eventually, expect_sample, samples};

/// A daemon that speaks TLS, with further options of it.
fn start(options: Value) -> (Daemon, Authority) {
    let (server, authority) = (daemon().start_unconfigured(), Authority::new("Testers"));
    let upload = |name: &str, pem: &str| server.control().put_text(&format!("/certificates/{name}"), pem).0;
    upload("a", &authority.server("a", &["localhost"]).pem()).expect(200);
    upload("ca", &authority.bundle().pem()).expect(200);
    let mut tls = options;
    tls["certificate"] = json!("a");
    let config = json!({
        "settings": { "http": { "header_read_timeout": 1 } },
        "listeners": { server.address().to_string(): { "pass": "routes", "tls": tls } },
        "routes": [{ "action": { "return": 200 } }]
    });
    server.control().put("/config", &config).expect_done();
    (server, authority)
}

/// Waits until so many handshakes have failed for this reason, and none for another one.
#[track_caller]
fn expect_failed(server: &Daemon, reason: &str, n: f64) {
    eventually(reason, || {
        let samples = samples(server);
        let failed =
            samples.iter().filter(|(name, _)| name.starts_with("corral_tls_handshake_failures_total"));
        let expected = format!("corral_tls_handshake_failures_total{{reason=\"{reason}\"}}");
        failed.clone().all(|(name, failed)| *failed == if *name == expected { n } else { 0.0 }).then_some(())
    });
}

#[track_caller]
fn expect_handshakes(server: &Daemon, version: &str, session: &str, n: f64) {
    let name = format!("corral_tls_handshakes_total{{version=\"{version}\",session=\"{session}\"}}");
    expect_sample(server, &name, n);
}

/// Sends bytes that are not a handshake on a connection of its own.
#[track_caller]
fn say(server: &Daemon, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.address().socket()).expect("it listens");
    stream.write_all(bytes).expect("it reads");
    stream
}

/// Connections begin before there is a request.
mod http1_only {
    use super::*;

    #[test]
    fn handshakes_are_counted_by_version_and_session() {
        let (server, authority) = start(json!({ "session": { "tickets": true } }));
        for (version, name) in [(&TLS12, "TLSv1.2"), (&TLS13, "TLSv1.3")] {
            let client = TlsClient::new(&authority).versions(&[version]);
            for _ in 0..2 {
                let mut connection = Client::connect_tls(server.address().socket(), &client, "localhost");
                connection.get("/").expect(200);
            }
            expect_handshakes(&server, name, "new", 1.0);
            expect_handshakes(&server, name, "resumed", 1.0);
        }
        expect_failed(&server, "none", 0.0);
    }

    #[test]
    fn what_is_not_tls_fails() {
        let (server, _authority) = start(json!({}));
        // One that sends nothing has not begun one.
        drop(TcpStream::connect(server.address().socket()).expect("it listens"));
        let plain = say(&server, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        expect_failed(&server, "plain", 1.0);
        drop(plain);
        let (server, _authority) = start(json!({}));
        let wrong = say(&server, b"\x16\x03\x01\x00\x05hello");
        expect_failed(&server, "protocol", 1.0);
        drop(wrong);
    }

    #[test]
    fn clients_that_leave_or_are_too_slow() {
        let (server, _authority) = start(json!({}));
        drop(say(&server, b"\x16\x03\x01\x02\x00abc"));
        expect_failed(&server, "closed", 1.0);
        let (server, _authority) = start(json!({}));
        let slow = say(&server, b"\x16\x03\x01\x02\x00abc");
        expect_failed(&server, "timeout", 1.0);
        drop(slow);
    }

    #[test]
    fn clients_that_do_not_trust_the_certificate() {
        let (server, _authority) = start(json!({}));
        let stranger = TlsClient::new(&Authority::new("Others"));
        assert!(Client::try_connect_tls(server.address().socket(), &stranger, "localhost").is_err());
        expect_failed(&server, "alert", 1.0);
    }

    #[test]
    fn clients_without_a_certificate() {
        let (server, authority) = start(json!({ "client": { "ca": "ca" } }));
        let mallory = Authority::new("Others").client("Mallory");
        for client in [TlsClient::new(&authority), TlsClient::new(&authority).identity(&mallory)] {
            let connected = Client::try_connect_tls(server.address().socket(), &client, "localhost");
            assert!(!connected.is_ok_and(|mut client| client.try_send(&Request::get("/")).is_ok()));
        }
        expect_failed(&server, "client_certificate", 2.0);
        let alice = TlsClient::new(&authority).identity(&authority.client("Alice"));
        Client::connect_tls(server.address().socket(), &alice, "localhost").get("/").expect(200);
        expect_handshakes(&server, "TLSv1.3", "new", 1.0);
    }
}
