//! The host of a stream: `:authority` and `host` are held for what HTTP/1 is held for.

use corral_testkit::{BAD_HOSTS, Daemon, Frame, Origin, RawHttp2, daemon, kind};
use serde_json::json;

use super::{action, put};

/// The first byte of the head that answers these fields (RFC 7541 appendix A); none if the stream is reset.
fn answer(server: &Daemon, fields: &[(&str, &str)]) -> Option<u8> {
    let mut client = RawHttp2::connect(server.address().socket());
    client.send(&Frame::headers(1, &[&[(":scheme", "http")][..], fields].concat()));
    let is_answer = |frame: &Frame| matches!(frame.kind, kind::HEADERS | kind::RST_STREAM | kind::GOAWAY);
    let frames = client.receive_until(is_answer);
    let last = frames.last().expect("an answer");
    (last.kind == kind::HEADERS).then(|| last.payload[0])
}

/// `:status: 200` and `:status: 400` in the static table.
const OK: Option<u8> = Some(0x88);
const BAD_REQUEST: Option<u8> = Some(0x8c);

#[test]
fn bad_hosts_never_go_upstream() {
    let origin = Origin::echo();
    let server = daemon().start_unconfigured();
    put(&server, action(json!({ "proxy": origin.url() })));
    for &host in BAD_HOSTS {
        let get = [(":method", "GET"), (":path", "/")];
        let in_field = answer(&server, &[&get[..], &[("host", host)]].concat());
        assert_eq!(in_field, BAD_REQUEST, "host: {host}");
        let in_both = answer(&server, &[&get[..], &[(":authority", host), ("host", host)]].concat());
        assert_ne!(in_both, OK, ":authority: {host}");
        let with_other = answer(&server, &[&get[..], &[(":authority", "a"), ("host", host)]].concat());
        assert_eq!(with_other, BAD_REQUEST, "host beside another :authority: {host}");
    }
    for path in ["http://b/", "*", "b:80"] {
        let absolute = answer(&server, &[(":method", "GET"), (":authority", "a"), (":path", path)]);
        assert_ne!(absolute, OK, ":path: {path}");
    }
    assert_ne!(answer(&server, &[(":method", "CONNECT"), (":authority", "a:443"), (":path", "/")]), OK);
    assert_eq!(origin.n_connections(), 0);
    // As over HTTP/1, the server itself answers.
    assert_eq!(answer(&server, &[(":method", "OPTIONS"), (":authority", "a"), (":path", "*")]), OK);
    assert_eq!(origin.n_connections(), 0);
    assert_eq!(answer(&server, &[(":method", "GET"), (":authority", "a_b:81"), (":path", "/")]), OK);
}
