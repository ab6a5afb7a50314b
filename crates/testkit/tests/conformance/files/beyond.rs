//! Files beyond the contract: conditions, ranges, precompressed siblings, listings, Cache-Control, and never a stale
//! file for long.

use std::time::Duration;

use corral_testkit::{Daemon, Request, Response, Site, site};
use serde_json::{Value, json};

use super::{serve, share};

// --- conditions -----------------------------------------------------------------------------------

#[test]
fn conditions_are_judged() {
    let site = site().file("a.txt", "hello");
    let server = share(&site);
    let first = server.get_settled("/a.txt");
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
    let etag = server.get_settled("/a.txt").field("ETag").expect("an ETag").to_owned();
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
    let first = server.get_settled("/a.txt");
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

// --- large files -------------------------------------------------------------------------------------

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

/// Caches have to know, also when this client got the file as it is.
#[test]
fn a_file_with_siblings_varies_for_everybody() {
    let site = site().file("a.css", "plain").file("a.css.gz", "GZ").file("b.css", "plain");
    let server = share(&site);
    server.get("/a.css").expect_body("plain").expect_field("Vary", "Accept-Encoding");
    server.get("/b.css").expect_body("plain").expect_no_field("Vary");
    let etag = server.get("/a.css").field("ETag").expect("an ETag").to_owned();
    let unchanged = server.send(&Request::get("/a.css").field("If-None-Match", &etag)).expect(304);
    unchanged.expect_field("Vary", "Accept-Encoding");
}

/// A compressed sibling that is a link to the outside is not served either.
#[test]
fn siblings_are_confined_as_their_files_are() {
    let site = site().file("root/a.css", "plain").file("secret.gz", "SECRET");
    std::os::unix::fs::symlink("../secret.gz", site.path("root/a.css.gz")).expect("make a link");
    let root = std::fs::canonicalize(site.path("root")).expect("it is there");
    let request = Request::get("/a.css").field("Accept-Encoding", "gzip");
    let path = format!("{}$uri", root.display());
    serve(&json!({ "share": path })).send(&request).expect_body("SECRET");
    serve(&json!({ "share": path, "follow_symlinks": false })).send(&request).expect_body("plain");
    serve(&json!({ "share": path, "chroot": root })).send(&request).expect_body("plain");
}

// --- listings ------------------------------------------------------------------------------------------

fn listed(site: &Site, listing: &Value) -> Daemon {
    serve(&json!({ "share": format!("{}$uri", site.root()), "listing": listing }))
}

/// Options: …action.listing
#[test]
fn a_folder_without_an_index_is_listed_when_asked_for() {
    let site = site()
        .file("a/b.txt", "12345")
        .file("a/c d/x", "")
        .file("a/.hidden", "")
        .file("i/index.html", "index");
    share(&site).get("/a/").expect(404);
    listed(&site, &json!(false)).get("/a/").expect(404);
    let server = listed(&site, &json!(true));
    server.get("/i/").expect(200).expect_body("index");
    server.get("/a").expect(301);
    server.get("/nope/").expect(404);
    server.get("/a/b.txt/").expect(404);
    let page = server.get("/a/").expect(200).expect_field("Content-Type", "text/html; charset=utf-8");
    let text = page.expect_field("Vary", "Accept").text();
    assert!(text.contains("href=\"/a/b.txt\"") && text.contains("href=\"/a/c%20d/\""), "{text}");
    assert!(!text.contains("hidden"), "{text}");
    let json = |path: &str| server.send(&Request::get(path).field("Accept", "application/json")).expect(200);
    let listing = json("/a/").expect_field("Content-Type", "application/json").json();
    assert_eq!(listing["path"], "/a/");
    let names: Vec<_> =
        listing["entries"].as_array().expect("a list").iter().map(|entry| &entry["name"]).collect();
    assert_eq!(names, ["b.txt", "c d"]);
    assert_eq!((&listing["entries"][0]["type"], &listing["entries"][0]["size"]), (&json!("file"), &json!(5)));
    assert_eq!(listing["entries"][1]["type"], "directory");
    let head = server.send(&Request::new("HEAD", "/a/")).expect(200).expect_body("");
    assert_eq!(head.field("Content-Length"), Some(text.len().to_string().as_str()));
    server.send(&Request::post("/a/")).expect(405);
}

/// Options: …action.listing.page_size, …action.listing.hidden
#[test]
fn a_listing_comes_in_pages() {
    let site = site();
    for number in 0..25 {
        site.write(&format!("f/{number:02}&.txt"), "");
    }
    site.write("f/.env", "");
    let server = listed(&site, &json!({ "page_size": 10, "hidden": true }));
    let mut target = "/f/".to_owned();
    let mut names = Vec::new();
    loop {
        let page = server.send(&Request::get(&target).field("Accept", "application/json")).expect(200).json();
        let entries = page["entries"].as_array().expect("a list");
        assert!(entries.len() <= 10);
        names.extend(entries.iter().map(|entry| entry["name"].as_str().expect("text").to_owned()));
        match page["next"].as_str() {
            Some(next) => target = format!("/f/{next}"),
            None => break,
        }
    }
    assert_eq!(names.len(), 26);
    assert_eq!(names[0], ".env");
    assert!(names.is_sorted());
    let first = server.get("/f/").text();
    assert!(first.contains("?after=08%26.txt"), "{first}");
}

#[test]
fn a_listing_shows_nothing_from_outside() {
    let site = site().file("root/f/a.txt", "").file("secret-name.txt", "12345");
    std::os::unix::fs::symlink("../../secret-name.txt", site.path("root/f/link")).expect("make a link");
    let root = std::fs::canonicalize(site.path("root")).expect("it is there");
    let list = |options: Value| {
        let mut action = json!({ "share": format!("{}$uri", root.display()), "listing": true });
        action.as_object_mut().expect("an object").extend(options.as_object().expect("an object").clone());
        let request = Request::get("/f/").field("Accept", "application/json");
        serve(&action).send(&request).expect(200).json()["entries"].clone()
    };
    assert_eq!(list(json!({}))[1]["size"], 5);
    assert_eq!(
        list(json!({ "chroot": root }))[1],
        json!({ "name": "link", "href": "/f/link", "type": "link" })
    );
    assert_eq!(list(json!({ "follow_symlinks": false })).as_array().map(Vec::len), Some(1));
}

// --- Cache-Control ---------------------------------------------------------------------------------------

/// Options: …action.cache_control
#[test]
fn cache_control_is_said_for_everything_or_by_path_and_type() {
    let site = site().file("index.html", "x").file("assets/a.png", "x").file("b.png", "x").file("c", "x");
    let serve = |cache_control: Value| {
        serve(&json!({ "share": format!("{}$uri", site.root()), "cache_control": cache_control }))
    };
    let server = serve(json!("no-cache, x=$arg_x"));
    server.get("/c?x=1").expect_field("Cache-Control", "no-cache, x=1");
    server.get("/assets").expect(301).expect_no_field("Cache-Control");
    server.get("/nope").expect(404).expect_no_field("Cache-Control");
    let server = serve(json!({
        "/assets/*": "immutable", "image/*": "max-age=60", "*.html": "no-cache",
    }));
    for (path, value) in [
        ("/assets/a.png", Some("immutable")),
        ("/b.png", Some("max-age=60")),
        ("/", Some("no-cache")),
        ("/c", None),
    ] {
        let response = server.get(path).expect(200);
        assert_eq!(response.field("Cache-Control"), value, "{path}\n{response}");
    }
    let etag = server.get("/b.png").field("ETag").expect("an ETag").to_owned();
    let unchanged = server.send(&Request::get("/b.png").field("If-None-Match", &etag)).expect(304);
    unchanged.expect_field("Cache-Control", "max-age=60");
    let part = server.send(&Request::get("/b.png").field("Range", "bytes=0-0")).expect(206);
    part.expect_field("Cache-Control", "max-age=60");
}
