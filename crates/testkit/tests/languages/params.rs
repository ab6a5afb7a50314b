//! `params`: variables of the configuration that go with a request, in each language that has variables of requests.

use corral_testkit::{Daemon, Request, Site, daemon, site};
use serde_json::{Value, json};

/// Each answers with what it has of `A`, `B` and `QUERY_STRING`, and `-` for what it has not.
const PHP: &str = "<?php foreach (['A', 'B', 'QUERY_STRING'] as $name) { echo $_SERVER[$name] ?? '-', '|'; }";
const WSGI: &str = "
def application(environ, start):
    start('200 OK', [])
    return [''.join(environ.get(name, '-') + '|' for name in ('A', 'B', 'QUERY_STRING')).encode('latin1')]
";
const ASGI: &str = "
async def application(scope, receive, send):
    params = scope['extensions'].get('corral.params', {})
    query = params.get('QUERY_STRING', scope['query_string'].decode())
    body = ''.join(value + '|' for value in (params.get('A', '-'), params.get('B', '-'), query))
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': body.encode()})
";
const RACK: &str =
    "run ->(env) { [200, {}, [%w[A B QUERY_STRING].map { |name| (env[name] || '-') + '|' }.join]] }";
const PSGI: &str =
    "sub { my $env = shift; [200, [], [join '', map { ($env->{$_} // '-') . '|' } qw(A B QUERY_STRING)]] }";

/// The options of an application of each language.
fn app(language: &str) -> (Site, Value) {
    let (file, code) = match language {
        "php" => ("index.php", PHP),
        "wsgi" => ("app.py", WSGI),
        "asgi" => ("app.py", ASGI),
        "ruby" => ("config.ru", RACK),
        _ => ("app.psgi", PSGI),
    };
    let site = site().file(file, code);
    let app = match language {
        "php" => json!({ "type": "php", "root": site.root(), "script": "index.php" }),
        "wsgi" | "asgi" => json!({ "type": "python", "path": site.root(), "module": "app" }),
        "ruby" => json!({ "type": "ruby", "script": site.path("config.ru") }),
        _ => json!({ "type": "perl", "script": site.path("app.psgi") }),
    };
    (site, app)
}

fn serve(app: &Value) -> Daemon {
    let pass = "applications/app";
    daemon()
        .config(json!({
            "applications": { "app": app },
            "routes": {
                "main": [
                    { "match": { "uri": "/one" }, "action": { "pass": pass, "params": { "A": "action $arg_x", "QUERY_STRING": null } } },
                    { "match": { "uri": "/in/*" }, "action": { "pass": "routes/in", "params": { "A": "outer", "B": "outer" } } },
                    { "action": { "pass": pass } },
                ],
                "in": [
                    { "match": { "uri": "/in/gone" }, "action": { "pass": pass, "params": { "A": null, "B": "inner" } } },
                    { "action": { "pass": pass, "params": { "B": "\u{e9} $host" } } },
                ],
            },
        }))
        .start()
}

#[track_caller]
fn check(server: &Daemon, target: &str, expected: &str) {
    let request = Request::get(target).field("A", "client").field("Host", "h");
    let reply = server.send(&request).expect(200);
    assert_eq!(reply.text(), expected, "{target}");
}

/// Options: routes[].action.params, routes[].action.params.{name}, applications.{N}.params
#[test]
fn the_innermost_action_has_the_last_word() {
    for language in ["php", "wsgi", "asgi", "ruby", "perl"] {
        let (_site, mut app) = app(language);
        let server = serve(&app);
        // Values have what a client says, and names are never a client's.
        check(&server, "/?x", "-|-|x|");
        let gone = if language == "asgi" { "x=%C3%A9%0A" } else { "-" };
        check(&server, "/one?x=%C3%A9%0A", &format!("action \u{e9}\n|-|{gone}|"));
        check(&server, "/in/gone?x", "-|inner|x|");
        check(&server, "/in/?x", "outer|\u{e9} h|x|");
        app["params"] = json!({ "A": "app", "B": "app" });
        let server = serve(&app);
        check(&server, "/?x", "app|app|x|");
        check(&server, "/one?x=", &format!("action |app|{}|", if language == "asgi" { "x=" } else { "-" }));
        check(&server, "/in/gone?x", "-|inner|x|");
    }
}

/// Options: applications.{N}.targets.{N}.params
#[test]
fn targets_have_their_own() {
    for language in ["php", "wsgi", "asgi"] {
        let (site, app) = app(language);
        let target = |params: Value| match language {
            "php" => json!({ "root": site.root(), "script": "index.php", "params": params }),
            _ => json!({ "module": "app", "params": params }),
        };
        let mut targets =
            json!({ "a": target(json!({ "A": "a" })), "b": target(json!({ "A": null, "B": "b" })) });
        targets["c"] = target(json!({}));
        let mut app = app;
        let members = app.as_object_mut().expect("it is an object");
        for name in ["root", "script", "module"] {
            members.remove(name);
        }
        app["targets"] = targets;
        app["params"] = json!({ "A": "app" });
        let routes =
            json!([{ "action": { "pass": "applications/app/$arg_to", "params": { "QUERY_STRING": "q" } } }]);
        let server = daemon().config(json!({ "applications": { "app": app }, "routes": routes })).start();
        check(&server, "/?to=a", "a|-|q|");
        check(&server, "/?to=b", "-|b|q|");
        check(&server, "/?to=c", "app|-|q|");
    }
}

#[test]
fn names_of_interfaces_and_environments_of_targets_are_refused() {
    let (site, _) = app("php");
    let server = daemon().start_unconfigured();
    let refuse = |app: Value, words: &str| {
        let config = server.with_listener(json!({ "applications": { "app": app } }));
        let detail = server.control().put("/config", &config).expect_refused(400, "Invalid configuration.");
        assert!(detail.contains(words), "{detail}");
    };
    let php = |name: &str, value: Value| json!({ "type": "php", "root": site.root(), name: value });
    refuse(php("params", json!({ "wsgi.input": "x" })), "belongs to the interface");
    let targets = json!({ "a": { "root": site.root(), "environment": {} } });
    refuse(json!({ "type": "php", "targets": targets }), "sets variables of requests");
}
