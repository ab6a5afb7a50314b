//! Connections of HTTP/2: their streams, and clients that are told to go.

use corral_testkit::{Daemon, Frame, Http2, Origin, RawHttp2, daemon, kind};
use serde_json::json;

use super::{eventually, expect_sample, samples};

/// A daemon whose listener knows HTTP/2 without TLS. No request to `/silent` is answered.
fn start() -> (Daemon, Origin) {
    let silent = Origin::start(|peer| while !peer.read().is_empty() {});
    let server = daemon().start_unconfigured();
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "routes", "http2": "prior_knowledge" } },
        "routes": [
            { "match": { "uri": "/silent" }, "action": { "proxy": silent.url() } },
            { "action": { "return": 200 } }
        ]
    });
    server.control().put("/config", &config).expect_done();
    (server, silent)
}

#[track_caller]
fn expect_broken(server: &Daemon, flood: f64, protocol: f64) {
    let name = |reason: &str| format!("corral_http2_connections_broken_total{{reason=\"{reason}\"}}");
    expect_sample(server, &name("flood"), flood);
    expect_sample(server, &name("protocol"), protocol);
}

/// Tests speak HTTP/2 themselves.
mod http1_only {
    use super::*;

    #[test]
    fn streams_and_connections_are_counted() {
        let (server, _silent) = start();
        let mut client = Http2::connect(server.address().socket());
        for n in 1..=3_u8 {
            client.get("/").expect(200);
            expect_sample(&server, "corral_http2_streams_total", n.into());
        }
        expect_sample(&server, "corral_connections_begun_total{protocol=\"HTTP/2\"}", 1.0);
        expect_sample(&server, "corral_connections_open{protocol=\"HTTP/2\"}", 1.0);
        let mut stream = client.begin_get("/silent");
        expect_sample(&server, "corral_http2_streams_total", 4.0);
        stream.reset(h2::Reason::CANCEL);
        expect_sample(&server, "corral_http2_resets_total", 1.0);
        drop((stream, client));
        expect_sample(&server, "corral_connections_open{protocol=\"HTTP/2\"}", 0.0);
        expect_broken(&server, 0.0, 0.0);
    }

    #[test]
    fn a_client_that_takes_all_requests_back_is_told_to_go() {
        let (server, _silent) = start();
        let mut client = RawHttp2::connect(server.address().socket());
        let mut id = 1;
        eventually("the server has enough", || {
            let streams = (0..10).map(|n| id + 2 * n);
            let frames = streams.flat_map(|id| [Frame::get(id, "/silent"), Frame::reset(id, 8)]);
            let bytes: Vec<u8> = frames.flat_map(|frame| frame.encode()).collect();
            id += 20;
            let is_over = client.try_write(bytes).is_err();
            (is_over || samples(&server)["corral_http2_connections_broken_total{reason=\"flood\"}"] > 0.0)
                .then_some(())
        });
        expect_broken(&server, 1.0, 0.0);
        assert!(samples(&server)["corral_http2_resets_total"] > 10.0);
    }

    #[test]
    fn frames_that_break_the_rules_are_another_reason() {
        let (server, _silent) = start();
        let mut client = RawHttp2::connect(server.address().socket());
        client.send(&Frame::new(kind::DATA, 0, 0, *b"x"));
        client.expect_goaway();
        drop(client);
        expect_broken(&server, 0.0, 1.0);
        // A client that only goes has broken nothing.
        Http2::connect(server.address().socket()).get("/").expect(200);
        expect_sample(&server, "corral_connections_begun_total{protocol=\"HTTP/2\"}", 2.0);
        expect_sample(&server, "corral_connections_open{protocol=\"HTTP/2\"}", 0.0);
        expect_broken(&server, 0.0, 1.0);
    }
}
