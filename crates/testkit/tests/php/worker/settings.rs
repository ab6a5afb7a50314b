//! Settings of PHP and its extensions that act on each request act on those of a worker, too.

use corral_testkit::{Daemon, Request, Response, Site, daemon, php_app, site};
use serde_json::json;

/// The same code for each request and in a worker, with these settings. Each has sessions of its own: a session that
/// one has kept would hide that the other has not.
fn servers(code: &str, settings: &[(&str, &str)]) -> Vec<(Site, Daemon)> {
    let classic = site().file("index.php", format!("<?php {code}")).writable_folder("sessions");
    let handler =
        format!("<?php $show = function () {{ {code} }}; while (corral_handle_request($show)) {{}}");
    let worker = site().file("index.php", handler).writable_folder("sessions");
    let configured =
        |app| settings.iter().fold(app, |app: corral_testkit::PhpApp, (key, value)| app.admin(key, value));
    let servers = [
        start(configured(php_app(&classic).script("index.php")), &classic),
        start(configured(php_app(&worker).with("worker", json!({ "script": "index.php" }))), &worker),
    ];
    [classic, worker].into_iter().zip(servers).collect()
}

fn start(app: corral_testkit::PhpApp, site: &Site) -> Daemon {
    let sessions = site.path("sessions");
    let app = app
        .admin("session.save_path", sessions.to_str().expect("text"))
        .admin("opcache.file_update_protection", "0");
    daemon().application(app).start()
}

/// Whether a response is right.
type Judge<'j> = &'j dyn Fn(&Response) -> bool;

/// Asks both for all of it, one request after the other.
#[track_caller]
fn check(code: &str, settings: &[(&str, &str)], asks: &[(Request, Judge<'_>)]) {
    for (n, (_site, server)) in servers(code, settings).iter().enumerate() {
        let mut client = server.connect();
        for (turn, (request, is_right)) in asks.iter().enumerate() {
            let response = client.send(request);
            let mode = if n == 0 { "classic" } else { "worker" };
            assert!(is_right(&response), "{mode}, request {turn}: {response}\n{}", server.log());
        }
    }
}

fn is_zipped(response: &Response) -> bool {
    response.field("Content-Encoding") == Some("gzip") && response.body.starts_with(&[0x1f, 0x8b])
}

fn is_plain(response: &Response) -> bool {
    response.field("Content-Encoding").is_none() && response.text().contains("some text")
}

#[test]
fn zlib_output_compression() {
    let code = "echo str_repeat('some text ', 100);";
    let zipped = || Request::get("/").field("Accept-Encoding", "gzip");
    let settings = [("zlib.output_compression", "1")];
    check(
        code,
        &settings,
        &[
            (zipped(), &is_zipped),
            (Request::get("/"), &is_plain),
            (zipped(), &is_zipped),
            (zipped(), &is_zipped),
        ],
    );
}

/// Encodings that one client accepts say nothing of the next one.
#[test]
fn ob_gzhandler() {
    let code = "ob_start('ob_gzhandler'); echo str_repeat('some text ', 100);";
    let zipped = || Request::get("/").field("Accept-Encoding", "gzip");
    check(code, &[], &[(zipped(), &is_zipped), (Request::get("/"), &is_plain), (zipped(), &is_zipped)]);
}

#[test]
fn session_use_trans_sid() {
    let code = "session_start(); echo '<a href=\"next.php\">some text</a>', SID, ' ', count($_SESSION);";
    let settings = [
        ("session.use_trans_sid", "1"),
        ("session.use_only_cookies", "0"),
        ("session.use_cookies", "0"),
        ("session.use_strict_mode", "0"),
    ];
    let has_link = |response: &Response| {
        let text = response.text();
        let id = text
            .split_once("PHPSESSID=")
            .and_then(|(_, rest)| rest.split_once('"'))
            .map(|(id, _)| id.to_owned());
        id.is_some_and(|id| id.len() > 20 && text.matches(&id).count() == 2)
    };
    let get = || Request::get("/");
    check(code, &settings, &[(get(), &has_link), (get(), &has_link), (get(), &has_link)]);
}

#[test]
fn output_that_a_script_rewrites() {
    let code = "if (isset($_GET['rewrite'])) { output_add_rewrite_var('own', $_GET['rewrite']); } echo '<a \
        href=\"next.php\">x</a>';";
    let settings = [("url_rewriter.tags", "a=href")];
    let is = |expected: &'static str| move |response: &Response| response.text() == expected;
    let (one, two, none) = (
        is("<a href=\"next.php?own=1\">x</a>"),
        is("<a href=\"next.php?own=2\">x</a>"),
        is("<a href=\"next.php\">x</a>"),
    );
    let get = Request::get;
    check(
        code,
        &settings,
        &[(get("/?rewrite=1"), &one), (get("/"), &none), (get("/?rewrite=2"), &two), (get("/"), &none)],
    );
}

#[test]
fn session_upload_progress() {
    let code = "session_start(); $p = $_SESSION['upload_progress_u'] ?? null;
        echo $p ? json_encode([$p['content_length'], $p['bytes_processed'], $p['done'], $p['files'][0]['name']]) : 'none';";
    let settings = [
        ("session.upload_progress.enabled", "1"),
        ("session.upload_progress.cleanup", "0"),
        ("session.upload_progress.min_freq", "0"),
        ("session.use_strict_mode", "0"),
    ];
    let body = "--b\r\nContent-Disposition: form-data; name=\"PHP_SESSION_UPLOAD_PROGRESS\"\r\n\r\nu\r\n\
        --b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\r\nxyz\r\n--b--\r\n";
    let of = |request: Request, kind: &str| request.field("Cookie", &format!("PHPSESSID={kind}"));
    let upload = |kind: &str| {
        of(Request::post("/").field("Content-Type", "multipart/form-data; boundary=b").body(body), kind)
    };
    let length = body.len();
    let progress = format!("[{length},{length},true,\"a.txt\"]");
    let has_progress = |response: &Response| response.text() == progress;
    let has_none = |response: &Response| response.text() == "none";
    check(
        code,
        &settings,
        &[
            (upload("a"), &has_progress as Judge<'_>),
            (upload("b"), &has_progress),
            (of(Request::get("/"), "c"), &has_none),
            (upload("d"), &has_progress),
        ],
    );
}
