//! A browser that reads across sites, or does not: Chromium opens a page of one server, whose script asks another.

use std::process::Command;

use corral_testkit::{Daemon, daemon, php_app, site};
use serde_json::{Value, json};

/// Asks for each target in turn, and shows what became of it. A cookie is set first, as by a visit. `/end` is asked for
/// when all answers are in the page: the browser shows it then.
const PAGE: &str = r#"<!DOCTYPE html><pre id="log"></pre><script>
const api = "$API";
const log = text => document.getElementById("log").append(text + "\n");
const ask = async (name, path, options) => {
    try {
        const reply = await fetch(api + path, options);
        log(name + ": " + reply.status + " " + await reply.text() + " total=" + reply.headers.get("X-Total"));
    } catch (error) {
        log(name + ": refused");
    }
};
const end = new Image();
document.body.append(end);
(async () => {
    const json = { method: "PUT", headers: { "Content-Type": "application/json" }, body: "{}" };
    await ask("set", "/named/set", { credentials: "include" });
    await ask("any", "/any/");
    await ask("any put", "/any/", json);
    await ask("any with credentials", "/any/", { credentials: "include" });
    await ask("named", "/named/", { credentials: "include" });
    await ask("named put", "/named/", { ...json, credentials: "include" });
    await ask("named without", "/named/", { credentials: "omit" });
    await ask("others", "/others/");
    await ask("others put", "/others/", json);
    await ask("method", "/named/", { method: "DELETE" });
    await ask("header", "/named/", { headers: { "X-Own": "1" } });
    await ask("none", "/none/");
    await ask("closed", "/closed/");
    log("done");
    fetch("/shown");
})();
end.src = "/end";
</script>"#;

const API: &str = "<?php
    header('X-Total: 3');
    if (str_ends_with($_SERVER['REQUEST_URI'], '/set')) setcookie('visit', 'yes', ['path' => '/']);
    echo $_SERVER['REQUEST_METHOD'], ' ', $_COOKIE['visit'] ?? 'unknown';";

/// The server of the page; `/end` waits until the script has asked for `/shown`.
fn page(server: &Daemon, api: &str) -> corral_testkit::Site {
    let waiting = "<?php
        $shown = __DIR__ . '/shown';
        if ($_SERVER['REQUEST_URI'] === '/shown') { touch($shown); exit; }
        for ($n = 0; $n < 3000 && !file_exists($shown); $n++) { usleep(10000); clearstatcache(); }";
    let site = site()
        .file("page.html", PAGE.replace("$API", api))
        .writable_folder("run")
        .file("run/index.php", waiting);
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "routes" } },
        "applications": { "wait": {
            "type": "php", "root": site.path("run"), "script": "index.php", "processes": 2,
        } },
        "routes": [
            { "match": { "uri": ["/end", "/shown"] }, "action": { "pass": "applications/wait" } },
            { "action": { "share": site.path("page.html"), "types": "text/html" } },
        ],
    });
    server.control().put("/config", &config).expect_done();
    site
}

#[test]
fn chromium_reads_what_it_may() {
    let (pages, api_site) = (daemon().start_unconfigured(), site().file("index.php", API));
    let origin = format!("http://{}", pages.address());
    let step = |uri: &str, cors: Value| {
        let mut action = json!({ "pass": "applications/php" });
        if !cors.is_null() {
            action["cors"] = cors;
        }
        json!({ "match": { "uri": uri }, "action": action })
    };
    let named = json!({
        "origins": [origin], "credentials": true, "methods": ["GET", "PUT"], "headers": "content-type",
        "expose": "X-Total",
    });
    let closed = json!({ "return": 200, "cors": true, "maintenance": true });
    let api = daemon().application(php_app(&api_site).with("script", json!("index.php"))).start();
    let routes = json!([
        step("/any/*", json!(true)),
        step("/named/*", named),
        step("/others/*", json!({ "origins": "https://app.example.org" })),
        step("/none/*", Value::Null),
        { "action": closed },
    ]);
    api.control().put("/config/routes", &routes).expect_done();
    let listeners = json!({ api.address().to_string(): { "pass": "routes" } });
    api.control().put("/config/listeners", &listeners).expect_done();
    let _files = page(&pages, &format!("http://{}", api.address()));
    let profile = site();
    let output = Command::new("timeout")
        .args(["90", "chromium", "--headless", "--no-sandbox", "--disable-gpu"])
        .arg(format!("--user-data-dir={}", profile.path("profile").display()))
        .args(["--dump-dom", &format!("{origin}/")])
        .output()
        .expect("timeout(1) is there");
    let (shown, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "chromium: scripts/setup test\n{errors}\n{}", pages.log());
    let expected = "set: 200 GET unknown total=3
any: 200 GET unknown total=null
any put: 200 PUT unknown total=null
any with credentials: refused
named: 200 GET yes total=3
named put: 200 PUT yes total=3
named without: 200 GET unknown total=3
others: refused
others put: refused
method: refused
header: refused
none: refused
closed: 503 ";
    assert!(shown.contains(expected) && shown.contains("\ndone"), "{shown}\n{errors}\n{}", api.log());
}
