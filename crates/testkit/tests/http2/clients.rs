//! The clients that people have: curl, nghttp, h2load and Python's h2.

use std::process::Command;

use corral_testkit::{Daemon, Site, site};
use serde_json::json;

use super::tls::serve_tls;
use super::{action, serve};

/// Files of this site.
fn files() -> (Site, serde_json::Value) {
    let site = site().file("small", "small").file("large", "x".repeat(1 << 20));
    let config = action(json!({ "share": format!("{}$uri", site.root()) }));
    (site, config)
}

/// Runs a program, and returns what it says.
#[track_caller]
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}: scripts/setup test"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {}\n{text}\n{errors}", output.status);
    text
}

fn http(server: &Daemon, path: &str) -> String {
    format!("http://{}{path}", server.address())
}

/// `https` as a host whose name the certificate has.
fn https(server: &Daemon, path: &str) -> (String, String) {
    let (name, port) = ("localhost", server.address().port());
    (format!("https://{name}:{port}{path}"), format!("{name}:{port}:{}", server.address().socket().ip()))
}

#[test]
fn curl_by_prior_knowledge() {
    let (_site, config) = files();
    let server = serve(config);
    let url = http(&server, "/large");
    let text = run("curl", &["-sS", "--http2-prior-knowledge", "-w", "%{http_version}", &url]);
    assert_eq!(text.trim_start_matches('x'), "2");
    assert_eq!(text.len(), (1 << 20) + 1);
}

#[test]
fn curl_over_tls() {
    let (site, config) = files();
    let (server, _, authority) = serve_tls(None, config);
    site.write("ca.pem", authority.bundle().certificate);
    let ((url, resolve), ca) = (https(&server, "/small"), site.path("ca.pem"));
    let ca = ca.to_str().expect("temporary paths are text");
    let text = run(
        "curl",
        &["-sS", "--http2", "--cacert", ca, "--resolve", &resolve, "-w", " %{http_version}", &url],
    );
    assert_eq!(text, "small 2");
    let body = site.path("large");
    let upload = format!("@{}", body.display());
    let text = run(
        "curl",
        &[
            "-sS",
            "--http2",
            "--cacert",
            ca,
            "--resolve",
            &resolve,
            "--data-binary",
            &upload,
            "-w",
            "%{http_code} %{http_version}",
            "-o",
            "/dev/null",
            &url,
        ],
    );
    assert_eq!(text, "405 2");
}

#[test]
fn nghttp_with_several_streams() {
    let (_site, config) = files();
    let server = serve(config);
    let urls = [http(&server, "/small"), http(&server, "/large"), http(&server, "/none")];
    let text = run("nghttp", &["--null-out", "--stat", "-m", "5", &urls[0], &urls[1], &urls[2]]);
    assert_eq!(text.matches(" 200 ").count(), 10, "{text}");
    assert_eq!(text.matches(" 404 ").count(), 5, "{text}");
}

#[test]
fn h2load_with_many_streams() {
    let (_site, config) = files();
    let server = serve(config);
    let text = run("h2load", &["-n", "2000", "-c", "4", "-m", "50", &http(&server, "/small")]);
    assert!(text.contains("2000 succeeded, 0 failed, 0 errored, 0 timeout"), "{text}");
    let text = run("h2load", &["-n", "40", "-c", "2", "-m", "10", &http(&server, "/large")]);
    assert!(text.contains("40 succeeded, 0 failed, 0 errored, 0 timeout"), "{text}");
}

#[test]
fn h2load_over_tls() {
    let (_site, config) = files();
    let (server, _, _) = serve_tls(None, config);
    let url = format!("https://{}/small", server.address());
    let text = run("h2load", &["-n", "500", "-c", "4", "-m", "20", &url]);
    assert!(text.contains("Application protocol: h2\n"), "{text}");
    assert!(text.contains("500 succeeded, 0 failed, 0 errored, 0 timeout"), "{text}");
}

/// The Python of Debian, which has these packages; another one in the path need not.
const PYTHON: &str = "/usr/bin/python3";

/// A request with a body in both directions, by the state machine that hypercorn and httpx use, too.
const SCRIPT: &str = r#"
import socket, sys, h2.config, h2.connection, h2.events
sock = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30)
client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
client.initiate_connection()
head = [(":scheme", "http"), (":authority", "localhost"), (":path", "/large")]
streams = {1: ("GET", 1 << 20), 3: ("HEAD", 0), 5: ("GET", 1 << 20)}
for stream, (method, _) in streams.items():
    client.send_headers(stream, [(":method", method)] + head, end_stream=True)
received, ended = dict.fromkeys(streams, 0), set()
while ended != set(streams):
    sock.sendall(client.data_to_send())
    data = sock.recv(65536)
    assert data, "the server has closed"
    for event in client.receive_data(data):
        if isinstance(event, h2.events.ResponseReceived):
            assert dict(event.headers)[":status"] == "200", event
        elif isinstance(event, h2.events.DataReceived):
            received[event.stream_id] += len(event.data)
            client.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            ended.add(event.stream_id)
        else:
            assert not isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)), event
assert received == {stream: length for stream, (_, length) in streams.items()}, received
print("done")
"#;

#[test]
fn python_h2() {
    let (_site, config) = files();
    let server = serve(config);
    let (ip, port) = (server.address().socket().ip().to_string(), server.address().port().to_string());
    assert_eq!(run(PYTHON, &["-c", SCRIPT, &ip, &port]), "done\n");
}
