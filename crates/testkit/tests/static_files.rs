//! Files from the disk: conditions, ranges, precompressed siblings, and never a stale one for long.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Request, Response, Site, daemon, eventually, site};
use serde_json::{Value, json};

fn share(site: &Site) -> Daemon {
    serve(&json!({ "share": format!("{}$uri", site.root()) }))
}

fn serve(action: &Value) -> Daemon {
    daemon().routes(json!([{ "action": action }])).start()
}

#[test]
fn a_file_has_its_type_length_and_validators() {
    let site = site().file("a.html", "<p>hello").file("b.unknown", "?").file("Makefile", "x");
    let server = share(&site);
    let response = server.get("/a.html").expect(200).expect_body("<p>hello");
    let response = response.expect_field("Content-Type", "text/html").expect_field("Content-Length", "8");
    let etag = response.field("ETag").expect("an ETag");
    assert!(etag.starts_with('"') && etag.ends_with("-8\""), "{etag}");
    assert!(response.field("Last-Modified").expect("a date").ends_with(" GMT"));
    server.get("/b.unknown").expect(200).expect_no_field("Content-Type");
    server.get("/Makefile").expect(200).expect_no_field("Content-Type");
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

#[test]
fn what_is_not_there_or_not_allowed_is_refused() {
    let site = site().file("a.txt", "x").file("secret.txt", "x").file("folder/index.html", "index");
    std::fs::set_permissions(site.path("secret.txt"), std::fs::Permissions::from_mode(0o000))
        .expect("set the mode");
    let server = share(&site);
    server.get("/nope").expect(404);
    server.get("/a.txt/b").expect(404);
    server.get("/%2e%2e/etc/passwd").expect(400);
    server.send(&Request::post("/a.txt")).expect(405);
    server.send(&Request::new("DELETE", "/a.txt")).expect(405);
    if is_root() {
        // Only then the router runs as somebody else.
        server.get("/secret.txt").expect(403);
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
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

#[test]
fn folders_redirect_and_show_their_index() {
    let site = site()
        .file("index.html", "top")
        .file("a/index.html", "a")
        .file("a/start.txt", "start")
        .writable_folder("empty");
    let server = share(&site);
    server.get("/").expect(200).expect_body("top");
    server.get("/a").expect(301).expect_field("Location", "/a/");
    server.get("/a?x=1").expect(301).expect_field("Location", "/a/?x=1");
    server.get("/a/").expect(200).expect_body("a").expect_field("Content-Type", "text/html");
    server.get("/empty/").expect(404);
    let server = serve(&json!({ "share": format!("{}$uri", site.root()), "index": "start.txt" }));
    server.get("/a/").expect(200).expect_body("start");
    server.get("/").expect(404);
}

#[test]
fn several_shares_types_and_fallback_are_tried_in_order() {
    let site = site().file("one/a.txt", "one").file("two/b.txt", "two").file("two/c.php", "secret");
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
    server.send(&Request::post("/a.txt")).expect(402);
    let server = serve(&json!({ "share": format!("{root}/two$uri"), "types": "!application/x-httpd-php" }));
    server.get("/c.php").expect(403);
    server.get("/b.txt").expect(200);
}

// --- conditions -----------------------------------------------------------------------------------

#[test]
fn conditions_are_judged() {
    let site = site().file("a.txt", "hello");
    let server = share(&site);
    let first = server.get("/a.txt");
    let etag = first.field("ETag").expect("an ETag").to_owned();
    let modified = first.field("Last-Modified").expect("a date").to_owned();
    let old = "Thu, 01 Jan 1998 00:00:00 GMT";
    for (fields, status) in [
        (vec![("If-None-Match", etag.as_str())], 304),
        (vec![("If-None-Match", "\"x\", \"y\"")], 200),
        (vec![("If-None-Match", "*")], 304),
        (vec![("If-Modified-Since", modified.as_str())], 304),
        (vec![("If-Modified-Since", old)], 200),
        (vec![("If-Modified-Since", "yesterday")], 200),
        // RFC 9110 section 13.2.2: the tag decides where both are given.
        (vec![("If-None-Match", "\"x\""), ("If-Modified-Since", modified.as_str())], 200),
        (vec![("If-Match", etag.as_str())], 200),
        (vec![("If-Match", "\"x\"")], 412),
        (vec![("If-Unmodified-Since", modified.as_str())], 200),
        (vec![("If-Unmodified-Since", old)], 412),
    ] {
        let request =
            fields.iter().fold(Request::get("/a.txt"), |request, (name, value)| request.field(name, value));
        let response = server.send(&request);
        assert_eq!(response.status, status, "{fields:?}\n{response}");
        if status == 304 {
            response.expect_field("ETag", &etag).expect_body("");
        }
    }
}

#[test]
fn a_list_of_tags_with_a_weak_one_matches() {
    let site = site().file("a.txt", "hello");
    let server = share(&site);
    let etag = server.get("/a.txt").field("ETag").expect("an ETag").to_owned();
    server.send(&Request::get("/a.txt").field("If-None-Match", &format!("\"x\", W/{etag}"))).expect(304);
    // A 304 leaves the connection usable.
    let mut client = server.connect();
    client.send(&Request::get("/a.txt").field("If-None-Match", &etag)).expect(304);
    client.get("/a.txt").expect(200).expect_body("hello");
}

// --- ranges ---------------------------------------------------------------------------------------

#[test]
fn single_ranges() {
    let site = site().file("a.txt", "0123456789");
    let server = share(&site);
    for (range, body, content_range) in [
        ("bytes=0-0", "0", "bytes 0-0/10"),
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=7-100", "789", "bytes 7-9/10"),
        ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=-30", "0123456789", "bytes 0-9/10"),
    ] {
        let response = ranged(&server, range);
        assert_eq!((response.status, response.text().as_str()), (206, body), "{range}\n{response}");
        response
            .expect_field("Content-Range", content_range)
            .expect_field("Content-Length", &body.len().to_string());
    }
}

#[test]
fn ranges_that_cannot_be_satisfied_or_read() {
    let site = site().file("a.txt", "0123456789");
    let server = share(&site);
    for range in ["bytes=10-", "bytes=20-30", "bytes=-0"] {
        let response = ranged(&server, range);
        assert_eq!(response.status, 416, "{range}\n{response}");
        response.expect_field("Content-Range", "bytes */10");
    }
    for range in ["bytes=5-2", "bytes=a-b", "lines=1-2", "bytes=", "0-5"] {
        let response = ranged(&server, range);
        assert_eq!((response.status, response.text().as_str()), (200, "0123456789"), "{range}\n{response}");
    }
}

#[test]
fn several_ranges_are_parts() {
    // Far apart: near ones may be joined (RFC 9110 section 14.2).
    let content: String = (0..10_000).map(|n| char::from(b'a' + (n / 1000) as u8)).collect();
    let site = site().file("a.txt", &content);
    let server = share(&site);
    let response = ranged(&server, "bytes=0-1,4999-5000,-1").expect(206);
    let kind = response.field("Content-Type").expect("a type");
    assert!(kind.starts_with("multipart/byteranges;"), "{kind}");
    let boundary = kind.split_once("boundary=").expect("a boundary").1.trim_matches('"');
    let text = response.text();
    for (content_range, piece) in [("0-1", "aa"), ("4999-5000", "ef"), ("9999-9999", "j")] {
        let part = format!("Content-Range: bytes {content_range}/10000\r\n\r\n{piece}\r\n--{boundary}");
        assert!(text.to_lowercase().contains(&part.to_lowercase()), "{part:?}\n{response}");
    }
    assert!(text.trim_end().ends_with(&format!("--{boundary}--")), "{response}");
    assert_eq!(response.field("Content-Length"), Some(text.len().to_string().as_str()));
}

#[test]
fn if_range_gives_the_whole_file_when_it_has_changed() {
    let site = site().file("a.txt", "0123456789");
    let server = share(&site);
    let first = server.get("/a.txt");
    let etag = first.field("ETag").expect("an ETag").to_owned();
    let request =
        |condition: &str| Request::get("/a.txt").field("Range", "bytes=0-1").field("If-Range", condition);
    server.send(&request(&etag)).expect(206).expect_body("01");
    server.send(&request("\"other\"")).expect(200).expect_body("0123456789");
    server.send(&request(&format!("W/{etag}"))).expect(200);
    server.send(&request("Thu, 01 Jan 1998 00:00:00 GMT")).expect(200);
}

#[test]
fn a_range_of_a_head_request_is_ignored() {
    let site = site().file("a.txt", "0123456789");
    let server = share(&site);
    let request = Request::new("HEAD", "/a.txt").field("Range", "bytes=0-1");
    server.send(&request).expect(200).expect_field("Content-Length", "10");
}

fn ranged(server: &Daemon, range: &str) -> Response {
    server.send(&Request::get("/a.txt").field("Range", range))
}

// --- precompressed siblings --------------------------------------------------------------------------

#[test]
fn a_precompressed_sibling_is_preferred_where_the_client_takes_it() {
    let site = site()
        .file("a.css", "plain plain plain")
        .file("a.css.br", "BR")
        .file("a.css.zst", "ZST")
        .file("a.css.gz", "GZ")
        .file("b.css", "only plain");
    let server = share(&site);
    for (accepted, coding, body) in [
        ("gzip", Some("gzip"), "GZ"),
        ("gzip, br", Some("br"), "BR"),
        ("zstd", Some("zstd"), "ZST"),
        ("gzip;q=0", None, "plain plain plain"),
        ("identity", None, "plain plain plain"),
        ("deflate", None, "plain plain plain"),
    ] {
        let response = server.send(&Request::get("/a.css").field("Accept-Encoding", accepted)).expect(200);
        assert_eq!(
            (response.field("Content-Encoding"), response.text().as_str()),
            (coding, body),
            "{accepted}"
        );
        let response = response.expect_field("Content-Type", "text/css");
        if coding.is_some() {
            let vary = response.field("Vary").unwrap_or_default();
            assert!(vary.eq_ignore_ascii_case("accept-encoding"), "{accepted}\n{response}");
        }
    }
    server
        .send(&Request::get("/b.css").field("Accept-Encoding", "gzip, br"))
        .expect(200)
        .expect_body("only plain");
    let plain = server.get("/a.css");
    let packed = server.send(&Request::get("/a.css").field("Accept-Encoding", "br"));
    assert_ne!(plain.field("ETag"), packed.field("ETag"), "two representations, two tags");
}

#[test]
fn an_older_sibling_is_not_served() {
    let site = site().file("a.css.gz", "OLD").file("a.css", "new");
    let old = std::time::SystemTime::now() - Duration::from_secs(3600);
    let file = std::fs::File::options().write(true).open(site.path("a.css.gz")).expect("open the sibling");
    file.set_modified(old).expect("set its time");
    share(&site)
        .send(&Request::get("/a.css").field("Accept-Encoding", "gzip"))
        .expect(200)
        .expect_body("new");
}

// --- changes -----------------------------------------------------------------------------------------

#[test]
fn a_changed_file_is_seen_within_a_second() {
    let site = site().file("a.txt", "first");
    let server = share(&site);
    server.get("/a.txt").expect_body("first");
    site.write("new", "second, longer");
    std::fs::rename(site.path("new"), site.path("a.txt")).expect("replace the file");
    await_body(&server, "second, longer");
    site.write("a.txt", "third");
    await_body(&server, "third");
    std::fs::remove_file(site.path("a.txt")).expect("remove the file");
    let started = Instant::now();
    eventually("the removed file is gone", || (server.get("/a.txt").status == 404).then_some(()));
    assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
}

#[track_caller]
fn await_body(server: &Daemon, body: &str) {
    let started = Instant::now();
    eventually("the changed file is served", || (server.get("/a.txt").text() == body).then_some(()));
    assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
}

#[test]
fn a_file_that_appears_is_found() {
    let site = site();
    let server = share(&site);
    server.get("/a.txt").expect(404);
    site.write("a.txt", "here");
    await_body(&server, "here");
}

#[test]
fn large_files_arrive_whole_also_at_slow_readers() {
    let content: Vec<u8> = (0..8_000_000_u32).map(|i| (i % 251) as u8).collect();
    let site = site().file("big.bin", &content);
    let server = share(&site);
    let mut slow = server.connect();
    slow.write("GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    // While this one does not read, others are served.
    server.get("/big.bin").expect(200).expect_body(&content);
    slow.read_response().expect(200).expect_body(&content);
    let response = server.send(&Request::get("/big.bin").field("Range", "bytes=4000000-4999999")).expect(206);
    assert!(response.body == content[4_000_000..5_000_000]);
}

#[test]
fn mime_types_can_be_added() {
    let site = site().file("a.foo", "x").file("b.txt", "x");
    let server = daemon()
        .routes(json!([{ "action": { "share": format!("{}$uri", site.root()) } }]))
        .http(json!({ "static": { "mime_types": { "text/x-foo": ".foo", "text/other": [".txt"] } } }))
        .start();
    server.get("/a.foo").expect_field("Content-Type", "text/x-foo");
    server.get("/b.txt").expect_field("Content-Type", "text/other");
}
