//! h2spec, which asks a server for everything that the specifications say.

use std::path::{Path, PathBuf};
use std::process::Command;

use corral_testkit::{build_go, python_app, site};
use serde_json::json;

use super::serve;

/// Cases that fail, by the words of h2spec, and why.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "Sends invalid connection preface",
    "HTTP/1 is spoken on the same port, and says 400 before it closes",
)];

/// Reads all of a request, and takes its time: what is wrong with a stream is seen before the stream has ended.
const APPLICATION: &str = "
import asyncio
async def application(scope, receive, send):
    while (await receive()).get('more_body'):
        pass
    await asyncio.sleep(0.05)
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'hello ' * 1000})
";

/// The executable, compiled from the module that Go's proxy has.
fn executable() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("h2spec");
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/h2spec");
    build_go(&module, "github.com/summerwind/h2spec/cmd/h2spec", &path);
    path
}

#[test]
fn h2spec() {
    let site = site().file("app.py", APPLICATION);
    let server = serve(json!({ "applications": { "app": python_app(&site).value() } }));
    let address = server.address().socket();
    let output = Command::new(executable())
        .args(["--strict", "--timeout", "10", "--host", &address.ip().to_string()])
        .args(["--port", &address.port().to_string()])
        .output()
        .expect("it was just built");
    let text = String::from_utf8_lossy(&output.stdout);
    let failed: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with('×')).collect();
    let is_known = |line: &&&str| EXCEPTIONS.iter().any(|(case, _)| line.contains(case));
    let surprising: Vec<_> = failed.iter().filter(|line| !is_known(line)).collect();
    assert!(surprising.is_empty(), "{surprising:#?}\n{text}");
    let total = text.lines().find(|line| line.contains(" tests, ")).unwrap_or_default();
    assert!(total.starts_with("146 tests, "), "{text}");
}
