//! Section 16: which replies are compressed, by which compressor, and what their fields say.

use std::io::Read;

use corral_testkit::{Daemon, Request, Response, Site, daemon, php_app, site};
use serde_json::{Value, json};

/// Serves files of some types with these compression settings.
fn files(compression: Value) -> (Daemon, Site) {
    let site = site()
        .file("a.html", page())
        .file("a.css", page())
        .file("short.html", "short")
        .file("empty.html", "")
        .file("unknown", page())
        .file("photo.png", page());
    let route = json!([{ "action": { "share": format!("{}$uri", site.root()) } }]);
    (daemon().routes(route).http(http(compression)).start(), site)
}

/// `settings.http` with this compression.
fn http(compression: Value) -> Value {
    Value::Object([("compression".to_owned(), compression)].into_iter().collect())
}

fn php(script: &str, compression: Value) -> (Daemon, Site) {
    let site = site().file("index.php", script);
    let server = daemon().application(php_app(&site).script("index.php")).http(http(compression)).start();
    (server, site)
}

fn page() -> String {
    "<p>All work and no play makes a server compress well.</p>\n".repeat(200)
}

fn asking(target: &str, accepted: &str) -> Request {
    Request::get(target).field("Accept-Encoding", accepted)
}

/// The body as its author wrote it.
#[track_caller]
fn decoded(response: &Response) -> String {
    let bytes = response.body.as_slice();
    let mut text = String::new();
    let read = match response.field("Content-Encoding") {
        None => return response.text(),
        Some("gzip") => flate2::read::GzDecoder::new(bytes).read_to_string(&mut text),
        Some("deflate") => flate2::read::ZlibDecoder::new(bytes).read_to_string(&mut text),
        Some("zstd") => zstd::stream::read::Decoder::new(bytes).expect("a decoder").read_to_string(&mut text),
        Some("br") => brotli::Decompressor::new(bytes, 4096).read_to_string(&mut text),
        Some(other) => panic!("{other} is no coding"),
    };
    read.unwrap_or_else(|error| panic!("{error}\n{response}"));
    text
}

#[track_caller]
fn check(server: &Daemon, target: &str, accepted: &str, coding: Option<&str>) {
    let response = server.send(&asking(target, accepted)).expect(200);
    assert_eq!(response.field("Content-Encoding"), coding, "{target} {accepted}\n{response}");
}

fn all() -> Value {
    json!({ "compressors": [
        { "encoding": "gzip" }, { "encoding": "deflate" }, { "encoding": "zstd" }, { "encoding": "br" },
    ] })
}

/// Options: settings.http.compression.compressors[].encoding
#[test]
fn each_coding_can_be_decoded() {
    let (server, _site) = files(all());
    let (app, _site) =
        php("<?php header('Content-Type: text/plain'); echo str_repeat('hello ', 5000);", all());
    for coding in ["gzip", "deflate", "zstd", "br"] {
        let response = server.send(&asking("/a.html", coding)).expect(200);
        assert_eq!(decoded(&response), page(), "{coding}");
        let response =
            response.expect_field("Content-Encoding", coding).expect_field("Vary", "Accept-Encoding");
        let response = response.expect_no_field("Transfer-Encoding").expect_no_field("Accept-Ranges");
        assert_eq!(response.field("Content-Length"), Some(response.body.len().to_string().as_str()));
        assert!(response.body.len() < page().len() / 4);
        let response = app.send(&asking("/", coding)).expect(200);
        assert_eq!(decoded(&response), "hello ".repeat(5000), "{coding}");
        response.expect_field("Transfer-Encoding", "chunked").expect_no_field("Content-Length");
    }
}

#[test]
fn the_client_chooses_as_the_contract_says() {
    let (server, _site) = files(json!({ "compressors": [{ "encoding": "gzip" }, { "encoding": "br" }] }));
    for (accepted, coding) in [
        ("gzip", Some("gzip")),
        ("gzip, br", Some("br")),
        ("br, gzip", Some("gzip")),
        ("br;q=0.9, gzip;q=0.8", Some("br")),
        ("gzip;q=1.0, br;q=1.0", Some("br")),
        ("gzip;q=0, br;q=0.1", Some("br")),
        ("gzip, identity", None),
        ("gzip, *", None),
        ("gzip, *;q=0.5", Some("gzip")),
        ("gzip, identity;q=0", Some("gzip")),
        ("deflate, zstd", None),
        ("gzip;q=0", None),
        ("", None),
    ] {
        check(&server, "/a.html", accepted, coding);
    }
    for accepted in ["identity;q=0", "*;q=0", "zstd, *;q=0", "gzip;q=0, identity;q=0"] {
        let response = server.send(&asking("/a.html", accepted)).expect(406);
        response
            .expect_field("Vary", "Accept-Encoding")
            .expect_body("<!DOCTYPE html><title>Error 406</title><p>Error 406.\r\n");
    }
    let plain = server.get("/a.html").expect(200).expect_no_field("Content-Encoding");
    plain.expect_field("Vary", "Accept-Encoding").expect_body(page());
}

#[test]
fn without_a_compressor_nothing_is_compressed_or_refused() {
    for compression in [json!({}), json!({ "types": "text/html" }), json!({ "compressors": [] })] {
        let (server, _site) = files(compression);
        check(&server, "/a.html", "gzip", None);
        server.send(&asking("/a.html", "identity;q=0")).expect(200).expect_no_field("Vary");
    }
}

/// Options: settings.http.compression.compressors
#[test]
fn compressors_may_be_one_object() {
    let (server, _site) = files(json!({ "compressors": { "encoding": "gzip" } }));
    check(&server, "/a.html", "gzip", Some("gzip"));
    let (server, _site) = files(json!({ "compressors": { "encoding": "identity" } }));
    check(&server, "/a.html", "gzip", None);
    server.send(&asking("/a.html", "identity;q=0")).expect(406);
}

/// Options: settings.http.compression.types
#[test]
fn only_wanted_types_are_compressed() {
    let one = json!({ "encoding": "gzip" });
    let (server, _site) = files(json!({ "types": ["TEXT/html*", "!text/css"], "compressors": one }));
    check(&server, "/a.html", "gzip", Some("gzip"));
    check(&server, "/a.css", "gzip", None);
    check(&server, "/photo.png", "gzip", None);
    server.send(&asking("/photo.png", "identity;q=0")).expect(200).expect_no_field("Vary");
    let (server, _site) = files(json!({ "compressors": one }));
    check(&server, "/photo.png", "gzip", Some("gzip"));
    check(&server, "/unknown", "gzip", None);
    check(&server, "/empty.html", "gzip", None);
    // The text of Content-Type counts, with its parameters.
    let script = "<?php header('Content-Type: text/html; charset=utf-8'); echo str_repeat('x', 5000);";
    let (server, _site) = php(script, json!({ "types": "text/html", "compressors": one }));
    check(&server, "/", "gzip", None);
    let (server, _site) = php(script, json!({ "types": "text/html*", "compressors": one }));
    check(&server, "/", "gzip", Some("gzip"));
}

/// Options: settings.http.compression.compressors[].min_length
#[test]
fn short_bodies_stay_as_they_are() {
    let (server, _site) =
        files(json!({ "compressors": [{ "encoding": "gzip", "min_length": 6 }, { "encoding": "br" }] }));
    check(&server, "/short.html", "gzip", None);
    check(&server, "/short.html", "br", Some("br"));
    check(&server, "/a.html", "gzip", Some("gzip"));
    let script = "<?php header('Content-Length: ' . $_GET['n']); echo str_repeat('x', $_GET['n']);";
    let (server, _site) = php(script, json!({ "compressors": { "encoding": "gzip", "min_length": 100 } }));
    check(&server, "/?n=99", "gzip", None);
    check(&server, "/?n=100", "gzip", Some("gzip"));
}

/// Options: settings.http.compression.compressors[].level
#[test]
fn levels_are_obeyed_or_told_to_be_wrong() {
    let size = |encoding: &str, level: i32| {
        let (server, _site) = files(json!({ "compressors": { "encoding": encoding, "level": level } }));
        let response = server.send(&asking("/a.html", encoding)).expect(200);
        assert_eq!(decoded(&response), page(), "{encoding} {level}");
        response.body.len()
    };
    assert!(size("gzip", 0) > page().len(), "level 0 stores");
    assert_eq!(size("gzip", -1), size("gzip", 6));
    assert!(size("br", 0) > size("br", 11));
    assert!(size("zstd", -7) > size("zstd", 19));
    let (server, _site) = files(json!({ "compressors": { "encoding": "gzip", "level": 10 } }));
    check(&server, "/a.html", "gzip", Some("gzip"));
    server.expect_log("[notice]");
    server.expect_log("compression level 10 of \"gzip\" is not between -1 and 9");
}

#[test]
fn tags_are_weak_and_conditions_still_hold() {
    let (server, _site) = files(all());
    let plain = server.get_settled("/a.html");
    let strong = plain.field("ETag").expect("an ETag");
    let packed = server.send(&asking("/a.html", "gzip"));
    let weak = packed.field("ETag").expect("an ETag");
    assert_eq!(weak, format!("W/{strong}"));
    for tag in [weak, strong] {
        let unchanged = server.send(&asking("/a.html", "gzip").field("If-None-Match", tag)).expect(304);
        unchanged
            .expect_field("ETag", weak)
            .expect_field("Vary", "Accept-Encoding")
            .expect_no_field("Content-Encoding");
    }
    server.send(&asking("/a.html", "gzip").field("If-None-Match", "\"other\"")).expect(200);
}

/// Ranges are those of the file as it is: parts of different compressed forms could not be joined.
#[test]
fn ranges_are_those_of_the_file() {
    let (server, _site) = files(all());
    let part = server.send(&asking("/a.html", "gzip").field("Range", "bytes=0-2")).expect(206);
    part.expect_no_field("Content-Encoding").expect_body("<p>").expect_field("Vary", "Accept-Encoding");
    let packed = server.send(&asking("/a.html", "gzip"));
    let weak = packed.field("ETag").expect("an ETag");
    let request = asking("/a.html", "gzip").field("Range", "bytes=0-2").field("If-Range", weak);
    assert_eq!(decoded(&server.send(&request).expect(200)), page());
}

#[test]
fn head_has_the_fields_of_get() {
    let (server, _site) = files(all());
    let get = server.send(&asking("/a.html", "br"));
    let head = server.send(&Request::new("HEAD", "/a.html").field("Accept-Encoding", "br")).expect_body("");
    for name in ["Content-Encoding", "Content-Length", "ETag", "Vary", "Content-Type"] {
        assert_eq!(head.field(name), get.field(name), "{name}");
    }
    let (server, _site) = php("<?php echo str_repeat('x', 5000);", all());
    let mut client = server.connect();
    let head = client.send(&Request::new("HEAD", "/").field("Accept-Encoding", "gzip")).expect(200);
    head.expect_field("Content-Encoding", "gzip")
        .expect_field("Vary", "Accept-Encoding")
        .expect_no_field("Content-Length");
    client.get("/").expect(200).expect_body("x".repeat(5000));
}

#[test]
fn what_applications_forbid_or_have_done_is_left_alone() {
    let script = "<?php
        header('Content-Type: text/plain');
        foreach ($_GET['h'] ?? [] as $field) header($field);
        http_response_code((int) ($_GET['status'] ?? 200));
        echo str_repeat('x', 3000);";
    let (server, _site) = php(script, all());
    check(&server, "/", "gzip", Some("gzip"));
    let plain = |query: &str, status: u16| {
        let response = server.send(&asking(&format!("/?{query}"), "gzip")).expect(status);
        assert_ne!(response.field("Content-Encoding"), Some("gzip"), "{query}\n{response}");
        response
    };
    plain("h[]=Cache-Control:%20public,no-transform", 200).expect_no_field("Vary");
    plain("h[]=Content-Encoding:%20br", 200).expect_field("Content-Encoding", "br");
    plain("status=206", 206);
    plain("status=204", 204);
    plain("status=304", 304);
    let response = server.send(&asking("/?status=404", "gzip")).expect(404);
    assert_eq!(decoded(&response), "x".repeat(3000));
    let response =
        server.send(&asking("/?h[]=ETag:%20%22a%22&h[]=Vary:%20Cookie&h[]=Accept-Ranges:%20bytes", "gzip"));
    let response = response.expect_field("ETag", "W/\"a\"").expect_field("Vary", "Cookie, Accept-Encoding");
    response.expect_no_field("Accept-Ranges");
    // Digests are of the bytes that the application has sent.
    for name in ["Content-MD5", "Content-Digest", "Digest", "Repr-Digest"] {
        let target = format!("/?h[]={name}:%20x");
        server.send(&asking(&target, "zip")).expect_field(name, "x");
        server.send(&asking(&target, "gzip")).expect_field("Content-Encoding", "gzip").expect_no_field(name);
    }
    server.send(&asking("/?h[]=ETag:%20%22a%22", "zip")).expect_field("ETag", "\"a\"");
    server.send(&asking("/", "identity;q=0")).expect(406);
}

#[test]
fn what_the_router_says_itself_is_not_compressed() {
    let server = daemon()
        .routes(json!([
            { "match": { "uri": "/error" }, "action": { "return": 404 } }, { "action": { "return": 200 } },
        ]))
        .http(json!({ "compression": all() }))
        .start();
    for (path, status) in [("/error", 404), ("/", 200)] {
        let response = server.send(&asking(path, "gzip")).expect(status);
        response.expect_no_field("Content-Encoding").expect_no_field("Vary");
        server.send(&asking(path, "identity;q=0")).expect(status);
    }
}

/// The part of a body that a browser can show before the body has ended.
fn decoded_so_far(coding: &str, bytes: &[u8]) -> String {
    let mut decoder: Box<dyn Read + '_> = match coding {
        "gzip" => Box::new(flate2::read::GzDecoder::new(bytes)),
        "zstd" => Box::new(zstd::stream::read::Decoder::new(bytes).expect("a decoder")),
        _ => Box::new(brotli::Decompressor::new(bytes, 4096)),
    };
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = decoder.read(&mut buffer) {
        text.extend_from_slice(&buffer[..n]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn large_files_are_compressed_while_they_are_sent() {
    let line = "2026-11-21 06:00:00 a line of a log that is long and repeats itself\n";
    let content = line.repeat(17 * 1024 * 1024 / line.len() + 1);
    let site = site().file("big.txt", &content);
    let server = daemon()
        .routes(json!([{ "action": { "share": format!("{}$uri", site.root()) } }]))
        .http(json!({ "compression": { "compressors": { "encoding": "gzip", "level": 1 } } }))
        .start();
    let response = server.send(&asking("/big.txt", "gzip")).expect(200);
    let response = response.expect_field("Transfer-Encoding", "chunked");
    assert!(decoded(&response) == content, "the file came back changed");
    let head =
        server.send(&Request::new("HEAD", "/big.txt").field("Accept-Encoding", "gzip")).expect_body("");
    head.expect_field("Content-Encoding", "gzip");
}

/// Many clients ask at once for a file that was not compressed yet, and the file changes meanwhile.
#[test]
fn a_changed_file_is_compressed_anew() {
    let site = site().file("a.html", page());
    let server = daemon()
        .routes(json!([{ "action": { "share": format!("{}$uri", site.root()) } }]))
        .http(json!({ "compression": all() }))
        .start();
    for version in 0..3 {
        let content = format!("{version} {}", page().repeat(20));
        site.write("a.html", &content);
        assert!(decoded(&server.send(&asking("/a.html", "zstd"))) == content);
        std::thread::scope(|scope| {
            for coding in ["br", "gzip", "br", "deflate", "br", "gzip"] {
                let (server, content) = (&server, &content);
                scope.spawn(move || {
                    let response = server.send(&asking("/a.html", coding)).expect(200);
                    let response = response.expect_field("Content-Encoding", coding);
                    assert!(decoded(&response) == *content);
                });
            }
        });
    }
}

/// Between a client's choice of a coding and a file that lies there in one, both count.
#[test]
fn siblings_come_before_compressors_where_the_client_has_no_preference() {
    let site = site().file("a.html", page()).file("a.html.br", "BR");
    let server = daemon()
        .routes(json!([{ "action": { "share": format!("{}$uri", site.root()) } }]))
        .http(json!({ "compression": { "compressors": { "encoding": "gzip" } } }))
        .start();
    check(&server, "/a.html", "gzip, br", Some("br"));
    check(&server, "/a.html", "br, gzip", Some("br"));
    check(&server, "/a.html", "gzip, br;q=0.5", Some("gzip"));
    check(&server, "/a.html", "gzip", Some("gzip"));
    check(&server, "/a.html", "br;q=0.5, identity", None);
}

#[test]
fn compression_is_checked() {
    let server = daemon().start_unconfigured();
    for (compression, detail) in [
        (json!({ "compressors": [1] }), "The \"compressors\" array must contain only object values."),
        (json!({ "compressors": { "encoding": "lzma" } }), "\"lzma\" is not a supported compressor."),
        (json!({ "compressors": [{}] }), "Required parameter \"encoding\" is missing."),
        (
            json!({ "compressors": { "encoding": "gzip", "min_length": -1 } }),
            "The \"min_length\" number must not be negative.",
        ),
        (
            json!({ "compressors": { "encoding": "gzip", "level": "9" } }),
            "The \"level\" value must be an integer number, but not a string.",
        ),
        (json!([]), "The \"compression\" value must be an object, but not an array."),
    ] {
        let reply = server
            .control()
            .put("/config", &json!({ "settings": { "http": { "compression": compression } } }))
            .expect_refused(400, "Invalid configuration.");
        assert!(reply.contains(detail), "{compression}\n{reply}");
    }
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// An application that says something and then waits is heard at once.
    #[test]
    fn pieces_of_a_stream_arrive_when_they_are_flushed() {
        let script = "<?php
        while (ob_get_level()) ob_end_flush();
        header('Content-Type: ' . $_GET['type']);
        for ($i = 0; $i < 3; $i++) {
            echo \"data: $i\\n\\n\";
            flush();
            while (!file_exists(__DIR__ . \"/go$i\")) usleep(2000);
        }";
        for (content_type, coding) in
            [("text/event-stream", "gzip"), ("text/plain", "br"), ("text/plain", "zstd")]
        {
            let (server, site) = php(script, all());
            let mut client = server.connect();
            client.write(format!(
                "GET /?type={content_type} HTTP/1.0\r\nHost: a\r\nAccept-Encoding: {coding}\r\n\r\n"
            ));
            let head = client.read_until_text("\r\n\r\n").to_ascii_lowercase();
            assert!(head.contains(&format!("content-encoding: {coding}")), "{head}");
            let mut received = Vec::new();
            for number in 0..3 {
                // The piece is there before the script is told to go on.
                while !decoded_so_far(coding, &received).ends_with(&format!("data: {number}\n\n")) {
                    received.extend(client.read_some());
                }
                site.write(&format!("go{number}"), "");
            }
        }
    }
}
