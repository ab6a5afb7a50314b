//! gRPC by grpcurl, a client that knows nothing of the server: it asks by reflection what may be called.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use corral_testkit::{Daemon, build_go};
use serde_json::{Value, json};

use super::grpc::GoServer;
use super::proxy_with;

/// The executable, compiled from the module that Go's proxy has.
fn executable() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("grpcurl");
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/grpcurl");
        build_go(&module, "github.com/fullstorydev/grpcurl/cmd/grpcurl", &path);
        path
    })
}

fn described() -> (GoServer, Daemon) {
    let origin = GoServer::start("describe");
    let server = proxy_with(&origin.url(), json!({}));
    (origin, server)
}

/// The outcome of a call.
struct Reply {
    /// The exit status of the process: 64 more than the status of gRPC, unless that is 0.
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Sends the messages to a method of the service.
fn call(server: &Daemon, arguments: &[&str], method: &str, messages: &[Value]) -> Reply {
    let messages: String = messages.iter().map(Value::to_string).collect();
    let output = Command::new(executable())
        .args(["-plaintext", "-max-time", "60", "-d", &messages])
        .args(arguments)
        .args([&server.address().to_string(), &format!("grpc.testing.TestService/{method}")])
        .output()
        .expect("it was compiled");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Reply { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// The messages that come back.
#[track_caller]
fn check(server: &Daemon, method: &str, messages: &[Value], expect: &[Value]) {
    let reply = call(server, &[], method, messages);
    assert_eq!(reply.code, Some(0), "{}", reply.stderr);
    let found: Vec<Value> = serde_json::Deserializer::from_str(&reply.stdout)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{error}: {}", reply.stdout));
    assert_eq!(found, expect);
}

/// Asks for responses of these sizes; the body of each is zeros.
fn sizes(sizes: &[u32]) -> Value {
    let parameters: Vec<_> = sizes.iter().map(|size| json!({ "size": size })).collect();
    json!({ "responseParameters": parameters })
}

#[test]
fn calls_of_all_four_kinds_go_through() {
    let (_origin, server) = described();
    let (three, six) =
        (json!({ "payload": { "body": "AAAA" } }), json!({ "payload": { "body": "AAAAAAAA" } }));
    check(
        &server,
        "UnaryCall",
        &[json!({ "payload": { "body": "aGVsbG8=" } })],
        &[json!({ "payload": { "body": "aGVsbG8=" }, "hostname": "described" })],
    );
    check(&server, "StreamingOutputCall", &[sizes(&[3, 6])], &[three.clone(), six.clone()]);
    check(
        &server,
        "StreamingInputCall",
        &[three.clone(), six.clone(), three.clone()],
        &[json!({ "aggregatedPayloadSize": 12 })],
    );
    check(&server, "FullDuplexCall", &[sizes(&[3]), sizes(&[6, 3])], &[three.clone(), six, three]);
}

#[test]
fn errors_arrive_with_their_status() {
    let (_origin, server) = described();
    let status = json!({ "code": 5, "message": "not here: é %" });
    let reply = call(&server, &[], "UnaryCall", &[json!({ "responseStatus": status })]);
    assert_eq!(reply.code, Some(64 + 5), "{}", reply.stderr);
    assert!(reply.stderr.contains("Code: NotFound\n  Message: not here: é %"), "{}", reply.stderr);
    let mut request = sizes(&[3]);
    request["responseStatus"] = json!({ "code": 15, "message": "no more" });
    let reply = call(&server, &[], "StreamingOutputCall", &[request]);
    assert_eq!(reply.code, Some(64 + 15), "{}", reply.stderr);
    assert!(reply.stdout.contains("AAAA"), "what came before the error: {}", reply.stdout);
    let reply = call(&server, &[], "UnimplementedCall", &[json!({})]);
    assert_eq!(reply.code, Some(64 + 12), "{}", reply.stderr);
}

#[test]
fn metadata_goes_both_ways() {
    let (_origin, server) = described();
    let arguments = [
        "-v",
        "-rpc-header",
        "x-grpc-test-echo-initial: first",
        "-rpc-header",
        "x-grpc-test-echo-trailing-bin: AP8K",
    ];
    let reply = call(&server, &arguments, "UnaryCall", &[json!({})]);
    assert_eq!(reply.code, Some(0), "{}", reply.stderr);
    let (head, trailers) = reply.stdout.split_once("Response trailers received:").expect("it tells of them");
    assert!(head.contains("x-grpc-test-echo-initial: first"), "{head}");
    assert!(trailers.contains("x-grpc-test-echo-trailing-bin: AP8K"), "{trailers}");
}
