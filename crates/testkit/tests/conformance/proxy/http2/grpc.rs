//! gRPC from its client to its server, both of them Google's for Go, with the daemon between them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};

use corral_testkit::{Http2, PATIENCE, Request, build_go};
use serde_json::json;

use super::proxy_with;

/// The executable; compiled once in this target folder, if it has changed.
fn executable() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("grpc-go");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/grpc");
        build_go(&source, ".", &path);
        path
    })
}

/// A server of Go that says where it listens, and what becomes of requests.
pub(super) struct GoServer {
    child: Child,
    address: String,
    lines: Receiver<String>,
}

impl GoServer {
    pub(super) fn start(mode: &str) -> Self {
        let mut command = Command::new(executable());
        let mut child =
            command.args([mode, "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().expect("it was compiled");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (said, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| said.send(line)));
        let address = lines.recv_timeout(PATIENCE).expect("it says where it listens");
        Self { child, address, lines }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    #[track_caller]
    pub(super) fn expect_line(&self, line: &str) {
        assert_eq!(self.lines.recv_timeout(PATIENCE).as_deref(), Ok(line));
    }
}

impl Drop for GoServer {
    fn drop(&mut self) {
        // It has ended already, or does now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Has the client ask for these cases, at an address of the daemon.
#[track_caller]
fn check(address: impl std::fmt::Display, cases: &[&str]) {
    let output = Command::new(executable()).args(["ask", &address.to_string()]).args(cases).output();
    let output = output.expect("it was compiled");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), cases.len());
}

#[test]
fn calls_of_all_four_kinds_go_through() {
    let origin = GoServer::start("serve");
    let server = proxy_with(&origin.url(), json!({}));
    check(server.address(), &["unary", "large", "count", "sum", "chat", "many"]);
}

/// Another implementation: that in C, under Python.
#[test]
fn calls_of_python_go_through() {
    let origin = GoServer::start("serve");
    let server = proxy_with(&origin.url(), json!({}));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/grpc/client.py");
    let mut python = Command::new("/usr/bin/python3");
    let output = python.arg(script).arg(server.address().to_string()).output();
    let output = output.expect("Python is installed: scripts/setup test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn errors_arrive_with_code_message_and_metadata() {
    let origin = GoServer::start("serve");
    let server = proxy_with(&origin.url(), json!({}));
    check(server.address(), &["fail", "break"]);
    let mut client = Http2::connect(server.address().socket());
    let request = Request::post("/corral.Test/Fail")
        .field("TE", "trailers")
        .field("Content-Type", "application/grpc")
        .body([0; 5]);
    let response = client.send(&request).expect(200).expect_field("grpc-status", "5");
    assert!(response.trailers.is_empty() && response.body.is_empty(), "there is nothing but a head");
}

#[test]
fn calls_end_on_both_sides() {
    let origin = GoServer::start("serve");
    let server = proxy_with(&origin.url(), json!({}));
    check(server.address(), &["deadline"]);
    origin.expect_line("hanging");
    origin.expect_line("cancelled");
    check(server.address(), &["cancel"]);
    origin.expect_line("hanging");
    origin.expect_line("cancelled");
}

#[test]
fn a_server_that_is_down_is_unavailable() {
    let origin = GoServer::start("serve");
    let url = origin.url();
    drop(origin);
    let server = proxy_with(&url, json!({}));
    check(server.address(), &["unavailable"]);
}
