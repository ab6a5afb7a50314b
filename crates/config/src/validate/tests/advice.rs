//! Advice that problems give behind Unit's words: how it would have been right.

use super::known;
use crate::json::parse;
use crate::validate;

/// The first problem of a document says all of `texts`.
#[track_caller]
fn check(document: &str, pointer: &str, texts: &[&str]) {
    let problems = validate(&parse(document.as_bytes()).unwrap(), &known()).expect_err(document);
    let problem = problems.iter().find(|problem| problem.pointer == pointer);
    let shown = problem.unwrap_or_else(|| panic!("{pointer} is right: {problems:#?}")).to_string();
    for text in texts {
        assert!(shown.contains(text), "{text:?} is not in {shown:?}");
    }
}

/// `value` is that of the option `name` of an application in PHP.
#[track_caller]
fn check_php(name: &str, value: &str, pointer: &str, text: &str) {
    let document =
        format!(r#"{{"applications": {{"a": {{"type": "php", "root": "/", "{name}": {value}}}}}}}"#);
    check(&document, &format!("/applications/a/{name}{pointer}"), &[text]);
}

#[test]
fn numbers_in_quotes() {
    check_php("processes", r#""8""#, "", "Write it without quotes: 8.");
    check_php("processes", r#""many""#, "", "must be \"auto\".");
    check_php("processes", r#"{"max": "8"}"#, "/max", "Write it without quotes: 8.");
    check_php("limits", r#"{"timeout": "30s"}"#, "/timeout", "times are in seconds");
    check_php("limits", r#"{"memory": "128M"}"#, "/memory", "sizes in bytes");
    let document = r#"{"routes": [{"action": {"return": "301", "location": "/"}}]}"#;
    check(
        document,
        "/routes/0/action/return",
        &["must be an integer number", "Write it without quotes: 301."],
    );
    let document = r#"{"routes": [{"action": {"share": "/", "follow_symlinks": "no"}}]}"#;
    check(document, "/routes/0/action/follow_symlinks", &["Write it without quotes: false."]);
}

#[test]
fn strings_without_quotes() {
    check_php("environment", r#"{"PORT": 8080}"#, "/PORT", "Write it in quotes: \"8080\".");
    check_php(
        "options",
        r#"{"admin": {"memory_limit": 256}}"#,
        "/admin/memory_limit",
        "Write it in quotes: \"256\".",
    );
    check_php("user", "33", "", "Write it in quotes: \"33\".");
    let document = r#"{"routes": [{"match": {"arguments": {"a": 1}}, "action": {"return": 200}}]}"#;
    check(document, "/routes/0/match/arguments/a", &["Write it in quotes: \"1\"."]);
    let document = r#"{"routes": [{"action": {"return": 200, "response_headers": {"X": 1}}}]}"#;
    check(document, "/routes/0/action/response_headers/X", &["Write it in quotes: \"1\"."]);
    let document = r#"{"access_log": {"path": "/l", "format": {"a": 1}}}"#;
    check(document, "/access_log/format/a", &["Write it in quotes: \"1\"."]);
    let document = r#"{"applications": {"a": {"type": "http", "executable": "x", "arguments": "-p 1"}}}"#;
    check(document, "/applications/a/arguments", &["Write it in brackets"]);
    let document = r#"{"applications": {"a": {"type": "http", "executable": "x", "arguments": ["-p", 1]}}}"#;
    check(document, "/applications/a/arguments/1", &["Write it in quotes: \"1\"."]);
}

#[test]
fn addresses_have_a_form() {
    let listener = |address: &str, texts: &[&str]| {
        let document = format!(r#"{{"listeners": {{"{address}": {{"pass": "routes"}}}}, "routes": []}}"#);
        check(&document, &format!("/listeners/{}", address.replace('/', "~1")), texts);
    };
    listener("localhost:80", &["\"unix:PATH\"", "a host name is not one", "Did you mean \"127.0.0.1:80\"?"]);
    listener("*:99999", &["a PORT from 1 to 65535"]);
    listener("8080", &["Did you mean \"*:8080\"?"]);
    listener("/run/a.sock", &["Did you mean \"unix:/run/a.sock\"?"]);
    let document = r#"{"routes": [{"match": {"source": "localhost"}, "action": {"return": 200}}]}"#;
    check(document, "/routes/0/match/source", &["\"10.0.0.0/8\"", "a host name is not one"]);
}

#[test]
fn servers_have_a_form() {
    let proxy = |url: &str, meant: &str| {
        let document = format!(r#"{{"routes": [{{"action": {{"proxy": "{url}"}}}}]}}"#);
        check(&document, "/routes/0/action/proxy", &["\"http://HOST:PORT\"", "without a path", meant]);
    };
    proxy("http://127.0.0.1:80/api", "Did you mean \"http://127.0.0.1:80\"?");
    proxy("http://127.0.0.1:80/", "Did you mean \"http://127.0.0.1:80\"?");
    proxy("127.0.0.1:3000", "Did you mean \"http://127.0.0.1:3000\"?");
    proxy("http://backend", "Did you mean \"http://backend:80\"?");
    proxy("https://backend/x?y", "Did you mean \"https://backend:443\"?");
    proxy("ws://backend:81", "Did you mean \"http://backend:81\"?");
    proxy("unix:/run/a.sock", "Did you mean \"http://unix:/run/a.sock\"?");
    proxy("ftp://a", "with a port");
    let document = r#"{"upstreams": {"u": {"servers": {"backend": {}}}}}"#;
    check(
        document,
        "/upstreams/u/servers/backend",
        &["\"HOST:PORT\"", "Did you mean \"http://backend:80\"?"],
    );
}

#[test]
fn destinations_are_found_by_their_targets_and_bare_names() {
    let pass = |text: &str, advice: &str| {
        let document = format!(
            r#"{{"listeners": {{"*:80": {{"pass": "{text}"}}}},
                "routes": {{"main": []}}, "upstreams": {{"pool": {{"servers": {{}}}}}},
                "applications": {{"a": {{"type": "php", "targets": {{"front": {{"root": "/"}}, "x/y": {{"root": "/"}}}}}}}}}}"#
        );
        check(&document, "/listeners/*:80/pass", &[advice]);
    };
    pass("applications/a/frnt", "Did you mean \"applications/a/front\"?");
    pass("applications/a/x/y", "Did you mean \"applications/a/x%2Fy\"?");
    pass("/routes/main", "Did you mean \"routes/main\"?");
    pass("main", "Did you mean \"routes/main\"?");
    pass("a", "Did you mean \"applications/a\"?");
    pass("a/front", "Did you mean \"applications/a/front\"?");
    pass("pool", "Did you mean \"upstreams/pool\"?");
    pass("routes", "There is \"routes/main\", \"applications/a\", \"applications/a/front\"");
    pass("http://127.0.0.1:3000", "a route with \"proxy\"");
    let document = r#"{"listeners": {"*:80": {"pass": "/routes"}}, "routes": []}"#;
    check(document, "/listeners/*:80/pass", &["Did you mean \"routes\"?"]);
    let document = r#"{"listeners": {"*:80": {"pass": "blog"}}}"#;
    check(document, "/listeners/*:80/pass", &["A destination is \"routes\""]);
}

#[test]
fn other_servers_names_are_known() {
    let matching = |name: &str, meant: &str| {
        let document =
            format!(r#"{{"routes": [{{"match": {{"{name}": "/a"}}, "action": {{"return": 200}}}}]}}"#);
        check(&document, &format!("/routes/0/match/{name}"), &[&format!("Did you mean \"{meant}\"?")]);
    };
    for (name, meant) in
        [("path", "uri"), ("URL", "uri"), ("server_name", "host"), ("ip", "source"), ("args", "arguments")]
    {
        matching(name, meant);
    }
    let action = |name: &str, advice: &str| {
        let document = format!(r#"{{"routes": [{{"action": {{"{name}": "/b"}}}}]}}"#);
        check(&document, &format!("/routes/0/action/{name}"), &[advice]);
    };
    action("redirect", "A redirect is \"return\": 301 with a \"location\".");
    action("root", "\"share\": \"/srv/www$uri\"");
    action("DocumentRoot", "\"share\": \"/srv/www$uri\"");
    action("proxy_pass", "Did you mean \"proxy\"?");
    action("try_files", "\"fallback\"");
    check(
        r#"{"listeners": {"*:80": {"pass": "routes", "ssl": {}}}, "routes": []}"#,
        "/listeners/*:80/ssl",
        &["\"tls\""],
    );
    check_php("workers", "8", "", "Did you mean \"processes\"?");
    check_php("env", "{}", "", "Did you mean \"environment\"?");
    check_php("php_ini", "{}", "", "Did you mean \"options\"?");
    check(
        r#"{"applications": {"a": {"language": "php"}}}"#,
        "/applications/a/language",
        &["Did you mean \"type\"?"],
    );
    check(r#"{"apps": {}}"#, "/apps", &["Did you mean \"applications\"?"]);
    check(r#"{"certificates": {}}"#, "/certificates", &["corral certificate put"]);
    check(
        r#"{"settings": {"max_body_size": 1}}"#,
        "/settings/max_body_size",
        &["settings/http/max_body_size"],
    );
}

/// Words of people who come from another server: a document, the place of the problem, and words of the remedy.
const FROM_ELSEWHERE: &[(&str, &str, &str)] = &[
    (
        r#"{"routes": [], "listeners": {"*:80": {"pass": "routes", "max_body_size": 1}}}"#,
        "/listeners/*:80/max_body_size",
        r#""defaults": {"max_body_size": …}"#,
    ),
    (
        r#"{"routes": [{"action": {"return": 200, "client_max_body_size": 1}}]}"#,
        "/routes/0/action/client_max_body_size",
        "Did you mean \"max_body_size\"?",
    ),
    (
        r#"{"routes": [{"action": {"return": 200, "proxy_request_buffering": false}}]}"#,
        "/routes/0/action/proxy_request_buffering",
        "Did you mean \"request_buffering\"?",
    ),
    (
        r#"{"routes": [{"action": {"return": 200, "SetEnv": {}}}]}"#,
        "/routes/0/action/SetEnv",
        "Did you mean \"params\"?",
    ),
    (
        r#"{"applications": {"a": {"type": "php", "targets": {"b": {"root": "/srv", "environment": {}}}}}}"#,
        "/applications/a/targets/b/environment",
        "\"params\" sets variables of requests",
    ),
    (
        r#"{"applications": {"a": {"type": "php", "root": "/srv", "options_by_path": {"/*": {"php_value": {}}}}}}"#,
        "/applications/a/options_by_path/~1*/php_value",
        "Did you mean \"user\"?",
    ),
    (r#"{"listen": 80}"#, "/listen", r#""*:80": {"pass": "routes"}"#),
    (r#"{"port": 8080}"#, "/port", "names of listeners"),
    (r#"{"server": {"listen": 80}}"#, "/server", r#""match": {"host": "example.org"}"#),
    (r#"{"server_name": "a"}"#, "/server_name", r#""match": {"host": "example.org"}"#),
    (r#"{"location": {}}"#, "/location", r#""match": {"uri": "/api/*"}"#),
    (r#"{"root": "/srv"}"#, "/root", r#""share": "/srv/www$uri""#),
    (r#"{"proxy_pass": "http://a"}"#, "/proxy_pass", r#"{"proxy": "http://127.0.0.1:3000"}"#),
    (r#"{"ssl": true}"#, "/ssl", "TLS belongs to a listener"),
    (r#"{"user": "www-data"}"#, "/user", "`--user NAME`"),
    (r#"{"gzip": true}"#, "/gzip", "\"settings\": {\"http\": {"),
    (r#"{"php": {}}"#, "/php", "\"applications\": {\"NAME\": {\"type\""),
    (r#"{"listeners": 80}"#, "/listeners", r#"Write "listeners": {"*:80": {"pass": "routes"}}."#),
    (r#"{"listeners": ["*:8080"]}"#, "/listeners", r#"{"*:8080": {"pass": "routes"}}"#),
    (r#"{"listeners": {"*:80": "routes"}}"#, "/listeners/*:80", r#"Write {"pass": "routes"}"#),
    (
        r#"{"listeners": {"*:80": {"server_name": "a"}}}"#,
        "/listeners/*:80/server_name",
        "conditions of steps",
    ),
    (r#"{"listeners": {"*:80": {"root": "/a"}}}"#, "/listeners/*:80/root", "A listener passes requests on"),
    (r#"{"listeners": {"*:80": {"port": 80}}}"#, "/listeners/*:80/port", "is its name"),
    (r#"{"listeners": {"*:80": {"http3": true}}}"#, "/listeners/*:80/http3", "HTTP/2 is"),
    (r#"{"listeners": {"*:80": {"hsts": true}}}"#, "/listeners/*:80/hsts", "\"https_only\""),
    (r#"{"listeners": {"*:443": {"tls": true}}}"#, "/listeners/*:443/tls", r#"{"acme": true}"#),
    (
        r#"{"listeners": {"*:443": {"tls": {"key": "/k"}}}}"#,
        "/listeners/*:443/tls/key",
        "corral certificate put",
    ),
    (
        r#"{"listeners": {"*:443": {"tls": {"cert": "/c"}}}}"#,
        "/listeners/*:443/tls/cert",
        "corral certificate put",
    ),
    (
        r#"{"listeners": {"*:443": {"tls": {"certificate": "/etc/a.pem"}}}}"#,
        "/listeners/*:443/tls/certificate",
        "corral certificate put",
    ),
    (
        r#"{"listeners": {"*:443": {"tls": {"ssl_protocols": ""}}}}"#,
        "/listeners/*:443/tls/ssl_protocols",
        "MinProtocol",
    ),
    (r#"{"routes": {"/api": {"pass": "x"}}}"#, "/routes/~1api", r#"{"match": {"uri": "/api"}"#),
    (r#"{"routes": "applications/a"}"#, "/routes", "Write the steps"),
    (r#"{"routes": [{"uri": "/a", "action": {"return": 200}}]}"#, "/routes/0/uri", "belong in \"match\""),
    (r#"{"routes": [{"share": "/a"}]}"#, "/routes/0/share", r#"{"action": {"share": …}}"#),
    (
        r#"{"routes": [{"match": "/a", "action": {"return": 200}}]}"#,
        "/routes/0/match",
        r#"Write {"uri": "/a"}."#,
    ),
    (
        r#"{"routes": [{"match": {"deny": "all"}, "action": {"return": 200}}]}"#,
        "/routes/0/match/deny",
        "\"source\"",
    ),
    (r#"{"routes": [{"action": "routes/a"}]}"#, "/routes/0/action", r#"Write {"pass": "routes/a"}."#),
    (r#"{"routes": [{"action": "/srv$uri"}]}"#, "/routes/0/action", r#"Write {"share": "/srv$uri"}."#),
    (
        r#"{"routes": [{"action": {"return": "301 https://a.example/"}}]}"#,
        "/routes/0/action/return",
        r#""return": 301, "location": "https://a.example/""#,
    ),
    (
        r#"{"routes": [{"action": {"rewrite": "^/a/(.*)$ /b/$1 last", "return": 200}}]}"#,
        "/routes/0/action/rewrite",
        "the new path alone",
    ),
    (
        r#"{"routes": [{"action": {"share": "/a$uri", "headers": {"X-A": "b"}}}]}"#,
        "/routes/0/action/headers",
        "response_headers",
    ),
    (
        r#"{"routes": [{"action": {"script_alias": "/cgi-bin"}}]}"#,
        "/routes/0/action/script_alias",
        "type \"cgi\"",
    ),
    (
        r#"{"routes": [{"action": {"return": 200, "allow": "10.0.0.0/8"}}]}"#,
        "/routes/0/action/allow",
        "\"source\"",
    ),
    (
        r#"{"routes": [{"action": {"return": 200, "RewriteRule": ""}}]}"#,
        "/routes/0/action/RewriteRule",
        "\"rewrite\" is the new path",
    ),
    (
        r#"{"routes": [{"action": {"proxy": "http://a:80", "proxy_read_timeout": 5}}]}"#,
        "/routes/0/action/proxy_read_timeout",
        "\"timeouts\"",
    ),
    (
        r#"{"routes": [{"match": {"uri": "/a%b"}, "action": {"return": 200}}]}"#,
        "/routes/0/match/uri",
        "\"%25\"",
    ),
    (
        r#"{"routes": [{"match": {"uri": "%{REQUEST_URI}"}, "action": {"return": 200}}]}"#,
        "/routes/0/match/uri",
        "Apache's variables",
    ),
    (
        r#"{"routes": [{"match": {"uri": "/a/**"}, "action": {"return": 200}}]}"#,
        "/routes/0/match/uri",
        "One \"*\"",
    ),
    (
        r#"{"routes": [{"match": {"uri": "~* \\.php$"}, "action": {"return": 200}}]}"#,
        "/routes/0/match/uri",
        r#""~(?i)\.php$""#,
    ),
    (r#"{"upstreams": {"a": {"servers": ["b:80"]}}}"#, "/upstreams/a/servers", r#"Write {"b:80": {}}."#),
    (
        r#"{"upstreams": {"a": {"ip_hash": true, "servers": {}}}}"#,
        "/upstreams/a/ip_hash",
        r#"{"hash": "$remote_addr"}"#,
    ),
    (r#"{"applications": {"a": "php"}}"#, "/applications/a", r#"Write {"type": "php""#),
    (r#"{"settings": {"keepalive_timeout": 5}}"#, "/settings/keepalive_timeout", "It belongs in \"http\""),
    (
        r#"{"settings": {"http": {"server_tokens": "off"}}}"#,
        "/settings/http/server_tokens",
        "\"server_version\"",
    ),
];

#[test]
fn what_other_servers_have_is_answered_with_the_remedy() {
    for (document, pointer, words) in FROM_ELSEWHERE {
        check(document, pointer, &[words]);
    }
    check_php("options", r#"{"memory_limit": "1G"}"#, "/memory_limit", r#"{"admin": {"memory_limit": "…"}}"#);
    check_php("memory_limit", r#""1G""#, "", "\"options\": {\"admin\"");
    check_php("max_requests", "5", "", "It belongs in \"limits\"");
    check_php("listen", r#""*:80""#, "", "\"pass\": \"applications/NAME\"");
    check_php("environment", r#"["A=b"]"#, "", r#"Write {"NAME": "VALUE"}."#);
}

#[test]
fn types_that_nothing_runs_are_explained() {
    let kind = |name: &str, texts: &[&str]| {
        let document = format!(r#"{{"applications": {{"a": {{"type": "{name}"}}}}}}"#);
        check(&document, "/applications/a/type", texts);
    };
    kind("nodejs", &["unit-http", "\"http\" when it serves HTTP itself", "Did you mean \"external\"?"]);
    kind("node.js 20", &["Did you mean \"external\"?"]);
    kind("php 7.4", &["There is \"php 8.2.30\".", "For another version"]);
    kind("django", &["Did you mean \"python\"?"]);
    kind("static", &["Files need no application"]);
    kind(
        "cobol",
        &[
            "There is \"java 12.0.25\", ",
            "\"cgi\", \"external\", \"fastcgi\", \"go\", \"http\", \"process\".",
        ],
    );
}

#[test]
fn a_missing_module_can_be_added() {
    let document = parse(br#"{"applications": {"a": {"type": "wasm-wasi-component"}}}"#).unwrap();
    let problems = validate(&document, &crate::Known::modules(Vec::new())).unwrap_err();
    assert!(problems[0].advice.contains("Put corral-wasm beside the executable"), "{problems:#?}");
}

#[test]
fn origins_and_mirrors_that_are_meant() {
    let check = |option: &str, pointer: &str, text: &str| {
        let document = format!(r#"{{"routes": [{{"action": {{"return": 200, {option}}}}}]}}"#);
        check(&document, &format!("/routes/0/action/{pointer}"), &[text]);
    };
    check(r#""cors": {"origins": "app.example.org/"}"#, "cors/origins", "\"https://app.example.org\"");
    check(
        r#""cors": {"origins": ["https://a.example", "*.b.example"]}"#,
        "cors/origins/1",
        "\"https://*.b.example\"",
    );
    check(r#""cors": {"methods": ["GET", "patch"]}"#, "cors/methods/1", "\"PATCH\"");
    check(r#""cors": {"allow_origin": "*"}"#, "cors/allow_origin", "\"origins\"");
    check(r#""mirror": "127.0.0.1:9000""#, "mirror", "\"http://127.0.0.1:9000\"");
    check(r#""mirror": {"to": "http://a.example/"}"#, "mirror/to", "\"http://a.example:80\"");
    check(r#""cors": {"credentials": true}"#, "cors/credentials", "Name the sites that may");
}
