//! Bodies that are changed on their way: `substitute` and `gunzip`, alone and together with compression.

use std::io::{Read, Write};

use corral_testkit::{Daemon, Origin, Request, Response, daemon, site};
use serde_json::{Value, json};

fn serve(action: Value) -> Daemon {
    daemon().routes(json!([{ "action": action }])).start()
}

fn packed(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_ref()).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

fn unpacked(response: &Response) -> String {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&response.body[..]).read_to_string(&mut text).expect("it is gzip");
    text
}

/// A server that answers with this body, and with what it was asked in a header.
fn origin(fields: &str, body: Vec<u8>) -> Origin {
    let fields = fields.to_owned();
    Origin::start(move |peer| {
        while let Some(head) = peer.read_head() {
            let asked = |name: &str| {
                let is_named = |line: &&str| line.to_lowercase().starts_with(&format!("{name}:"));
                head.lines().find(is_named).map(|line| line.split_once(": ").unwrap_or_default().1.to_owned())
            };
            let asked = format!("{:?} {:?}", asked("accept-encoding"), asked("range"));
            let head = format!(
                "HTTP/1.1 200 OK\r\n{fields}X-Asked: {asked}\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            if !peer.write(&[head.as_bytes(), &body].concat()) {
                return;
            }
        }
    })
}

const HTML: &str = "Content-Type: text/html; charset=utf-8\r\nETag: \"1\"\r\nLast-Modified: Thu, 01 Jan 1998 00:00:00 GMT\r\n\
    Accept-Ranges: bytes\r\n";

/// Options: routes[].action.substitute
#[test]
fn texts_of_responses_are_replaced() {
    let body = format!("<a href=\"http://old/x\">{}</a></body>", "http://old/ ".repeat(20_000));
    let origin = origin(HTML, body.clone().into_bytes());
    let server = serve(json!({
        "proxy": origin.url(),
        "substitute": [
            { "from": "http://old/", "to": "https://$host/$arg_v" },
            { "from": "</body>", "to": "<script src=/x.js></script></body>" },
        ],
    }));
    let expect = |value: &str| {
        body.replace("http://old/", &format!("https://new.example/{value}"))
            .replace("</body>", "<script src=/x.js></script></body>")
    };
    let get =
        |target: &str| Request::get(target).field("Host", "new.example").field("Accept-Encoding", "gzip");
    let reply = server.send(&get("/").field("Range", "bytes=0-9")).expect(200);
    let reply =
        reply.expect_body(expect("")).expect_field("X-Asked", "None None").expect_field("ETag", "W/\"1\"");
    let reply = reply.expect_no_field("Last-Modified").expect_no_field("Accept-Ranges");
    reply.expect_no_field("Content-Length").expect_no_field("Content-Encoding");
    // What a client says cannot become a part of the page.
    let hostile = server.send(&get("/?v=%22%3E%3Cscript%3E&x")).expect(200);
    assert!(hostile.text() == expect("&quot;&gt;&lt;script&gt;"), "{}", &hostile.text()[..200]);
    let head = server.send(&Request::new("HEAD", "/")).expect(200).expect_body("");
    head.expect_no_field("Content-Length").expect_field("ETag", "W/\"1\"");
}

/// Options: routes[].action.substitute_types, routes[].action.substitute[].from, routes[].action.substitute[].to
#[test]
fn only_texts_of_some_types_are_replaced() {
    let site = site()
        .file("a.html", "old old")
        .file("a.css", "old")
        .file("a.css.gz", packed("old"))
        .file("a.txt", "old")
        .file("large.css", "old ".repeat(100_000))
        .file("empty.css", "");
    let share = format!("{}$uri", site.root());
    let rules = json!([{ "from": "old", "to": "newer" }]);
    let server =
        serve(json!({ "share": share, "substitute": rules, "substitute_types": ["text/css", "text/pl*"] }));
    server.get("/a.html").expect_body("old old").expect_field("Content-Length", "7");
    server.get("/large.css").expect_body("newer ".repeat(100_000));
    server.get("/empty.css").expect_body("").expect_field("Content-Length", "0");
    for target in ["/a.css", "/a.txt"] {
        let request = Request::get(target).field("Accept-Encoding", "gzip").field("Range", "bytes=0-0");
        let reply =
            server.send(&request).expect(200).expect_body("newer").expect_no_field("Content-Encoding");
        let etag = reply.expect_no_field("Accept-Ranges").field("ETag").expect("a tag").to_owned();
        assert!(etag.starts_with("W/"), "{etag}");
        let again =
            server.send(&Request::get(target).field("If-None-Match", &etag)).expect(304).expect_body("");
        assert!(again.field("ETag").is_some_and(|etag| etag.starts_with("W/")), "{again}");
    }
    server.send(&Request::get("/a.html").field("Range", "bytes=0-2")).expect(206).expect_body("old");
    let server = serve(json!({ "share": share, "substitute": rules }));
    server.get("/a.html").expect_body("newer newer").expect_field("Content-Type", "text/html");
    server
        .send(&Request::get("/a.css").field("Accept-Encoding", "gzip"))
        .expect_field("Content-Encoding", "gzip");
    server.send(&Request::get("/a.css").field("Range", "bytes=0-0")).expect(206).expect_body("o");
}

#[test]
fn an_inner_action_has_its_own_texts() {
    let inner = |rules: Value| json!({ "return": 200, "body": "<p>old", "content_type": "text/html", "substitute": rules });
    let plain = json!({ "return": 200, "body": "<p>old", "content_type": "text/html" });
    let server = daemon()
        .routes(json!({
            "main": [{ "action": { "pass": "routes/in", "substitute": [{ "from": "old", "to": "outer" }] } }],
            "in": [
                { "match": { "uri": "/own" }, "action": inner(json!([{ "from": "old", "to": "inner" }])) },
                { "match": { "uri": "/none" }, "action": inner(json!([])) },
                { "match": { "uri": "/404" }, "action": { "return": 404 } },
                { "action": plain },
            ],
        }))
        .start();
    server.get("/own").expect(200).expect_body("<p>inner");
    server.get("/none").expect(200).expect_body("<p>old");
    server.get("/").expect(200).expect_body("<p>outer");
    server.get("/404").expect(404);
}

/// Options: routes[].action.gunzip
#[test]
fn bodies_are_unpacked_for_clients_that_do_not_take_gzip() {
    let body = "hello ".repeat(50_000);
    let fields = format!("{HTML}Content-Encoding: gzip\r\n");
    let origin = origin(&fields, packed(&body));
    let server = serve(json!({ "proxy": origin.url(), "gunzip": true }));
    for accepted in [None, Some("br"), Some("identity"), Some("gzip;q=0"), Some("")] {
        let request = Request::get("/");
        let request = accepted.map_or(request.clone(), |accepted| request.field("Accept-Encoding", accepted));
        let reply = server.send(&request).expect(200).expect_body(&body).expect_no_field("Content-Encoding");
        let reply = reply.expect_field("Vary", "Accept-Encoding").expect_field("ETag", "W/\"1\"");
        reply.expect_no_field("Content-Length").expect_no_field("Accept-Ranges");
    }
    for accepted in ["gzip", "*", "br, gzip;q=0.1"] {
        let reply = server.send(&Request::get("/").field("Accept-Encoding", accepted)).expect(200);
        assert_eq!(unpacked(&reply), body);
        let reply = reply.expect_field("Content-Encoding", "gzip").expect_field("ETag", "\"1\"");
        reply.expect_field("Vary", "Accept-Encoding");
    }
    let head = server.send(&Request::new("HEAD", "/")).expect(200).expect_body("");
    head.expect_no_field("Content-Encoding").expect_no_field("Content-Length");
    let off = serve(json!({ "proxy": origin.url() }));
    off.get("/").expect(200).expect_field("Content-Encoding", "gzip").expect_no_field("Vary");
}

/// Unpacked, replaced and packed again.
#[test]
fn all_steps_come_in_their_order() {
    let body = "<p>old</p>".repeat(3000);
    let origin = origin(&format!("{HTML}Content-Encoding: x-gzip\r\n"), packed(&body));
    let server = daemon()
        .config(json!({
            "settings": { "http": { "compression": { "compressors": [{ "encoding": "gzip" }] } } },
            "routes": [{ "action": {
                "proxy": origin.url(), "gunzip": true, "substitute": [{ "from": "old", "to": "new" }],
            } }],
        }))
        .start();
    let expect = body.replace("old", "new");
    server.get("/").expect(200).expect_body(&expect).expect_no_field("Content-Encoding");
    let reply = server.send(&Request::get("/").field("Accept-Encoding", "gzip")).expect(200);
    assert_eq!(unpacked(&reply), expect);
    reply.expect_field("Content-Encoding", "gzip").expect_field("ETag", "W/\"1\"");
    // Without gunzip, nothing is found in what is packed.
    let server = serve(json!({ "proxy": origin.url(), "substitute": [{ "from": "old", "to": "new" }] }));
    assert_eq!(unpacked(&server.get("/").expect(200)), body);
}

/// A body that is broken, or was cut, ends the connection: no client takes it for whole.
#[test]
fn a_broken_body_is_not_taken_for_a_whole_one() {
    let fields = format!("{HTML}Content-Encoding: gzip\r\n");
    let whole = packed("x".repeat(100_000));
    for body in [b"plain".to_vec(), whole[..whole.len() - 4].to_vec(), [&whole[..50], &whole[60..]].concat()]
    {
        let origin = origin(&fields, body);
        let server = serve(json!({ "proxy": origin.url(), "gunzip": true }));
        let mut client = server.connect();
        client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(client.try_read_response_to("GET").is_err());
        server.expect_log("change the body of a reply");
    }
    let empty = origin(&fields, Vec::new());
    serve(json!({ "proxy": empty.url(), "gunzip": true })).get("/").expect(200).expect_body("");
}

/// Texts are replaced wherever the options hold, and in nothing that the server says itself.
#[test]
fn texts_are_replaced_in_what_stands_in_for_others() {
    let site = site().file("404.html", "<p>old 404").file("a.html", "<p>old file");
    let redirecting = Origin::answering(
        "HTTP/1.1 200 OK\r\nX-Accel-Redirect: /a.html\r\nCache-Control: private\r\nContent-Length: 3\r\n\r\nold",
    );
    let page = |name: &str| json!({ "share": format!("{}/{name}", site.root()) });
    let server = daemon()
        .routes(json!({
            "defaults": {
                "substitute": [{ "from": "old", "to": "new" }, { "from": "Error", "to": "Fault" }],
                "expires": "1h",
                "charset": "utf-8",
            },
            "main": [
                { "match": { "uri": "/accel" }, "action": {
                    "proxy": redirecting.url(), "internal_redirect": { "share": format!("{}$uri", site.root()) },
                } },
                { "match": { "uri": "/missing" }, "action": { "return": 404, "errors": { "404": page("404.html") } } },
                { "match": { "uri": "/plain" }, "action": { "return": 404 } },
                { "match": { "uri": "/script" }, "action": {
                    "return": 200, "body": "<p>old", "content_type": "text/html",
                    "substitute": [{ "from": "old", "to": "`${nothing.at.all}`" }],
                } },
                { "action": page("a.html") },
            ],
        }))
        .start();
    let html = "text/html; charset=utf-8";
    let file = server.get("/").expect(200).expect_body("<p>new file").expect_field("Content-Type", html);
    file.expect_field("Cache-Control", "max-age=3600");
    let accel = server.get("/accel").expect(200).expect_body("<p>new file");
    accel.expect_field("Cache-Control", "private");
    let missing =
        server.get("/missing").expect(404).expect_body("<p>new 404").expect_field("Content-Type", html);
    missing.expect_no_field("Cache-Control");
    server.get("/plain").expect(404).expect_text("Error 404");
    server.get("/script").expect(500);
}

/// A body comes in the order and at the pace of its server, also where something is held back.
#[test]
fn a_text_that_comes_in_pieces_is_found() {
    let origin = Origin::start(|peer| {
        while peer.read_head().is_some() {
            peer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n");
            for piece in ["<p>first o", "l", "d last o", "l"] {
                peer.write(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes());
                std::thread::yield_now();
            }
            peer.write(b"0\r\n\r\n");
        }
    });
    let server = serve(json!({ "proxy": origin.url(), "substitute": [{ "from": "old", "to": "new" }] }));
    for _ in 0..20 {
        server.get("/").expect(200).expect_body("<p>first new last ol");
    }
    // A client that leaves ends nothing but its own response.
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    drop(client);
    server.get("/").expect(200);
}

/// A small body that becomes a large one comes as fast as the client takes it, and no faster.
#[test]
fn a_bomb_waits_for_its_client() {
    let bomb = packed(vec![0; 400 << 20]);
    let origin = origin(&format!("{HTML}Content-Encoding: gzip\r\n"), bomb);
    let server = serve(json!({ "proxy": origin.url(), "gunzip": true }));
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.read_some();
    // Others are served meanwhile.
    let router = server.named("router");
    for _ in 0..20 {
        server.send(&Request::new("HEAD", "/")).expect(200);
    }
    for pid in router {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().expect("a number");
        assert!(kilobytes < 150_000, "the router has {kilobytes} kB");
    }
}

#[test]
fn their_values_are_checked() {
    let control = daemon().start_unconfigured();
    let rule = |from: &str, to: &str| json!([{ "from": from, "to": to }]);
    for (option, value, detail) in [
        ("substitute", rule("", "x"), "The \"from\" string must not be empty."),
        (
            "substitute",
            rule(&"x".repeat(1025), "x"),
            "The \"from\" string must not be longer than 1024 bytes.",
        ),
        ("substitute", rule("x", &"x".repeat(8193)), "The \"to\" string must not be longer than 8192 bytes."),
        ("substitute", rule("x", "$nope"), "Unknown variable \"nope\" in the \"to\" value."),
        ("substitute", json!([{ "from": "x" }]), "Required parameter \"to\" is missing."),
        ("substitute", json!(["x"]), "The \"substitute\" array must contain only object values."),
        ("substitute", json!({ "x": "y" }), "The \"substitute\" value must be an array, but not an object."),
        (
            "substitute",
            json!(vec![json!({ "from": "x", "to": "y" }); 65]),
            "must contain at most 64 objects, but not 65.",
        ),
        ("substitute_types", json!(1), "The \"substitute_types\" value must be"),
        ("gunzip", json!("on"), "The \"gunzip\" value must be a boolean, but not a string."),
    ] {
        let mut action = json!({ "return": 200 });
        action[option] = value;
        let config = json!({ "routes": [{ "action": action }] });
        let refused = control.control().put("/config", &config).expect_refused(400, "Invalid configuration.");
        assert!(refused.contains(detail), "{option}\n{refused}");
    }
}
