//! `authenticate`: passwords, tokens, other servers and certificates, with files and tokens that real tools have made.

mod certificates;
mod forward;
mod issuer;
mod links;
mod mistakes;
mod passwords;
mod tokens;
mod users;

use std::io::Write as _;
use std::process::{Command, Stdio};

use corral_testkit::{Daemon, Origin, Request, daemon};
use serde_json::{Value, json};

/// A daemon whose only step has this `authenticate`, and shows the user that was let pass.
fn guarded(authenticate: &Value) -> Daemon {
    daemon().config(guarded_config(authenticate)).start()
}

fn guarded_config(authenticate: &Value) -> Value {
    let action = json!({ "authenticate": authenticate, "return": 200, "body": "hello $remote_user" });
    json!({ "routes": [{ "match": { "uri": "/open" }, "action": { "return": 204 } }, { "action": action }] })
}

/// The output of a program, which must succeed.
#[track_caller]
fn output(program: &str, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads its input");
    let ended = child.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).expect("it writes text").trim_end().to_owned()
}

/// A server that says for ever what comes before a response.
fn endless() -> Origin {
    Origin::start(|peer| {
        peer.read_head();
        while peer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n") {}
    })
}

/// A request with a user and a password.
fn as_user(target: &str, user: &str, password: &str) -> Request {
    Request::get(target).field("Authorization", &basic(user, password))
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", output("base64", &["-w0"], &format!("{user}:{password}")))
}

/// A request with a token.
fn as_bearer(target: &str, token: &str) -> Request {
    Request::get(target).field("Authorization", &format!("Bearer {token}"))
}
