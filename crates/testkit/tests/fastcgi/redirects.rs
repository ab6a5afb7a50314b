//! Answers that name what is to be sent in their place.

use corral_testkit::{Daemon, Origin, PhpFpm, Request, Site, daemon, eventually, site};
use serde_json::{Value, json};

use crate::STATIC;

/// Sets the header that the query names, with a body that no client is to see.
const SCRIPT: &str = "<?php header($_GET['field'] . ': ' . $_GET['to']);\
    header('Content-Type: application/x-own'); header('Content-Disposition: attachment; filename=\"a\"');\
    header('Cache-Control: private'); header('Set-Cookie: a=b'); header('X-Other: 1'); header('ETag: \"own\"');\
    echo 'not for you';";

/// Answers of php-fpm, in whose place `redirect` answers.
fn serve(fpm: &PhpFpm, site: &Site, redirect: &Value) -> Daemon {
    let action = json!({ "fastcgi": fpm.address(), "root": site.root(), "internal_redirect": redirect });
    let site = format!("{}/private$uri", site.root());
    let routes = json!({
        "main": [{ "action": action }],
        "files": [
            { "match": { "uri": "/refused/*" }, "action": { "return": 403 } },
            { "match": { "uri": "/again/*" }, "action": { "pass": "routes/main" } },
            { "action": { "share": site, "errors": { "404": { "return": 410 } } } },
        ],
    });
    daemon().routes(routes).start()
}

fn private() -> Site {
    site()
        .file("index.php", SCRIPT)
        .file("private/a b.txt", "0123456789")
        .file("private/long.txt", "x".repeat(10_000))
        .file("private/again/index.php", "")
}

/// Options: …action.internal_redirect
#[test]
fn a_file_is_sent_in_the_place_of_an_answer() {
    let (site, fpm) = (private(), PhpFpm::at_socket(STATIC));
    let server = serve(&fpm, &site, &json!({ "pass": "routes/files" }));
    for method in ["GET", "HEAD", "POST"] {
        let request = Request::new(method, "/?field=X-Accel-Redirect&to=/x/../a%2520b.txt?y");
        let reply = server.send(&request).expect(200);
        let reply = reply.expect_body(if method == "HEAD" { "" } else { "0123456789" });
        let reply =
            reply.expect_field("Content-Length", "10").expect_field("Content-Type", "application/x-own");
        let reply = reply.expect_field("Content-Disposition", "attachment; filename=\"a\"");
        let reply = reply.expect_field("Cache-Control", "private").expect_field("Set-Cookie", "a=b");
        let reply = reply.expect_no_field("X-Other").expect_no_field("X-Accel-Redirect");
        assert_ne!(reply.field("ETag"), Some("\"own\""));
    }
}

#[test]
fn ranges_and_conditions_hold_for_the_file() {
    let (site, fpm) = (private(), PhpFpm::at_socket(STATIC));
    let server = serve(&fpm, &site, &json!({ "pass": "routes/files" }));
    let get = || Request::get("/?field=X-Accel-Redirect&to=/a%2520b.txt");
    let reply = server.send(&get().field("Range", "bytes=2-4")).expect(206).expect_body("234");
    let reply = reply.expect_field("Content-Type", "application/x-own");
    let etag = reply.field("ETag").expect("the file has one").to_owned();
    let reply = server.send(&get().field("If-None-Match", &etag)).expect(304);
    reply.expect_no_field("Content-Type").expect_field("Set-Cookie", "a=b");
    let get = Request::get("/?field=X-Accel-Redirect&to=/long.txt").field("Range", "bytes=0-1,9000-9001");
    let reply = server.send(&get).expect(206);
    assert!(reply.field("Content-Type").is_some_and(|is| is.starts_with("multipart/byteranges")));
}

#[test]
fn a_file_is_named_by_its_own_path() {
    let (site, fpm) = (private(), PhpFpm::at_socket(STATIC));
    let root = format!("{}/private", site.root());
    let server = serve(&fpm, &site, &json!({ "share": "$uri", "chroot": root }));
    let get = |file: &str| server.get(&format!("/?field=X-Sendfile&to={file}"));
    get(&format!("{root}/a%2520b.txt")).expect(200).expect_body("0123456789");
    get(&format!("{}/index.php", site.root())).expect(403);
    get("/etc/passwd").expect(403);
}

#[test]
fn what_the_path_leads_to_may_be_an_error() {
    let (site, fpm) = (private(), PhpFpm::at_socket(STATIC));
    let server = serve(&fpm, &site, &json!({ "pass": "routes/files" }));
    let get = |path: &str| server.get(&format!("/?field=x-accel-redirect&to={path}"));
    let reply = get("/none.txt").expect(410);
    reply.expect_no_field("Content-Disposition").expect_no_field("Set-Cookie");
    get("/refused/a").expect(403).expect_no_field("Set-Cookie");
    get("/../../etc/passwd").expect(502);
    eventually("it is logged", || {
        server.log().contains("the answer redirects to \"/../../etc/passwd\"").then_some(())
    });
}

/// Answers that redirect again and again come to an end.
#[test]
fn redirects_in_a_circle_end() {
    let (site, fpm) = (private(), PhpFpm::at_socket(STATIC));
    let site = site.file("again/index.php", SCRIPT);
    let server = serve(&fpm, &site, &json!({ "pass": "routes/files" }));
    server.get("/?field=X-Accel-Redirect&to=/again/").expect(500);
    eventually("it is logged", || server.log().contains("went through more than").then_some(()));
}

#[test]
fn without_the_option_the_answer_is_passed_on() {
    let (site, fpm) = (private(), PhpFpm::at_socket(STATIC));
    let server = crate::serve(&fpm, &site, json!({}));
    let reply = server.get("/?field=X-Accel-Redirect&to=/a").expect(200).expect_body("not for you");
    reply.expect_field("X-Accel-Redirect", "/a");
}

/// A path that an answer names lies below the folder, whatever it begins with.
#[test]
fn a_redirect_leads_below_the_folder() {
    let secret = "beside the folder";
    let (site, fpm) = (private(), PhpFpm::at_socket(STATIC));
    let site = site.file("private-other/secret.txt", secret).file("private.bak", secret);
    let site = site.file("private/%61.txt", "a").file("private/q?.txt", "q").file("secret.txt", secret);
    let server = serve(&fpm, &site, &json!({ "pass": "routes/files" }));
    let get = |field: &str, to: &str| server.get(&format!("/?field={field}&to={to}"));
    for field in ["X-Accel-Redirect", "X-Sendfile"] {
        for to in [
            "-other/secret.txt",
            ".bak",
            "/%25252e%25252e/secret.txt",
            "a%2520b.txt%252f..%252f..%252f-other/secret.txt",
        ] {
            let reply = get(field, to);
            assert!(
                matches!(reply.status, 410 | 502) && !reply.text().contains(secret),
                "{field} {to}: {reply}"
            );
        }
        get(field, "a%2520b.txt").expect(200).expect_body("0123456789");
        // Escapes are read once.
        get(field, "/%252561.txt").expect(200).expect_body("a");
        get(field, "/q%253F.txt").expect(200).expect_body("q");
        for to in [
            "",
            "?x",
            "%23",
            "http://x/f",
            "https://localhost/a%2520b.txt",
            "/../secret.txt",
            "../secret.txt",
            "/%2500",
        ] {
            get(field, to).expect(502);
        }
    }
    for line in ["it names no path", "a URL is not a path", "the path climbs above the root"] {
        eventually("it is logged", || server.log().contains(line).then_some(()));
    }
}

/// A query of the redirect takes the place of the client's.
#[test]
fn a_redirect_may_have_a_query() {
    let (site, fpm) = (private(), PhpFpm::at_socket(STATIC));
    let origin = Origin::echo();
    let server = serve(&fpm, &site, &json!({ "proxy": origin.url() }));
    let get = |to: &str| server.get(&format!("/?field=X-Accel-Redirect&to={to}")).expect(200).text();
    let text = get("/a%2520b%253F?c=%2520%22");
    assert!(text.starts_with("GET /a%20b%3F?c=%20%22 HTTP/1.1\r\n"), "{text}");
    let text = get("/a%25252e");
    assert!(text.starts_with("GET /a%252e?field="), "{text}");
}

/// Scripts are found by what was decoded once, and told of it as it is.
#[test]
fn a_rewritten_path_is_not_decoded_again() {
    let code = "<?php echo 'ran ', $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['PATH_INFO'] ?? '', ' ', \
        $_SERVER['QUERY_STRING'];";
    let (fpm, site) = (PhpFpm::at_socket(STATIC), site().file("private/s.php", code).file("p/s.php", code));
    let site = site.file("p/100%.php", code).file("p/a?b.php", code).file("p-old/s.php", code);
    let action =
        |rewrite: &str, root: String| json!({ "rewrite": rewrite, "fastcgi": fpm.address(), "root": root });
    let server = daemon()
        .routes(json!([
            { "match": { "uri": "/value" }, "action": action("$arg_p?x=1?", format!("{}/p", site.root())) },
            { "action": action("/p$uri?x=$uri", site.root()) },
        ]))
        .start();
    server.get("/s.php/%2541?c").expect(200).expect_body("ran /p/s.php /%41 x=/s.php/%2541&c");
    server.get("/100%25.php").expect(200).expect_text("ran /p/100%.php ");
    server.get("/a%3Fb.php").expect(200).expect_text("ran /p/a?b.php ");
    server.get("/value?p=s.php").expect(200).expect_body("ran /s.php  x=1");
    for target in
        ["/%252e%252e/private/s.php", "/%2573.php", "/value?p=-old/s.php", "/value?p=../private/s.php"]
    {
        let reply = server.get(target).expect(404);
        assert!(!reply.text().contains("ran"), "{target}: {reply}");
    }
}

/// A script that the configuration names by a value lies where it says.
#[test]
fn a_variable_that_names_a_file_is_a_path() {
    let code = "<?php echo 'ran ', $_SERVER['SCRIPT_FILENAME'];";
    let (fpm, site) = (PhpFpm::at_socket(STATIC), site().file("p/s.php", code).file("p-old/s.php", code));
    let params = json!({ "SCRIPT_FILENAME": format!("{}/p$arg_p", site.root()), "X": "$arg_p" });
    let action = json!({ "fastcgi": fpm.address(), "params": params });
    let server = daemon().routes(json!([{ "action": action }])).start();
    server.get("/?p=/s.php").expect(200).expect_body(format!("ran {}/p/s.php", site.root()));
    server.get("/?p=s.php").expect(200);
    for value in ["-old/s.php", "/../p-old/s.php", "", "/s.php%00", "/./s.php"] {
        let reply = server.get(&format!("/?p={value}")).expect(404);
        assert!(!reply.text().contains("ran"), "{value}: {reply}");
    }
}
