//! Addresses that are not names of files: several indexes, `clean_urls`, and the page of a single-page application.

use corral_testkit::{Daemon, Request, Site, daemon, site};
use serde_json::{Value, json};

use super::{check, serve};

/// A share of the site with these options.
fn share_with(site: &Site, options: Value) -> Daemon {
    let mut action = json!({ "share": format!("{}$uri", site.root()) });
    action.as_object_mut().expect("an object").extend(options.as_object().expect("options").clone());
    serve(&action)
}

#[track_caller]
fn moved(server: &Daemon, target: &str, location: &str) {
    server.get(target).expect(301).expect_field("Location", location);
}

/// Options: …action.index
#[test]
fn the_first_index_that_is_there_is_shown() {
    let site = site()
        .file("both/index.html", "html")
        .file("both/index.htm", "htm")
        .file("second/index.htm", "htm")
        .file("folder/index.html/x", "x")
        .file("folder/index.htm", "htm")
        .file("none/a.txt", "a")
        .file("link/start.txt", "start");
    let names = json!(["index.html", "index.htm", "start.txt"]);
    let server = share_with(&site, json!({ "index": names }));
    for (path, body) in [("/both/", "html"), ("/second/", "htm"), ("/folder/", "htm"), ("/link/", "start")] {
        server.get(path).expect(200).expect_body(body);
    }
    server.get("/second/").expect_field("Content-Type", "text/html");
    server.get("/link/").expect_field("Content-Type", "text/plain");
    check(&server, &[("/none/", 404), ("/nowhere/", 404), ("/both", 301)]);
    // What has come and gone counts at once.
    site.write("second/index.html", "new");
    server.get("/second/").expect_body("new");
    std::fs::remove_file(site.path("second/index.html")).expect("it is there");
    server.get("/second/").expect_body("htm");
    let listed =
        share_with(&site, json!({ "index": names, "listing": true, "cache_control": { "*.htm": "htm" } }));
    listed.get("/second/").expect_body("htm").expect_field("Cache-Control", "htm");
    listed.get("/both/").expect_body("html").expect_no_field("Cache-Control");
    assert!(listed.get("/none/").expect(200).text().contains("a.txt"));
    listed.get("/nowhere/").expect(404);
}

/// Options: …action.clean_urls
#[test]
fn pages_are_known_by_their_names_alone() {
    let site = site()
        .file("index.html", "home")
        .file("about.html", "about")
        .file("a b+ü.html", "escapes")
        .file("docs/index.html", "docs")
        .file("docs/intro.html", "intro")
        .file("both.html", "page")
        .file("both/index.html", "folder")
        .file("plain", "no ending")
        .file("plain.html", "an ending")
        .file(".html", "only an ending")
        .file("twice.html.html", "twice")
        .file("style.css", "css");
    let server = share_with(&site, json!({ "clean_urls": true, "cache_control": { "/about.html": "page" } }));
    let about =
        server.get("/about").expect(200).expect_body("about").expect_field("Content-Type", "text/html");
    about.expect_field("Cache-Control", "page");
    server.send(&Request::new("HEAD", "/about")).expect(200).expect_field("Content-Length", "5");
    server.get("/docs/intro").expect_body("intro");
    server.get("/").expect(200).expect_body("home");
    server.get("/docs/").expect(200).expect_body("docs");
    server.get("/style.css").expect(200).expect_body("css");
    moved(&server, "/about.html", "/about");
    moved(&server, "/about.html?x=%20|", "/about?x=%20%7C");
    moved(&server, "/about%2ehtml", "/about");
    moved(&server, "/a%20b+%C3%BC.html", "/a%20b+%C3%BC");
    server.get("/a%20b+%C3%BC").expect_body("escapes");
    // One address for each page.
    moved(&server, "/index.html", "/");
    moved(&server, "/index", "/");
    moved(&server, "/docs/index.html", "/docs/");
    moved(&server, "/docs/index", "/docs/");
    moved(&server, "/about/", "/about");
    moved(&server, "/docs", "/docs/");
    // A page goes before a folder of its name, and a file before a page.
    server.get("/both").expect(200).expect_body("page");
    server.get("/both/").expect(200).expect_body("folder");
    moved(&server, "/both.html", "/both");
    server.get("/plain").expect(200).expect_body("no ending");
    server.get("/plain.html").expect(200).expect_body("an ending");
    server.get("/.html").expect(200).expect_body("only an ending");
    moved(&server, "/twice.html.html", "/twice.html");
    server.get("/twice.html").expect(200).expect_body("twice");
    check(
        &server,
        &[("/nope", 404), ("/nope/", 404), ("/nope.html", 404), ("/about.html/", 404), ("/docs/nope", 404)],
    );
    server.send(&Request::post("/about")).expect(405);
}

/// A redirect that a rewrite leads back from would never end.
#[test]
fn addresses_that_stand_in_for_others_are_not_redirected() {
    let site =
        site().file("about.html", "about").file("404.html", "no such page").file("docs/index.html", "docs");
    let share = json!({ "share": format!("{}$uri", site.root()), "clean_urls": true });
    let with = |name: &str, value: Value| {
        let mut action = share.clone();
        action[name] = value;
        action
    };
    let server = daemon()
        .routes(json!([
            { "match": { "uri": "/rewritten*" }, "action": with("rewrite", json!("/about.html")) },
            { "match": { "uri": "/folder*" }, "action": with("rewrite", json!("/docs/index.html")) },
            { "match": { "uri": "/slash*" }, "action": with("rewrite", json!("/about/")) },
            {
                "match": { "uri": "/fixed/*" },
                "action": { "share": format!("{}/about.html", site.root()), "clean_urls": true },
            },
            {
                "match": { "uri": "/error*" },
                "action": {
                    "return": 404,
                    "errors": { "404": { "share": format!("{}/404.html", site.root()), "clean_urls": true } },
                },
            },
            { "action": share },
        ]))
        .start();
    server.get("/rewritten").expect(200).expect_body("about");
    server.get("/folder").expect(200).expect_body("docs");
    server.get("/slash").expect(404);
    server.get("/fixed/other.html").expect(200).expect_body("about");
    // That file's own name leads to another address of the same file, where it ends.
    moved(&server, "/fixed/about.html", "/fixed/about");
    server.get("/fixed/about").expect(200).expect_body("about");
    for target in ["/error", "/error/404.html"] {
        server.get(target).expect(404).expect_body("no such page");
    }
}

/// Types, restrictions and several shares hold for what is found by a shorter name.
#[test]
fn clean_addresses_are_under_the_same_restrictions() {
    let site = site().file("root/a.html", "a").file("secret.html", "secret").file("other/b.html", "b");
    std::os::unix::fs::symlink("../secret.html", site.path("root/link.html")).expect("make a link");
    let root = std::fs::canonicalize(site.path("root")).expect("it is there");
    let path = format!("{}$uri", root.display());
    let serve = |options: Value| {
        let mut action = json!({ "share": path, "clean_urls": true });
        action.as_object_mut().expect("an object").extend(options.as_object().expect("options").clone());
        serve(&action)
    };
    serve(json!({})).get("/link").expect_body("secret");
    check(&serve(json!({ "follow_symlinks": false })), &[("/a", 200), ("/link", 404), ("/link.html", 403)]);
    check(&serve(json!({ "chroot": root })), &[("/a", 200), ("/link", 404)]);
    check(&serve(json!({ "types": "text/html" })), &[("/a", 200), ("/nope", 403)]);
    check(&serve(json!({ "types": "image/*" })), &[("/a", 403), ("/a.html", 403)]);
    let both = serve(
        json!({ "share": [path, format!("{}/other$uri", site.root())], "fallback": { "return": 204 } }),
    );
    check(&both, &[("/a", 200), ("/b", 200), ("/b.html", 301), ("/c", 204)]);
}

/// Options: …action.spa
#[test]
fn a_single_page_answers_addresses_that_are_not_files() {
    let site = site().file("index.html", "app").file("app.html", "other").file("assets/a.js", "js");
    let cache = json!({ "/assets/*": "immutable", "*.html": "no-cache" });
    let browser =
        |target: &str| Request::get(target).field("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    for (spa, body) in [(json!(true), "app"), (json!("/index.html"), "app"), (json!("/app.html"), "other")] {
        let server = share_with(&site, json!({ "spa": spa, "cache_control": cache }));
        for target in ["/orders/7", "/orders/7/", "/orders?x=1"] {
            let page = server.get(target).expect(200).expect_body(body);
            page.expect_field("Content-Type", "text/html").expect_field("Cache-Control", "no-cache");
        }
        server.send(&Request::new("HEAD", "/orders/7")).expect(200).expect_body("");
        server.get("/assets/a.js").expect_body("js").expect_field("Cache-Control", "immutable");
        server.get("/assets").expect(301);
        // A script that is gone is not answered by a page; an address with a dot is, in a browser.
        server.get("/assets/old.js").expect(404);
        server.send(&Request::get("/assets/old.js").field("Accept", "*/*")).expect(404);
        server.send(&browser("/users/john.doe")).expect(200).expect_body(body);
        server.send(&Request::post("/orders")).expect(405);
    }
    let off = share_with(&site, json!({ "spa": false }));
    off.get("/orders/7").expect(404);
    let gone = share_with(&site, json!({ "spa": "/gone.html" }));
    gone.get("/orders/7").expect(404);
}

#[test]
fn a_single_page_leaves_the_rest_to_the_fallback() {
    let site = site().file("index.html", "app");
    let server =
        share_with(&site, json!({ "spa": "/index.html", "clean_urls": true, "fallback": { "return": 204 } }));
    server.get("/orders").expect(200).expect_body("app");
    server.get("/old.js").expect(204);
    server.send(&Request::post("/orders")).expect(204);
    // The page itself has one address.
    moved(&server, "/index.html", "/");
    server.get("/").expect(200).expect_body("app");
}

/// The manual's page for static sites.
#[test]
fn a_page_of_the_site_answers_what_is_not_there() {
    let site = site().file("404.html", "not here").file("index.html", "home");
    let page = json!({ "share": format!("{}/404.html", site.root()) });
    let server = share_with(&site, json!({ "clean_urls": true, "errors": { "404": page } }));
    server.get("/nope").expect(404).expect_body("not here").expect_field("Content-Type", "text/html");
    server.get("/nope/").expect(404).expect_body("not here");
    server.send(&Request::get("/nope").field("If-None-Match", "*").field("Range", "bytes=0-1")).expect(404);
    server.send(&Request::new("HEAD", "/nope")).expect(404).expect_field("Content-Length", "8");
}

#[test]
fn their_options_are_checked() {
    let control = daemon().start_unconfigured();
    for (option, value, detail) in [
        ("index", json!([]), "The \"index\" array must contain at least one element."),
        ("index", json!(["a", 1]), "The \"index\" array must contain only string values."),
        ("index", json!(vec!["a"; 17]), "The \"index\" array must contain at most 16 names, but not 17."),
        ("index", json!(["a\0b"]), "The \"index\" string must not contain null character."),
        ("spa", json!("index.html"), "The \"spa\" value must be a path that begins with \"/\"."),
        ("spa", json!("$nope"), "Unknown variable \"nope\" in the \"spa\" value."),
        (
            "spa",
            json!(1),
            "The \"spa\" value must be either a boolean or a string, but not an integer number.",
        ),
        ("clean_urls", json!("yes"), "The \"clean_urls\" value must be a boolean, but not a string."),
    ] {
        let mut action = json!({ "share": "/x" });
        action[option] = value;
        let config = json!({ "routes": [{ "action": action }] });
        let reply = control.control().put("/config", &config).expect_refused(400, "Invalid configuration.");
        assert!(reply.contains(detail), "{action}\n{reply}");
    }
}
