//! A browser: Chromium opens a page, and a WebSocket of that page.

use std::process::Command;

use corral_testkit::{python_app, site};
use serde_json::json;

use super::tls::serve_tls;

/// The page says which protocol brought it, and what a WebSocket was told. `/end` is answered when both are in the
/// page: the browser shows it then.
const APPLICATION: &str = r#"
import asyncio
page = b'''<!DOCTYPE html><p id="page"></p><p id="socket"></p><script>
const show = (id, text) => document.getElementById(id).textContent = text;
const end = new Image();
end.src = "/end";
document.body.append(end);
const socket = new WebSocket("wss://" + location.host + "/socket");
socket.onmessage = event => {
    show("socket", event.data);
    show("page", performance.getEntriesByType("navigation")[0].nextHopProtocol);
    socket.send("shown");
};
socket.onerror = () => { show("socket", "failed"); fetch("/failed"); };
</script>'''
shown = asyncio.Event()
async def application(scope, receive, send):
    if scope['type'] == 'websocket':
        await receive()
        await send({'type': 'websocket.accept'})
        await send({'type': 'websocket.send', 'text': 'socket over ' + scope['http_version']})
        await receive()
        shown.set()
        return
    if scope['path'] == '/failed':
        shown.set()
    if scope['path'] == '/end':
        await shown.wait()
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-type', b'text/html')]})
    await send({'type': 'http.response.body', 'body': page if scope['path'] == '/' else b''})
"#;

#[test]
fn chromium_opens_pages_and_websockets() {
    let site = site().file("app.py", APPLICATION);
    let config = json!({
        "applications": { "app": python_app(&site).value() },
        "routes": [{ "action": { "pass": "applications/app" } }],
    });
    let (server, _, _) = serve_tls(None, config);
    let output = Command::new("timeout")
        .args([
            "60",
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--ignore-certificate-errors",
        ])
        .arg(format!("--user-data-dir={}", site.path("profile").display()))
        .args(["--dump-dom", &format!("https://{}/", server.address())])
        .output()
        .expect("timeout(1) is there");
    let (page, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "chromium: scripts/setup test\n{errors}\n{}", server.log());
    assert!(page.contains("<p id=\"page\">h2</p>"), "{page}\n{errors}\n{}", server.log());
    assert!(page.contains("<p id=\"socket\">socket over 2</p>"), "{page}\n{errors}\n{}", server.log());
}
