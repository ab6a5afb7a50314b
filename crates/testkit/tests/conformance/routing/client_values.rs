//! Values that templates take from the client: wherever they are put, they stay what they are.

use corral_testkit::{Daemon, Request, Site, daemon, site};
use serde_json::{Value, json};

use super::steps::{put_step, refuse_step};

const SECRET: &str = "beside the shared folder";

/// A shared folder `w`, and what lies beside it.
fn files() -> Site {
    site()
        .file("secret", SECRET)
        .file("wide/secret", SECRET)
        .file("w/a.txt", "a")
        .file("w/d/b.txt", "b")
        .file("w/.well-known/c.txt", "c")
        .file("w/..d/e.txt", "e")
}

/// A variable, and the request that has a value for it.
type Way = (&'static str, fn(&str) -> Request);

/// The ways of a value into a template: the variable, and the request that has this value.
fn ways() -> Vec<Way> {
    vec![
        ("$arg_f", |value| Request::get(&format!("/?f={}", escaped(value)))),
        ("${header_x_f}", |value| Request::get("/").field("X-F", value)),
        ("$cookie_f", |value| Request::get("/").field("Cookie", &format!("f={value}"))),
    ]
}

/// Every byte as a client may hide it, unless the target would be too long.
fn escaped(value: &str) -> String {
    if value.len() > 1000 {
        return value.to_owned();
    }
    value.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn share(path: &str) -> Value {
    json!({ "action": { "share": path } })
}

/// Paths that lead out of `w` when they are appended to `/…/w/`.
const TRAVERSALS: [&str; 12] = [
    "../secret",
    "..//secret",
    "./../secret",
    "d/../../secret",
    "/../secret",
    "../wide/secret",
    "d/..",
    ".",
    "..",
    "./a.txt",
    "d/./b.txt",
    "../../../../../../../../etc/passwd",
];

#[test]
fn values_lead_to_files_below_and_nowhere_else() {
    let site = files();
    let server = daemon().routes(json!([])).start();
    for (variable, request) in ways() {
        put_step(&server, &share(&format!("{}/w/{variable}", site.root())));
        for (value, content) in [
            ("a.txt", "a"),
            ("d/b.txt", "b"),
            ("/d//b.txt", "b"),
            (".well-known/c.txt", "c"),
            ("..d/e.txt", "e"),
        ] {
            server.send(&request(value)).expect(200).expect_body(content);
        }
        for value in TRAVERSALS {
            server.send(&request(value)).expect(404);
        }
        for value in ["%2e%2e/secret", "..%2fsecret", "/etc/passwd", "~/a.txt", "..\\secret"] {
            server.send(&request(value)).expect(404);
        }
        server.send(&request(&"x/".repeat(2500))).expect(404);
        server.send(&request(&"x".repeat(5000))).expect(404);
        server.send(&request(&format!("d{}b.txt", "/".repeat(3000)))).expect(200);
    }
    server.expect_log("no file is shared");
}

#[test]
fn a_null_character_names_no_file() {
    let site = files();
    let server = daemon().routes(json!([])).start();
    put_step(&server, &share(&format!("{}/w/$arg_f", site.root())));
    for target in ["/?f=a.txt%00", "/?f=a.txt%00.png", "/?f=%00", "/?f=%00/../../secret"] {
        server.get(target).expect(404);
    }
    put_step(&server, &share(&format!("`{}/w/${{args.f}}`", site.root())));
    server.get("/?f=a.txt").expect(200);
    server.get("/?f=a.txt%00").expect(404);
}

#[test]
fn neighbours_make_no_dot_segment_together() {
    let site = files();
    let server = daemon().routes(json!([])).start();
    put_step(&server, &share(&format!("{}/w/$arg_a${{arg_b}}/secret", site.root())));
    server.get("/?a=.&b=.").expect(404);
    put_step(&server, &share(&format!("{}/w/.$arg_a/secret", site.root())));
    server.get("/?a=.").expect(404);
    // Where a path is meant, this is one: decoded, normalised, without the query.
    put_step(&server, &share(&format!("{}/w$request_uri", site.root())));
    server.get("/d/../../secret").expect(400);
    server.get("/%252e%252e/secret").expect(404);
    server.get("/d/../a%2etxt?x").expect(200);
    // What the configuration itself says is meant.
    put_step(&server, &share(&format!("{}/wide/../w/$arg_a", site.root())));
    server.get("/?a=a.txt").expect(200);
    server.get("/?a=../secret").expect(404);
}

/// Options: …action.chroot
#[test]
fn a_root_is_not_left_by_a_value() {
    let site = files();
    let server = daemon().routes(json!([])).start();
    let confined = |chroot: &str, path: &str| json!({ "action": { "share": path, "chroot": chroot } });
    let root = site.root();
    put_step(&server, &confined(&format!("{root}/$arg_r"), &format!("{root}/$arg_r/$arg_f")));
    server.get("/?r=w&f=a.txt").expect(200);
    for target in
        ["/?r=..&f=secret", "/?r=w/..&f=secret", "/?r=.&f=secret", "/?r=w&f=../secret", "/?r=w%00&f=a.txt"]
    {
        server.get(target).expect(404);
    }
    // The client may say it all where a root bounds it.
    put_step(&server, &confined(&format!("{root}/w"), "$arg_f"));
    server.get(&format!("/?f={root}/w/a.txt")).expect(200);
    server.get(&format!("/?f={root}/w/../secret")).expect(404);
    server.get(&format!("/?f={root}/secret")).expect(403);
    server.get("/?f=/etc/passwd").expect(403);
}

#[test]
fn a_path_that_the_client_begins_is_refused() {
    let server = daemon().routes(json!([])).start();
    for template in ["$arg_f", "$header_x_f/x", "${cookie_f}$uri", "$request_uri"] {
        refuse_step(&server, &share(template), "must not begin with what the client sends");
        refuse_step(&server, &json!({ "action": { "share": ["/srv$uri", template] } }), "\"share\"");
        let chroot = json!({ "action": { "share": "/srv$uri", "chroot": template } });
        refuse_step(&server, &chroot, "\"chroot\"");
    }
    put_step(&server, &share("$uri"));
}

#[test]
fn a_stray_value_goes_on_to_the_next_path_and_the_fallback() {
    let site = files();
    let server = daemon().routes(json!([])).start();
    let root = site.root();
    let action = json!({
        "share": [format!("{root}/w/$arg_f"), format!("{root}/w/a.txt")], "fallback": { "return": 204 },
    });
    put_step(&server, &json!({ "action": action }));
    server.get("/?f=../secret").expect(200).expect_body("a");
    put_step(
        &server,
        &json!({ "action": { "share": format!("{root}/w/$arg_f"), "fallback": { "return": 204 } } }),
    );
    server.get("/?f=../secret").expect(204);
}

/// A value begins below what is written in front of it, and is not a folder by being empty.
#[test]
fn a_value_names_neither_a_neighbour_nor_the_folder_itself() {
    let site = files().file("w-other/s.txt", SECRET).file("w.bak", SECRET).file("w/index.html", SECRET);
    let site = site.file("w/a/index.html", "a").file("w/img-a.txt", "a");
    let server = daemon().routes(json!([])).start();
    let root = site.root();
    for (variable, request) in ways() {
        put_step(&server, &share(&format!("{root}/w{variable}")));
        server.send(&request("/a.txt")).expect(200).expect_body("a");
        for value in ["-other/s.txt", ".bak", "", "/", "-other"] {
            server.send(&request(value)).expect(404);
        }
        put_step(&server, &share(&format!("{root}/{variable}/s.txt")));
        server.send(&request("w-other")).expect(200);
        server.send(&request("")).expect(404);
        put_step(&server, &share(&format!("{root}/w/{variable}/")));
        server.send(&request("a")).expect(200).expect_body("a");
        for value in ["", "/", ".", "..", "a/.."] {
            server.send(&request(value)).expect(404);
        }
        put_step(&server, &share(&format!("{root}/w/img-{variable}.txt")));
        server.send(&request("a")).expect(200);
        server.send(&request("/../a")).expect(404);
    }
}

/// A value with line ends adds no field, whichever option it is put into.
#[test]
fn values_do_not_end_a_field() {
    let site = files();
    let server = daemon().routes(json!([])).start();
    let share = format!("{}/w/a.txt", site.root());
    let evil = "/?v=x%0d%0aX-Evil:%20yes%0d%0a%0d%0abody%00%0b";
    for action in [
        json!({ "return": 200, "response_headers": { "X-Value": "a$arg_v" } }),
        json!({ "return": 200, "response_headers": { "X-Value": "`a${args.v}`" } }),
        json!({ "return": 301, "location": "/$arg_v" }),
        json!({ "return": 301, "location": "`/${args.v}`" }),
        json!({ "share": share, "cache_control": "no-cache, x=$arg_v" }),
        json!({ "share": share, "cache_control": "`no-cache, x=${args.v}`" }),
    ] {
        put_step(&server, &json!({ "action": action }));
        let reply = server.get(evil);
        assert!(reply.status < 400, "{action}: {reply}");
        assert!(reply.field("X-Evil").is_none(), "{action}: {reply}");
        let values = reply.fields.iter().map(|(_, value)| value);
        assert!(values.flat_map(|value| value.bytes()).all(|byte| !byte.is_ascii_control()), "{reply:?}");
        // The connection is in step.
        server.get("/").expect(reply.status);
    }
}

#[test]
fn values_do_not_end_a_line_of_the_access_log() {
    for format in ["$arg_v", "\"$header_x_v\" $arg_v", "`${args.v}`"] {
        let server = start_logging(json!(format));
        let before = lines(&server).len();
        server.send(&Request::get("/?v=x%0a127.0.0.1%20forged%0d%00").field("X-V", "\" forged")).expect(200);
        server.get("/?v=end").expect(200);
        let lines = corral_testkit::eventually("both are logged", || {
            let lines = lines(&server);
            (lines.len() >= before + 2).then_some(lines)
        });
        assert_eq!(lines.len(), before + 2, "{lines:?}");
        let has = |text: &str| lines[before..].iter().any(|line| line.contains(text));
        assert!(has("\\x0A127.0.0.1") && has("end"), "{lines:?}");
    }
}

fn start_logging(format: Value) -> Daemon {
    let server = daemon().start_unconfigured();
    let log = json!({ "path": server.path("access"), "format": format });
    let config = json!({ "routes": [{ "action": { "return": 200 } }], "access_log": log });
    server.control().put("/config", &server.with_listener(config)).expect_done();
    server
}

fn lines(server: &Daemon) -> Vec<String> {
    let text = std::fs::read_to_string(server.path("access")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A `pass` with a variable leads to what the configuration names, whatever is in the value.
#[test]
fn a_value_in_pass_is_one_name() {
    let step = |status: u16| json!([{ "action": { "return": status } }]);
    let routes = json!({
        "main": [{ "action": { "pass": "routes/$arg_r" } }],
        "a": step(201),
        "b/c": step(202),
    });
    let server = daemon().start_unconfigured();
    let mut config = server.with_listener(json!({ "routes": routes }));
    config["listeners"][server.address().to_string()]["pass"] = json!("routes/main");
    server.control().put("/config", &config).expect_done();
    server.get("/?r=a").expect(201);
    server.get("/?r=b%2Fc").expect(202);
    server.get("/?r=b%252Fc").expect(404);
    for value in
        ["", "..%2Fapplications", "a%2F..%2Fb", "a%00", "none", "a%2Fa", "%252e%252e", "%24arg_r", "a%0a"]
    {
        server.get(&format!("/?r={value}")).expect(404);
    }
    // It may lead back to where it stands, and ends.
    server.get("/?r=main").expect(500);
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn scripts_are_held_to_it_too() {
        let site = files();
        let server = daemon().routes(json!([])).start();
        for script in
            ["${args.f}", "${headers['X-F']}", "${cookies.f}", "${vars.arg_f}", "${args.f.toString()}"]
        {
            put_step(&server, &share(&format!("`{}/w/{script}`", site.root())));
            let request = |value: &str| {
                let request = Request::get(&format!("/?f={}", escaped(value)));
                request.field("X-F", value).field("Cookie", &format!("f={value}"))
            };
            server.send(&request("d/b.txt")).expect(200).expect_body("b");
            for value in TRAVERSALS {
                server.send(&request(value)).expect(404);
            }
        }
    }

    /// Options: …action.chroot
    #[test]
    fn no_host_is_not_all_hosts() {
        let site = site().file("vh/a.example/x.txt", "a").file("vh/x.txt", SECRET);
        let server = daemon().routes(json!([])).start();
        let root = site.root();
        let request = |host: &str| format!("GET /x.txt HTTP/1.0\r\n{host}\r\n");
        for step in [
            share(&format!("{root}/vh/$host$uri")),
            json!({ "action": { "share": format!("{root}/vh/$host$uri"), "chroot": format!("{root}/vh/$host") } }),
            json!({ "action": { "rewrite": "/vh/$host$uri", "share": format!("{root}$uri") } }),
            json!({ "action": { "rewrite": "$host$uri", "share": format!("{root}/vh$uri") } }),
        ] {
            put_step(&server, &step);
            for (host, found) in [
                ("Host: a.example\r\n", "200"),
                ("", "40"),
                ("Host: .\r\n", "40"),
                ("Host: ..\r\n", "40"),
                ("Host: :80\r\n", "40"),
            ] {
                let mut client = server.connect();
                client.write(request(host));
                let reply = String::from_utf8(client.read_to_end()).expect("text");
                assert!(
                    reply.starts_with(&format!("HTTP/1.1 {found}")) && !reply.contains(SECRET),
                    "{step} {host:?}: {reply}"
                );
            }
        }
    }
}
