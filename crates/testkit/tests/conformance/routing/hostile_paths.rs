//! Paths that have fooled servers, through every place that templates are used in: none of them leads to what is
//! guarded, none makes a redirect elsewhere, and none is an error of the server.

use std::fmt::Write as _;

use corral_testkit::{Client, Daemon, Origin, Request, Response, site};
use serde_json::{Value, json};

pub(crate) const SECRET: &str = "what nobody may have";

/// Ways to write the segment that leads up.
const UP: [&str; 22] = [
    "..",
    "%2e%2e",
    "%2E.",
    ".%2e",
    "%252e%252e",
    "%25252e%25252e",
    "%252E%2e",
    "%c0%ae%c0%ae",
    "%e0%80%ae%e0%80%ae",
    "%f0%80%80%ae.",
    "%u002e%u002e",
    "%uff0e%uff0e",
    "..;",
    "..;a=b",
    "..%00",
    ".%00.",
    "..%20",
    "..%0a",
    "...",
    "%5c..",
    "%ef%bc%8e%ef%bc%8e",
    "..%5c..",
];

/// Ways to write what stands between two segments.
const SLASH: [&str; 10] = ["/", "%2f", "%2F", "%252f", "%25252F", "%5c", "%255c", "//", "/./", "%c0%af"];

/// Ways to write a path that is guarded.
const GUARDED: [&str; 22] = [
    "/admin/secret.txt",
    "/%61dmin/secret.txt",
    "/%2561dmin/secret.txt",
    "/%252561dmin/secret.txt",
    "//admin/secret.txt",
    "/./admin/secret.txt",
    "/admin%2fsecret.txt",
    "/admin%252fsecret.txt",
    "/admin//secret.txt",
    "/x/../admin/secret.txt",
    "/x/%2e%2e/admin/secret.txt",
    "/x/%252e%252e/admin/secret.txt",
    "/x%2f..%2fadmin/secret.txt",
    "/admin;/secret.txt",
    "/;/admin/secret.txt",
    "/admin/./secret.txt",
    "/admin/x/..%2fsecret.txt",
    "/ADMIN/secret.txt",
    "/admin%00/secret.txt",
    "/admin%20/secret.txt",
    "/admin%5csecret.txt",
    "/%c1%a1dmin/secret.txt",
];

/// Ways to write much, or bytes that are not text.
fn odd() -> Vec<String> {
    let mut odd: Vec<String> = [
        "/",
        "/%3F",
        "/%23",
        "/%25",
        "/%2525",
        "/%7f",
        "/%ff%fe",
        "/%01",
        "/%0d%0aX-Evil:%201",
        "/~",
        "/?",
        "/??",
        "/?%3f",
        "/%ed%a0%80",
        "/\\evil.example",
        "/%5cevil.example",
        "//evil.example/",
        "/%2f/evil.example",
        "/.",
        "/..a",
        "/a./",
        "/%",
        "/%zz",
        "/%4",
    ]
    .map(str::to_owned)
    .into();
    odd.push(format!("/{}", "%C3%A9".repeat(300)));
    odd.push(format!("/{}", "%F4%8F%BF%BF".repeat(200)));
    odd.push(format!("/{}", "é".repeat(300)));
    odd.push(format!("{}x", "/a".repeat(1000)));
    odd.push("/%252e".repeat(200));
    odd
}

/// All targets.
pub(crate) fn targets() -> Vec<String> {
    let mut targets = odd();
    for slash in SLASH {
        for up in UP {
            targets.push(format!("/{up}{slash}private{slash}secret.txt"));
        }
        targets.push(format!("/x{slash}%2e%2e{slash}admin{slash}secret.txt"));
        targets.push(format!("/-old{slash}secret.txt"));
    }
    for up in UP {
        targets.push(format!("/{up}/www-old/secret.txt"));
        targets.push(format!("/x/{up}/{up}/private/secret.txt"));
    }
    targets.extend(GUARDED.map(str::to_owned));
    targets
}

/// The same as values of parameters, fields and cookies: decoded once, as far as those can hold them.
fn values() -> Vec<String> {
    let decoded = |text: &str| {
        let bytes = corral_config::percent::decode(text.as_bytes()).map(std::borrow::Cow::into_owned);
        bytes.and_then(|bytes| String::from_utf8(bytes).ok())
    };
    let mut values: Vec<String> = targets().iter().filter_map(|target| decoded(target)).collect();
    values.extend(values.clone().iter().filter_map(|value| value.strip_prefix('/').map(str::to_owned)));
    values.extend(
        ["", ".", "..", "/", "//", "-old/secret.txt", ".bak", "@evil.example", ".evil.example"]
            .map(str::to_owned),
    );
    values.retain(|value| value.len() < 2000);
    values
}

fn escaped(value: &str) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        write!(text, "%{byte:02x}").expect("writing to memory cannot fail");
        text
    })
}

/// Checks that a reply to such a request is none of the forbidden ones.
#[track_caller]
pub(crate) fn check(context: &str, sent: &str, reply: &Response) {
    let about = || format!("{context}: {sent}: {reply}");
    assert!(reply.status < 500, "{}", about());
    assert!(!reply.text().contains(SECRET), "{}", about());
    assert!(reply.field("X-Evil").is_none(), "{}", about());
    let Some(location) = reply.field("Location") else { return };
    assert!(location.bytes().all(|byte| byte.is_ascii_graphic()), "{}", about());
    let is_own = (location.starts_with('/') && !location.starts_with("//") && !location.starts_with("/\\"))
        || ["https://localhost/", "https://localhost?", "https://localhost#", "http://localhost:"]
            .iter()
            .any(|own| location.starts_with(own))
        || location == "https://localhost";
    assert!(is_own, "{}", about());
}

/// A server with a step for each context, which the field `X-Context` chooses behind the guard.
fn serve(root: &str, origin: &Origin, contexts: &[(&'static str, Value)]) -> Daemon {
    let mut steps = vec![json!({ "match": { "uri": ["/admin/*", "/admin"] }, "action": { "return": 403 } })];
    for (name, action) in contexts {
        steps.push(json!({ "match": { "headers": { "X-Context": name } }, "action": action }));
    }
    let share = json!([{ "action": { "share": format!("{root}/www$uri") } }]);
    let conditional = json!([
        { "match": { "if": "`${uri.includes('/../') || uri.endsWith('/..')}`" }, "action": { "return": 500 } },
        { "match": { "if": "$request_uri" }, "action": { "pass": "routes/files" } },
    ]);
    let routes = json!({
        "main": steps,
        "files": share,
        "conditional": conditional,
        "echo": [{ "action": { "proxy": origin.url() } }],
    });
    let hashed = json!({ "servers": { origin.address(): {} }, "balance": { "hash": "$uri$request_uri" } });
    let server = corral_testkit::daemon().start_unconfigured();
    let listeners = json!({ server.address().to_string(): { "pass": "routes/main" } });
    let log =
        json!({ "path": server.path("access"), "format": "$request_line $uri $arg_p $header_x_p $cookie_p" });
    let config = json!({ "listeners": listeners, "routes": routes, "upstreams": { "hashed": hashed },
        "access_log": log });
    server.control().put("/config", &config).expect_done();
    server
}

fn files() -> corral_testkit::Site {
    site()
        .file("secret.txt", SECRET)
        .file("private/secret.txt", SECRET)
        .file("www-old/secret.txt", SECRET)
        .file("www.bak", SECRET)
        .file("www/index.html", "index")
        .file("www/x/index.html", "index")
        .file("www/vh/localhost/index.html", "index")
}

/// Sends a request over a connection that is opened anew when it has to be.
pub(crate) fn ask(server: &Daemon, client: &mut Client, request: &Request) -> Response {
    match client.try_send(request) {
        Ok(reply) if reply.field("Connection") != Some("close") => reply,
        Ok(reply) => {
            *client = server.connect();
            reply
        }
        Err(_) => {
            *client = server.connect();
            client.send(request)
        }
    }
}

#[test]
fn no_path_leads_elsewhere() {
    let (files, origin) = (files().file("www/admin/secret.txt", SECRET), Origin::echo());
    let root = files.root();
    let www = format!("{root}/www$uri");
    let contexts = [
        ("share", json!({ "share": www })),
        ("share a slash", json!({ "share": format!("{root}/www/$uri") })),
        ("share as received", json!({ "share": format!("{root}/www$request_uri") })),
        ("share a script", json!({ "share": format!("`{root}/www${{uri}}`") })),
        ("chroot", json!({ "share": www, "chroot": format!("{root}/www") })),
        (
            "chroot by host",
            json!({ "share": format!("{root}/www/vh/$host$uri"), "chroot": format!("{root}/www/vh/$host") }),
        ),
        ("index and listing", json!({ "share": www, "index": "none", "listing": true })),
        (
            "fallback",
            json!({ "share": format!("{root}/none$uri"), "fallback": { "rewrite": "/x$uri", "pass": "routes/files" } }),
        ),
        ("rewrite", json!({ "rewrite": "/x$uri", "pass": "routes/files" })),
        ("rewrite without a slash", json!({ "rewrite": "x$uri", "pass": "routes/files" })),
        ("rewrite as received", json!({ "rewrite": "/x$request_uri", "pass": "routes/files" })),
        ("rewrite by a script", json!({ "rewrite": "`/x${uri}`", "pass": "routes/files" })),
        ("rewrite by a piece", json!({ "rewrite": "`${uri.slice(1)}`", "pass": "routes/files" })),
        ("rewrite the query", json!({ "rewrite": "/x/?a=$uri&b=$request_uri", "pass": "routes/echo" })),
        (
            "errors",
            json!({ "return": 404, "errors": { "404": { "rewrite": "/x$uri", "pass": "routes/files" } } }),
        ),
        ("pass", json!({ "pass": "routes$uri" })),
        ("pass as received", json!({ "pass": "routes$request_uri" })),
        ("proxy", json!({ "rewrite": "/x$uri", "pass": "routes/echo" })),
        ("mirror", json!({ "rewrite": "/x$uri", "mirror": origin.url(), "pass": "routes/echo" })),
        ("location", json!({ "return": 302, "location": "https://$host$uri" })),
        ("location as received", json!({ "return": 302, "location": "https://$host$request_uri" })),
        ("location alone", json!({ "return": 302, "location": "$uri" })),
        ("location by a script", json!({ "return": 302, "location": "`/x?to=${encodeURIComponent(uri)}`" })),
        ("location with a query", json!({ "return": 302, "location": "/x?to=$uri#$request_uri" })),
        ("headers", json!({ "return": 200, "response_headers": { "X-Uri": "$uri $request_uri" } })),
        ("page", json!({ "return": 200, "content_type": "text/html", "body": "<p>$uri $request_uri</p>" })),
        ("maintenance", json!({ "return": 200, "maintenance": { "page": "<p>$uri</p>", "status": 403 } })),
        (
            "maintenance by a file",
            json!({ "return": 200, "maintenance": { "page": format!("{root}/www$uri"), "status": 403 } }),
        ),
        ("cache_control", json!({ "share": www, "cache_control": "no-cache, x=$uri" })),
        ("cache_control by a script", json!({ "share": www, "cache_control": "`x=${uri}`" })),
        ("key", json!({ "limit_requests": { "rate": "1000/s", "key": "$uri" }, "share": www })),
        ("hash", json!({ "rewrite": "/x$uri", "pass": "upstreams/hashed" })),
        ("if", json!({ "rewrite": "/x$uri", "pass": "routes/conditional" })),
    ];
    let server = serve(&root, &origin, &contexts);
    let mut client = server.connect();
    for (name, _) in &contexts {
        for target in targets() {
            let reply = ask(&server, &mut client, &Request::get(&target).field("X-Context", name));
            check(name, &target, &reply);
            let text = reply.text();
            let line = text.strip_prefix("GET ").and_then(|line| line.split(' ').next());
            if let Some(path) = line.filter(|_| reply.status == 200).and_then(|line| line.split('?').next()) {
                let decoded = corral_config::percent::decode(path.as_bytes()).expect("it is encoded");
                let mut segments = decoded.split(|&byte| byte == b'/');
                assert!(path.starts_with("/x"), "{name}: {target}: {path}");
                assert!(
                    segments.all(|segment| segment != b"." && segment != b".."),
                    "{name}: {target}: {path}"
                );
            }
            assert!(
                name != &"page"
                    || !text.contains("<p></p>") && text.matches('<').count() == text.matches('>').count(),
                "{text}"
            );
        }
    }
}

#[test]
fn no_value_leads_elsewhere() {
    let (files, origin) = (files(), Origin::echo());
    let root = files.root();
    let www = format!("{root}/www$uri");
    let values = values();
    for variable in ["$arg_p", "${header_x_p}", "$cookie_p"] {
        let contexts = [
            ("share", json!({ "share": format!("{root}/www/{variable}") })),
            ("share without a slash", json!({ "share": format!("{root}/www{variable}") })),
            ("share a folder", json!({ "share": format!("{root}/www/{variable}$uri") })),
            ("share a name", json!({ "share": format!("{root}/www/x-{variable}.txt") })),
            (
                "chroot",
                json!({ "share": format!("{root}/www/{variable}$uri"), "chroot": format!("{root}/www/{variable}") }),
            ),
            ("rewrite", json!({ "rewrite": variable, "share": format!("{root}/www/x$uri") })),
            ("rewrite below", json!({ "rewrite": format!("/x/{variable}"), "share": www })),
            ("rewrite behind", json!({ "rewrite": format!("/x{variable}"), "share": www })),
            ("rewrite the query", json!({ "rewrite": format!("/x?a={variable}"), "pass": "routes/echo" })),
            ("proxy", json!({ "rewrite": format!("/x/{variable}"), "pass": "routes/echo" })),
            ("pass", json!({ "pass": format!("routes/{variable}") })),
            ("location", json!({ "return": 302, "location": format!("/{variable}") })),
            (
                "location behind a host",
                json!({ "return": 302, "location": format!("https://$host{variable}") }),
            ),
            (
                "location with a query",
                json!({ "return": 302, "location": format!("/x?a={variable}#{variable}") }),
            ),
            ("headers", json!({ "return": 200, "response_headers": { "X-Value": variable } })),
        ];
        let server = serve(&root, &origin, &contexts);
        let mut client = server.connect();
        for (name, _) in &contexts {
            for value in &values {
                let mut request = Request::get(&format!("/?p={}", escaped(value))).field("X-Context", name);
                // Fields of HTTP hold no control characters, and cookies no semicolons.
                if value.bytes().all(|byte| !byte.is_ascii_control()) {
                    request = request.field("X-P", value).field("Cookie", &format!("p={value}"));
                }
                let reply = ask(&server, &mut client, &request);
                check(name, value, &reply);
            }
        }
    }
}
