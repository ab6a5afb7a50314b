//! The manual's table of variables, asked of every language, and of php-fpm behind nginx and Apache.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use corral_testkit::{Client, Daemon, PhpFpm, Reference, Request, Site, daemon, eventually, site};
use serde_json::{Value, json};

use crate::STATIC;

const PAGE: &str = include_str!("../../../../docs/src/configuration/cgi-variables.md");

const PHP: &str = "<?php header('Content-Type: application/json'); echo json_encode($_SERVER);";

const WSGI: &str = "import json
def application(environ, start_response):
    start_response('200 OK', [])
    return [json.dumps({k: v for k, v in environ.items() if isinstance(v, str)}).encode()]
";

const RACK: &str = "require 'json'
run ->(env) { [200, {}, [JSON.generate(env.select { |_, v| v.is_a?(String) })]] }
";

const PSGI: &str = "use JSON::PP;
sub { my ($env) = @_; [200, [], [encode_json({ map { ref $env->{$_} ? () : ($_ => $env->{$_}) } keys %$env })]] };
";

type Variables = BTreeMap<String, Value>;

/// A name, and for each column whether it is there.
fn rows() -> Vec<(&'static str, Vec<bool>)> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    cells
        .map(|cells| (cells[0].trim_matches('`'), cells[1..].iter().map(|cell| *cell == "✓").collect()))
        .collect()
}

/// How the site is asked for its variables, in the order of the table.
const COLUMNS: [&str; 5] = ["/php/v.php/in/fo", "/fpm/v.php/in/fo", "/wsgi", "/rack", "/psgi"];

fn site_of_all() -> Site {
    ["php/v.php", "fpm/v.php"]
        .into_iter()
        .fold(site(), |site, name| site.file(name, PHP))
        .file("app.py", WSGI)
        .file("config.ru", RACK)
        .file("app.psgi", PSGI)
}

fn serve_all(site: &Site, fpm: &PhpFpm) -> Daemon {
    let route = |uri: &str, action: Value| json!({ "match": { "uri": uri }, "action": action });
    let pass = |name: &str| json!({ "pass": format!("applications/{name}") });
    let root = site.root();
    let mut config = json!({
        "routes": [
            route("/php/*", pass("php")),
            route("/fpm/*", json!({ "fastcgi": fpm.address(), "root": &root })),
            route("/wsgi", pass("wsgi")),
            route("/rack", pass("rack")),
            route("/psgi", pass("psgi")),
        ],
        "applications": {
            "php": { "type": "php", "root": &root },
            "wsgi": { "type": "python", "path": &root, "module": "app" },
            "rack": { "type": "ruby", "script": site.path("config.ru") },
            "psgi": { "type": "perl", "script": site.path("app.psgi") },
        },
    });
    let forwarded =
        json!({ "source": "127.0.0.0/8", "protocol": "X-Forwarded-Proto", "client_ip": "X-Forwarded-For" });
    let server = daemon().start_unconfigured();
    config["listeners"] =
        json!({ server.address().to_string(): { "pass": "routes", "forwarded": forwarded } });
    server.control().put("/config", &config).expect_done();
    server
}

fn request(path: &str) -> Request {
    Request::post(&format!("{path}?x=1&y=%20"))
        .field("Host", "example.com:81")
        .field("Content-Type", "text/plain")
        .field("X-Some", "1")
        .body("body")
}

#[track_caller]
fn variables(client: &mut Client, request: &Request) -> Variables {
    serde_json::from_slice(&client.send(request).expect(200).body).expect("an object")
}

#[test]
fn the_table_of_variables_is_true() {
    let (site, fpm) = (site_of_all(), PhpFpm::at_socket(STATIC));
    let server = serve_all(&site, &fpm);
    let mut client = server.connect();
    let seen = COLUMNS.map(|path| variables(&mut client, &request(path)));
    let rows = rows();
    assert!(rows.len() > 20, "{rows:?}");
    for (name, expected) in rows {
        let found: Vec<_> = seen.iter().map(|variables| variables.contains_key(name)).collect();
        assert_eq!(found, expected, "{name}");
    }
    for (path, variables) in COLUMNS.iter().zip(&seen) {
        for (name, value) in [
            ("REQUEST_METHOD", "POST"),
            ("QUERY_STRING", "x=1&y=%20"),
            ("REQUEST_SCHEME", "http"),
            ("GATEWAY_INTERFACE", "CGI/1.1"),
            ("CONTENT_TYPE", "text/plain"),
            ("CONTENT_LENGTH", "4"),
            ("SERVER_NAME", "example.com"),
            ("HTTP_X_SOME", "1"),
        ] {
            assert_eq!(variables[name], value, "{name} of {path}");
        }
        let port = variables["REMOTE_PORT"].as_str().and_then(|port| port.parse::<u16>().ok());
        assert!(port.is_some_and(|port| port > 0), "{path}: {port:?}");
    }
}

/// The port that clients reach, not that of the socket behind a server that speaks TLS for it.
#[test]
fn the_server_s_port_is_one_that_the_client_can_use() {
    let (site, fpm) = (site_of_all(), PhpFpm::at_socket(STATIC));
    let server = serve_all(&site, &fpm);
    let own = server.address().socket().port().to_string();
    let mut client = server.connect();
    for path in COLUMNS {
        for (host, protocol, port, scheme) in [
            ("example.com", "https", "443", "https"),
            ("example.com:8443", "https", "8443", "https"),
            ("[::1]", "https", "443", "https"),
            ("example.com", "http", own.as_str(), "http"),
            ("example.com:8443", "http", own.as_str(), "http"),
        ] {
            let request = Request::get(path).field("Host", host).field("X-Forwarded-Proto", protocol);
            let found = variables(&mut client, &request.field("X-Forwarded-For", "192.0.2.1"));
            assert_eq!(found["SERVER_PORT"], port, "{path} of {host} by {protocol}");
            assert_eq!(found["REQUEST_SCHEME"], scheme, "{path} of {host} by {protocol}");
            assert_eq!(found["REMOTE_ADDR"], "192.0.2.1", "{path}");
            assert_eq!(
                found.get("REMOTE_PORT"),
                None,
                "{path}: that of the other server is not the client's"
            );
        }
    }
}

fn nginx(folder: &Path, root: &str, fpm: &PhpFpm) -> Reference {
    let server = format!(
        "server_name example.com;\n\
         location ~ ^(.+\\.php)(/.*)$ {{ fastcgi_split_path_info ^(.+\\.php)(/.*)$; include /etc/nginx/fastcgi.conf;\n\
         fastcgi_param PATH_INFO $fastcgi_path_info; fastcgi_pass {fpm}; }}",
        fpm = fpm.address(),
    );
    Reference::nginx(folder, root, "", &server)
}

fn apache(folder: &Path, root: &str, fpm: &PhpFpm) -> Reference {
    let lines = format!(
        "ServerName example.com\n<FilesMatch \\.php$>\nSetHandler \"proxy:{fpm}|fcgi://localhost\"\n</FilesMatch>",
        fpm = fpm.address(),
    );
    Reference::apache(folder, root, &lines)
}

/// Variables that differ by nature: the server itself, its place, and what each server adds of its own.
const OF_THE_SERVER: &[&str] = &[
    "SERVER_SOFTWARE",
    "SERVER_PORT",
    "REMOTE_PORT",
    "REQUEST_TIME",
    "REQUEST_TIME_FLOAT",
    "FCGI_ROLE",
    "HOME",
    "USER",
    "REDIRECT_STATUS",
    "SERVER_ADMIN",
    "SERVER_SIGNATURE",
    "CONTEXT_DOCUMENT_ROOT",
    "CONTEXT_PREFIX",
    "proxy-fcgi-pathinfo",
    "proxy-nokeepalive",
    "PATH",
    "HTTP_CONTENT_LENGTH",
    "HTTP_CONTENT_TYPE",
];

#[test]
fn a_script_sees_what_it_sees_behind_nginx_and_apache() {
    let (site, fpm) = (site_of_all(), PhpFpm::at_socket(STATIC));
    let server = serve_all(&site, &fpm);
    let (root, folder) = (site.root(), site.path("reference"));
    fs::create_dir(&folder).expect("make a folder");
    let ours = variables(&mut server.connect(), &request("/php/v.php/in/fo"));
    for start in [nginx, apache] {
        let reference = start(&folder, &root, &fpm);
        let mut client =
            eventually("the reference listens", || Client::try_connect(reference.address().socket()).ok());
        let theirs = variables(&mut client, &request("/php/v.php/in/fo"));
        let differs = theirs.iter().filter(|(name, _)| !OF_THE_SERVER.contains(&name.as_str()));
        // nginx says that there is no user, and of TLS.
        let differs = differs.filter(|(name, value)| ours.get(*name) != Some(value) && *value != "");
        let differs: BTreeMap<_, _> = differs.map(|(name, value)| (name, (value, ours.get(name)))).collect();
        assert!(differs.is_empty(), "theirs and ours: {differs:#?}");
        assert_eq!(theirs["REQUEST_SCHEME"], "http", "it is not a server that says nothing");
    }
}
