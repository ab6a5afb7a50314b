//! Scopes and callables: what an application is called with, and how it is found.

use corral_testkit::{Client, Request, daemon, python_app, site};
use serde_json::json;

use super::handling;
use crate::app;

#[test]
fn a_scope_describes_the_request() {
    let (_site, server) = app(&handling(
        "scope['headers'] = [[name.decode(), value.decode()] for name, value in scope['headers']]
for name in 'raw_path', 'query_string':
    scope[name] = scope[name].decode()
await answer(send, json.dumps(scope))",
    ));
    let request = Request::get("/a%20b/%C3%BC?x=%20").field("X-Twice", "1").field("X-Twice", "2");
    let mut client = Client::try_connect_http1(server.address().socket()).expect("connect");
    let scope = client.send(&request).expect(200).json();
    assert_eq!(scope["asgi"], json!({ "version": "3.0", "spec_version": "2.4" }));
    assert_eq!(scope["path"], "/a b/ü");
    assert_eq!((&scope["raw_path"], &scope["query_string"]), (&json!("/a%20b/%C3%BC"), &json!("x=%20")));
    assert_eq!((&scope["http_version"], &scope["root_path"]), (&json!("1.1"), &json!("")));
    assert_eq!(scope["client"][1], client.own_address().port());
    let address = server.address().to_string();
    let (ip, port) = address.split_once(':').expect("an address has a port");
    assert_eq!(scope["server"], json!([ip, port.parse::<u16>().expect("it is a number")]));
    assert_eq!(scope["headers"], json!([["host", "localhost"], ["x-twice", "1"], ["x-twice", "2"]]));
}

#[test]
fn targets_have_their_own_callables_prefixes_and_states() {
    let code = "
def make(name):
    async def application(scope, receive, send):
        if scope['type'] == 'lifespan':
            await receive()
            scope['state']['name'] = name
            await send({'type': 'lifespan.startup.complete'})
            await receive()
            return
        body = f\"{scope['state']['name']} {scope['root_path']} {scope['path']}\"
        await send({'type': 'http.response.start', 'status': 200})
        await send({'type': 'http.response.body', 'body': body.encode()})
    return application

one = make('one')

def two():
    return make('two')
";
    let site = site().file("app.py", code);
    let targets = json!({
        "one": { "module": "app", "callable": "one", "prefix": "/1" },
        "two": { "module": "app", "callable": "two", "factory": true }
    });
    let app = python_app(&site).without("module").with("targets", targets).value();
    let server = daemon().start_unconfigured();
    let route = |uri: &str, target: &str| {
        json!({ "match": { "uri": uri },
        "action": { "pass": format!("applications/python/{target}") } })
    };
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "routes" } },
        "routes": [route("/1/*", "one"), route("/2/*", "two")],
        "applications": { "python": app }
    });
    server.control().put("/config", &config).expect_done();
    server.get("/1/x").expect(200).expect_body("one /1 /1/x");
    server.get("/2/x").expect(200).expect_body("two  /2/x");
}

#[test]
fn applications_of_asgi_2_are_called_twice() {
    let code = "
class Old:
    def __init__(self, scope):
        self.scope = scope

    async def __call__(self, receive, send):
        await send({'type': 'http.response.start', 'status': 200})
        await send({'type': 'http.response.body', 'body': self.scope['path'].encode()})

def old(scope):
    return Old(scope)
";
    for callable in ["Old", "old"] {
        let site = site().file("app.py", code);
        let app = python_app(&site).with("callable", json!(callable)).with("protocol", json!("asgi"));
        let server = daemon().python(app).start();
        server.get("/path").expect(200).expect_body("/path");
    }
}

/// ASGI 2: a function of the scope alone, which needs no `protocol`.
#[test]
fn functions_of_the_scope_are_applications() {
    let code = "
def application(scope):
    async def instance(receive, send):
        await send({'type': 'http.response.start', 'status': 200})
        await send({'type': 'http.response.body', 'body': scope['path'].encode()})
    return instance
";
    let (_site, server) = app(code);
    server.get("/twice").expect(200).expect_body("/twice");
}
