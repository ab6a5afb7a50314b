//! `signed_link`: links that the manual's functions sign, and everything that can be changed in them.

use std::path::Path;

use corral_testkit::{Daemon, Request, Site, daemon, site};
use serde_json::{Value, json};

use crate::{guarded, output};

const SECRET: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const OTHER: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff000102030405060708090a0b0c0d0e0f";

fn secrets(content: &str) -> Site {
    site().file("links", content)
}

/// The signature that `openssl` makes of a text.
fn signature(secret: &str, text: &str) -> String {
    let printed = output("openssl", &["dgst", "-sha256", "-hmac", secret, "-r"], text);
    printed.split(' ').next().expect("a digest").to_owned()
}

/// A time so many seconds from now.
fn in_seconds(seconds: i64) -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    now.as_secs().cast_signed() + seconds
}

fn link(path: &str, expires: i64) -> String {
    format!("{path}?expires={expires}&signature={}", signature(SECRET, &format!("{expires} {path}")))
}

fn serve(rules: &Value) -> Daemon {
    guarded(&json!({ "signed_link": rules }))
}

/// Options: …action.authenticate.signed_link, …action.authenticate.signed_link.secrets
#[test]
fn a_link_is_good_until_its_time_for_one_path() {
    let site = secrets(&format!("{OTHER}\n{SECRET}\n"));
    let server = serve(&json!({ "secrets": site.path("links") }));
    let expires = in_seconds(600);
    let good = link("/a/b.pdf", expires);
    server.get(&good).expect(200).expect_body("hello ");
    server.get(&format!("{good}&x=y")).expect(200);
    server.get(&good.replace("/a/", "/./x/../%61//")).expect(200);
    server.send(&Request::new("HEAD", &good)).expect(200);
    let (path, query) = good.split_once('?').expect("a query");
    let signed = query.split_once("signature=").expect("a signature").1;
    for refused in [
        path.to_owned(),
        format!("{path}?"),
        format!("{path}?expires={expires}"),
        format!("{path}?signature={signed}"),
        format!("{path}?expires=&signature={signed}"),
        format!("{path}?expires={}&signature={signed}", expires + 1),
        format!("{path}?expires=0{expires}&signature={signed}"),
        format!("{path}?expires=%20{expires}&signature={signed}"),
        format!("{path}?expires={expires}&signature="),
        format!("{path}?expires={expires}&signature={}", &signed[1..]),
        format!("{path}?expires={expires}&signature={signed}0"),
        format!("{path}?expires={expires}&signature=%00{}", &signed[1..]),
        format!("{path}?{query}&signature=x"),
        format!("{path}?{query}&expires={}", expires + 9999),
        format!("/a/c.pdf?{query}"),
        format!("/a/b.pdf/?{query}"),
        format!("/a?{query}"),
        format!("{path}?expires={}&signature={signed}", u128::MAX),
        format!("{path}?expires={}&signature={}", "9".repeat(3000), "a".repeat(3000)),
    ] {
        server.get(&refused).expect(403);
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        server.send(&Request::new(method, &good)).expect(403);
    }
    assert!(!server.log().contains(SECRET) && !server.log().contains(signed), "{}", server.log());
}

#[test]
fn a_link_that_has_expired_is_gone_and_a_forged_one_is_not_told_so() {
    let site = secrets(SECRET);
    let server = serve(&json!({ "secrets": site.path("links") }));
    server.get(&link("/a", in_seconds(-5))).expect(410);
    server.get(&link("/a", 0)).expect(410);
    server.get(&link("/a", in_seconds(-5)).replace("/a?", "/b?")).expect(403);
    server.expect_log("the link has expired");
}

/// A secret is changed while links are signed with both.
#[test]
fn secrets_rotate() {
    let site = secrets(OTHER);
    let server = serve(&json!({ "secrets": site.path("links") }));
    let good = link("/a", in_seconds(600));
    let status = |content: &str, status: u16| {
        site.write("new", content);
        std::fs::rename(site.path("new"), site.path("links")).expect("replace the file");
        server.get(&good).expect(status);
    };
    server.get(&good).expect(403);
    status(&format!("{SECRET}\n{OTHER}\n"), 200);
    status(&format!("{OTHER}\r\n\r\n{SECRET}"), 200);
    status(OTHER, 403);
    status("short", 500);
    status(SECRET, 200);
    std::fs::remove_file(site.path("links")).expect("it is there");
    server.get(&good).expect(500);
}

/// Options: …action.authenticate.signed_link.address
#[test]
fn a_link_can_be_for_one_client_alone() {
    let site = secrets(SECRET);
    let server = serve(&json!({ "secrets": site.path("links"), "address": true }));
    let expires = in_seconds(600);
    let signed = |text: &str| format!("/a?expires={expires}&signature={}", signature(SECRET, text));
    server.get(&signed(&format!("{expires} 127.0.0.1 /a"))).expect(200);
    server.get(&signed(&format!("{expires} 127.0.0.2 /a"))).expect(403);
    server.get(&signed(&format!("{expires} /a"))).expect(403);
}

#[test]
fn other_methods_may_let_in_those_without_a_link() {
    let files =
        secrets(SECRET).file("users", format!("bob:{}\n", output("openssl", &["passwd", "-6", "pw"], "")));
    let server = guarded(&json!({
        "signed_link": { "secrets": files.path("links") },
        "basic": { "file": files.path("users") },
    }));
    server.get(&link("/a", in_seconds(600))).expect(200);
    server.get("/a").expect(401);
    server.get(&link("/a", in_seconds(-5))).expect(401);
    server.get("/a?expires=1&signature=x").expect(403);
    server.send(&crate::as_user("/a", "bob", "pw")).expect(200);
}

/// The functions of the manual, as they stand there.
#[test]
fn the_manuals_functions_sign_links() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/configuration/authentication.md");
    let page = std::fs::read_to_string(page).expect("the manual is there");
    let site = secrets(&format!("{SECRET}\n{OTHER}\n"));
    let server = serve(&json!({ "secrets": site.path("links") }));
    let block = |language: &str| {
        let fence = format!("```{language}\n");
        let blocks = page.split(&fence).skip(1).filter_map(|rest| rest.split_once("```"));
        let code = blocks
            .map(|(code, _)| code)
            .find(|code| code.contains("function signed_link") || code.contains("def signed_link"));
        code.expect("the manual has the function")
            .replace("/etc/corral/links", site.path("links").to_str().expect("text"))
    };
    let php = format!("{}\necho signed_link($argv[1], 60);", block("php"));
    let python = format!("{}\nimport sys\nprint(signed_link(sys.argv[1], 60))", block("python"));
    for path in ["/a/b.pdf", "/a b/ü&?#%41.pdf", "/"] {
        for (program, arguments) in [("php", ["-r", &php]), ("/usr/bin/python3", ["-c", &python])] {
            let signed = output(program, &[arguments[0], arguments[1], path], "");
            server.get(&signed).expect(200);
        }
    }
}

#[test]
fn secrets_that_could_be_guessed_are_refused() {
    let server = daemon().start_unconfigured();
    for (content, detail) in [
        ("", "has no secret"),
        ("\n\n", "has no secret"),
        ("password", "has a secret of 8 bytes in line 1; it needs at least 32"),
        (&format!("{SECRET}\nx"), "has a secret of 1 bytes in line 2"),
        (&format!("{SECRET}\n").repeat(17), "has more than 16 secrets"),
    ] {
        let site = secrets(content);
        let rules = json!({ "signed_link": { "secrets": site.path("links") } });
        let reply = server.control().put("/config", &crate::guarded_config(&rules));
        let text = reply.json().to_string();
        assert!(text.contains(detail), "{content:?}\n{text}");
        assert!(!text.contains(SECRET), "{text}");
    }
    let relative = crate::guarded_config(&json!({ "signed_link": { "secrets": "links" } }));
    server.control().put("/config", &relative).expect_refused(400, "Invalid configuration.");
    let none = crate::guarded_config(&json!({ "signed_link": {} }));
    let refused = server.control().put("/config", &none).expect_refused(400, "Invalid configuration.");
    assert!(refused.contains("Required parameter \"secrets\" is missing."), "{refused}");
}
