//! Section 12: `share`, its algorithm step by step, and what may be on the way to a file.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use corral_testkit::{Beside, Request, daemon, eventually, meanwhile, site};
use serde_json::{Value, json};

use super::{check, serve, share};

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

// --- the file -----------------------------------------------------------------------------------------

/// Options: …action.share
#[test]
fn a_file_has_its_type_length_and_validators() {
    let site =
        site().file("a.html", "<p>hello").file("b.unknown", "?").file("Makefile", "x").file("empty.txt", "");
    let server = share(&site);
    let response = server.get("/a.html").expect(200).expect_body("<p>hello");
    let response = response.expect_field("Content-Type", "text/html").expect_field("Content-Length", "8");
    let etag = response.field("ETag").expect("an ETag");
    let modified = std::fs::metadata(site.path("a.html")).expect("it is there").modified().expect("a time");
    let modified = modified.duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let (seconds, part) = (modified.as_secs(), modified.subsec_nanos());
    let expected =
        if part == 0 { format!("\"{seconds:x}-8\"") } else { format!("\"{seconds:x}.{part:x}-8\"") };
    // Weak for a moment behind its last change.
    assert_eq!(etag.trim_start_matches("W/"), expected);
    assert!(response.field("Last-Modified").expect("a date").ends_with(" GMT"));
    server.get("/b.unknown").expect(200).expect_no_field("Content-Type");
    server.get("/Makefile").expect(200).expect_no_field("Content-Type");
    server.get("/empty.txt").expect(200).expect_body("").expect_field("Content-Length", "0");
}

#[test]
fn head_is_get_without_a_body() {
    let site = site().file("a.txt", "hello");
    let server = share(&site);
    let get = server.get("/a.txt");
    let head = server.send(&Request::new("HEAD", "/a.txt")).expect(200).expect_body("");
    for name in ["Content-Length", "ETag", "Last-Modified", "Content-Type"] {
        assert_eq!(head.field(name), get.field(name), "{name}");
    }
}

/// Every row of the table of types.
#[test]
fn types_are_found_by_the_last_extension() {
    const TYPES: &[(&str, &str)] = &[
        ("text/html", "html htm"),
        ("text/css", "css"),
        ("text/plain", "txt"),
        ("text/markdown", "md"),
        ("text/x-rst", "rst"),
        ("image/svg+xml", "svg"),
        ("image/webp", "webp"),
        ("image/png", "png"),
        ("image/apng", "apng"),
        ("image/jpeg", "jpeg jpg JPG"),
        ("image/gif", "gif"),
        ("image/x-icon", "ico"),
        ("image/avif", "avif"),
        ("image/avif-sequence", "avifs"),
        ("font/woff", "woff"),
        ("font/woff2", "woff2"),
        ("font/otf", "otf"),
        ("font/ttf", "ttf"),
        ("application/javascript", "js mjs"),
        ("application/json", "json"),
        ("application/xml", "xml"),
        ("application/rss+xml", "rss"),
        ("application/atom+xml", "atom"),
        ("application/pdf", "pdf"),
        ("application/zip", "zip tar.zip"),
        ("audio/mpeg", "mp3"),
        ("audio/ogg", "ogg"),
        ("audio/midi", "midi mid"),
        ("audio/flac", "flac"),
        ("audio/aac", "aac"),
        ("audio/wav", "wav"),
        ("video/mpeg", "mpeg mpg"),
        ("video/mp4", "mp4"),
        ("video/webm", "webm"),
        ("video/x-msvideo", "avi"),
        ("application/octet-stream", "exe bin dll iso img msi deb rpm"),
        ("application/x-httpd-php", "php"),
    ];
    let site = site();
    let server = share(&site);
    let mut client = server.connect();
    for (mime_type, extensions) in TYPES {
        for extension in extensions.split(' ') {
            site.write(&format!("a.{extension}"), "x");
            client.get(&format!("/a.{extension}")).expect(200).expect_field("Content-Type", mime_type);
        }
    }
    site.write("html", "x");
    site.write("a.html.", "x");
    client.get("/html").expect(200).expect_no_field("Content-Type");
    client.get("/a.html.").expect(200).expect_no_field("Content-Type");
}

// --- outcomes -----------------------------------------------------------------------------------------

#[test]
fn what_is_not_there_or_not_allowed_is_refused() {
    let site = site().file("a.txt", "x").file("secret.txt", "x").file("folder/index.html", "index");
    std::fs::set_permissions(site.path("secret.txt"), std::fs::Permissions::from_mode(0o000))
        .expect("set the mode");
    let _socket = UnixListener::bind(site.path("socket")).expect("make a socket");
    let fifo = rustix::fs::mknodat(
        rustix::fs::CWD,
        site.path("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    );
    fifo.expect("make a FIFO");
    symlink("loop", site.path("loop")).expect("make a link");
    symlink("nowhere", site.path("dangling")).expect("make a link");
    let server = share(&site);
    let long = format!("/{}", "n".repeat(300));
    check(
        &server,
        &[
            ("/nope", 404),
            ("/a.txt/b", 404),
            (&long, 404),
            ("/socket", 404),
            ("/fifo", 404),
            ("/dangling", 404),
            ("/loop", 403),
            ("/%2e%2e/etc/passwd", 400),
        ],
    );
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"] {
        server.send(&Request::new(method, "/a.txt").body("x")).expect(405).expect_no_field("Allow");
    }
    if is_root() {
        // Only then the router runs as another user.
        check(&server, &[("/secret.txt", 403)]);
        server.expect_log("secret.txt");
    }
}

#[test]
fn names_are_decoded_and_locations_encoded() {
    let site = site().file("a b+ü.txt", "x").file("ö ä/index.html", "index");
    let server = share(&site);
    server.get("/a%20b+%C3%BC.txt").expect(200).expect_body("x");
    server.get("/./x/../a%20b%2B%c3%bc.txt").expect(200);
    server.get("/%C3%B6%20%C3%A4?q=1").expect(301).expect_field("Location", "/%C3%B6%20%C3%A4/?q=1");
    server.get("/%C3%B6%20%C3%A4/").expect(200).expect_body("index");
}

/// Options: …action.index
#[test]
fn folders_redirect_and_show_their_index() {
    let site = site()
        .file("index.html", "top")
        .file("a/index.html", "a")
        .file("a/start.txt", "start")
        .file("a/sub/x", "x")
        .writable_folder("empty");
    let server = share(&site);
    server.get("/").expect(200).expect_body("top");
    server.get("/a").expect(301).expect_field("Location", "/a/");
    server.get("/a?x=1").expect(301).expect_field("Location", "/a/?x=1");
    server.get("/a/").expect(200).expect_body("a").expect_field("Content-Type", "text/html");
    server.get("/empty/").expect(404);
    let index = |index: &str| serve(&json!({ "share": format!("{}$uri", site.root()), "index": index }));
    let server = index("start.txt");
    server.get("/a/").expect(200).expect_body("start");
    server.get("/").expect(404);
    // An empty name opens the folder, which is not a file; nor is a folder of that name.
    index("").get("/a/").expect(404);
    index("sub").get("/a/").expect(404);
}

/// Options: …action.types, …action.fallback
#[test]
fn several_shares_types_and_fallback_are_tried_in_order() {
    let site = site()
        .file("one/a.txt", "one")
        .file("two/b.txt", "two")
        .file("two/c.php", "secret")
        .file("two/folder/index.html", "index");
    let root = site.root();
    let server = serve(&json!({
        "share": [format!("{root}/one$uri"), format!("{root}/two$uri")],
        "types": ["text/*"],
        "fallback": { "return": 402 },
    }));
    server.get("/a.txt").expect(200).expect_body("one");
    server.get("/b.txt").expect(200).expect_body("two");
    server.get("/c.php").expect(402);
    server.get("/none").expect(402);
    server.get("/folder/").expect(200).expect_body("index");
    server.send(&Request::post("/a.txt")).expect(402);
    let server = serve(&json!({ "share": format!("{root}/two$uri"), "types": "!application/x-httpd-php" }));
    check(&server, &[("/c.php", 403), ("/b.txt", 200), ("/none", 404), ("/folder", 301)]);
    // A pattern for what has no type is the empty string.
    let server = serve(&json!({ "share": format!("{root}/two$uri"), "types": ["", "TEXT/plain"] }));
    check(&server, &[("/b.txt", 200), ("/c.php", 403), ("/folder", 301)]);
    let server = serve(&json!({ "share": format!("{root}/two$uri"), "types": [] }));
    check(&server, &[("/c.php", 200)]);
}

#[test]
fn the_last_share_decides_what_is_answered_and_a_folder_ends_the_search() {
    let site = site().file("one/x/a", "a").file("two/x/b", "b").file("two/y.php", "php");
    let root = site.root();
    let both = json!([format!("{root}/one$uri"), format!("{root}/two$uri")]);
    let server = serve(&json!({ "share": both, "fallback": { "return": 402 } }));
    check(&server, &[("/x", 301), ("/x/", 402), ("/x/b", 200)]);
    let shares = |first: &str, last: &str| {
        serve(
            &json!({ "share": [format!("{root}/{first}$uri"), format!("{root}/{last}$uri")], "types": "!*php" }),
        )
    };
    // 403 for the type is the outcome of both; a missing file comes after the types.
    check(&shares("one", "two"), &[("/y.php", 403), ("/y", 404)]);
}

/// Options: …action.share
#[test]
fn shares_are_templates() {
    let site = site().file("a.example/f.txt", "a").file("b.example/f.txt", "b").file("single.txt", "single");
    let server = serve(
        &json!({ "share": [format!("{}/$host/$arg_file", site.root()), format!("{}/single.txt", site.root())] }),
    );
    let get = |host: &str, target: &str| server.send(&Request::get(target).field("Host", host));
    get("a.example", "/any?file=f.txt").expect(200).expect_body("a");
    get("B.example:80", "/any?file=f.txt").expect(200).expect_body("b");
    get("c.example", "/any?file=f.txt").expect(200).expect_body("single");
    // A variable may say anything: a NUL opens nothing.
    get("a.example", "/any?file=f.txt%00x").expect(200).expect_body("single");
}

#[test]
fn shares_are_checked() {
    let control = daemon().start_unconfigured();
    let put = |action: Value| control.control().put("/config", &json!({ "routes": [{ "action": action }] }));
    for (action, detail) in [
        (json!({ "share": [] }), "The \"share\" array must contain at least one element."),
        (json!({ "share": [1] }), "The \"share\" array must contain only string values."),
        (json!({ "share": "/$nope" }), "Unknown variable \"nope\" in the \"share\" value."),
        (json!({ "share": "/x", "chroot": "${" }), "Invalid variable at position 0 in the \"chroot\" value."),
        (json!({ "share": "/x", "location": "/" }), "Unknown parameter \"location\"."),
        (
            json!({ "share": "/x", "index": 1 }),
            "The \"index\" value must be a string, but not an integer number.",
        ),
        (
            json!({ "share": "/x", "follow_symlinks": "no" }),
            "The \"follow_symlinks\" value must be a boolean, but not a string.",
        ),
        (
            json!({ "share": "/x", "fallback": {} }),
            "The \"action\" object must have either \"pass\", \"return\", \"share\", or \"proxy\" option set.",
        ),
    ] {
        let reply = put(action.clone()).expect_refused(400, "Invalid configuration.");
        assert!(reply.contains(detail), "{action}\n{reply}");
    }
}

/// Files are replaced all the time: each answer is one of them, whole.
#[test]
fn a_file_that_is_replaced_is_never_mixed() {
    let site = site().file("a.txt", "x".repeat(20_000)).file("b.txt", "x".repeat(100_000));
    let server = share(&site);
    let mut number = 0_u8;
    let replace = || {
        let letter = char::from(b'a' + number % 26).to_string();
        for (name, len) in [("a.txt", 20_000), ("b.txt", 100_000)] {
            site.write("new", letter.repeat(len + usize::from(number)));
            std::fs::rename(site.path("new"), site.path(name)).expect("replace the file");
        }
        number = number.wrapping_add(1);
        Beside::Again
    };
    meanwhile(replace, || {
        let mut client = server.connect();
        let started = std::time::Instant::now();
        while started.elapsed() < std::time::Duration::from_secs(2) {
            for name in ["/a.txt", "/b.txt"] {
                let response = client.get(name).expect(200);
                let (first, body) = (response.body[0], &response.body);
                assert!(body.iter().all(|&byte| byte == first), "{name}: a mixture");
            }
        }
    });
}

/// Each request would be redirected, and the next one again.
#[test]
fn a_folder_that_is_shared_whatever_is_asked_for_is_refused_with_the_remedy() {
    let files = site().file("index.html", "index").file("file.txt", "found");
    let root = files.root();
    let server = daemon().start_unconfigured();
    let config = |share: Value| {
        let action = json!({ "return": 404, "errors": { "404": { "share": share } } });
        server.with_listener(json!({ "routes": [{ "action": action }] }))
    };
    for fine in
        [json!(format!("{root}$uri")), json!(format!("{root}/file.txt")), json!([format!("{root}/none")])]
    {
        server.control().put("/config", &config(fine)).expect_done();
    }
    assert!(!server.log().contains("itself"), "{}", server.log());
    for share in [json!(root), json!(["/nowhere", &root]), json!([&root, "/nowhere"])] {
        let reply = server.control().put("/config", &config(share));
        let text = reply.json().to_string();
        assert!(text.contains(&format!("{root}$uri\\\" serves its files")), "{text}");
        let detail = reply.expect_refused(400, "Invalid configuration.");
        assert!(detail.contains(&format!("the folder \"{root}\" itself")), "{detail}");
    }
    let page = json!({ "page": &root });
    let maintenance = json!({ "routes": [{ "action": { "return": 200, "maintenance": page } }] });
    server
        .control()
        .put("/config", &server.with_listener(maintenance))
        .expect_refused(400, "Invalid configuration.");
    server.control().put("/config", &config(json!(format!("{root}/")))).expect_done();
    server.expect_log("itself: its index answers every request");
    server.get("/file.txt").expect_body("index");
}

/// A folder that comes later, or by a variable: a redirect never leads to where the client has been.
#[test]
fn no_redirect_to_a_folder_goes_in_a_circle() {
    let files = site().file("d/e/x.txt", "found");
    let root = files.root();
    let server = daemon().routes(json!([{ "action": { "share": format!("{root}/later") } }])).start();
    server.get("/").expect(404);
    std::fs::create_dir(files.path("later")).expect("the folder is there");
    let by_variable = json!({ "share": format!("{root}/$arg_f") });
    let stripped = json!({ "rewrite": "/d", "share": format!("{root}$uri") });
    for (action, target, location) in [
        (json!({ "share": format!("{root}/later") }), "/a?f=d", Some("/a/?f=d")),
        (by_variable.clone(), "/?f=d", None),
        (by_variable.clone(), "/a/?f=d", None),
        (by_variable, "/a?f=d", Some("/a/?f=d")),
        (stripped.clone(), "/d/", None),
        (stripped, "/d?q=|a|%20b", Some("/d/?q=%7Ca%7C%20b")),
        (json!({ "rewrite": "d/e", "share": format!("{root}$uri") }), "/", Some("/d/e/")),
        (json!({ "rewrite": "?", "share": format!("{root}$uri") }), "/d?a", Some("/d/")),
    ] {
        // What stands is not refused because of what has come since.
        if action["share"] != json!(format!("{root}/later")) {
            server.control().put("/config/routes", &json!([{ "action": action }])).expect_done();
        }
        let reply = server.get(target).expect(if location.is_some() { 301 } else { 404 });
        assert_eq!(reply.field("Location"), location, "{action} {target}");
    }
    server.expect_log("for a path that ends in a slash");
}

/// Two contents of one length within a second have different tags.
#[test]
fn tags_tell_contents_of_one_second_apart() {
    let site = site().file("a.txt", "one");
    let server = daemon().routes(json!([{ "action": { "share": format!("{}$uri", site.root()) } }])).start();
    let mut last = String::new();
    for content in ["two", "six", "ten", "one"] {
        site.write("a.txt", content);
        let reply = server
            .send(&Request::get("/a.txt").field("If-None-Match", &last))
            .expect(200)
            .expect_body(content);
        last = reply.field("ETag").expect("a tag").to_owned();
        // The clock by which the kernel notes changes goes on.
        let noted = std::fs::metadata(site.path("a.txt")).and_then(|known| known.modified()).expect("a time");
        eventually("another time", || {
            let probe = tempfile::NamedTempFile::new_in(site.root()).expect("a file");
            let now = probe.as_file().metadata().and_then(|known| known.modified()).expect("a time");
            (now > noted).then_some(())
        });
    }
}

/// RFC 9110 section 8.8.2.1: nothing was modified after it was sent.
#[test]
fn no_file_was_modified_in_the_future() {
    let site = site().file("a.txt", "content");
    let future = std::time::SystemTime::now() + std::time::Duration::from_secs(86_400);
    let file = std::fs::File::options().write(true).open(site.path("a.txt")).expect("it is there");
    file.set_modified(future).expect("set its time");
    let server = daemon().routes(json!([{ "action": { "share": format!("{}$uri", site.root()) } }])).start();
    let reply = server.get("/a.txt").expect(200);
    let date = |name: &str| {
        let text = reply.field(name).expect("a date");
        corral_http::response::parse_date(text.as_bytes()).expect("a date of HTTP")
    };
    assert!(date("Last-Modified") <= date("Date"), "{reply}");
}
