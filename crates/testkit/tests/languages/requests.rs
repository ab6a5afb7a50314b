//! Requests as applications see them.

use std::net::{Ipv6Addr, SocketAddr};

use corral_testkit::{Authority, Client, Request, TlsClient, port_of_all_addresses};
use serde_json::{Value, json};

use crate::runtime::{Runtime, Served};

#[track_caller]
fn told(server: &Served, request: &Request) -> Value {
    server.send(request).expect(200).json()
}

pub(crate) fn methods(runtime: &Runtime) {
    let server = runtime.serve();
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "PURGE", "M-SEARCH"] {
        assert_eq!(told(&server, &Request::new(method, "/request"))["method"], method);
    }
}

pub(crate) fn made_up_methods(runtime: &Runtime) {
    let server = runtime.serve();
    for method in ["GREET", "A_B-C"] {
        assert_eq!(told(&server, &Request::new(method, "/request"))["method"], method);
    }
}

pub(crate) fn target(runtime: &Runtime) {
    let server = runtime.serve();
    for target in ["/request", "/request?", "/request?a=1&b=%20+c&%C3%BC=%2f", "/request?a?b=/../c"] {
        let found = told(&server, &Request::get(target));
        assert_eq!(found["target"], target, "{found}");
        assert_eq!(found["query"], target.split_once('?').map_or("", |(_, query)| query), "{found}");
    }
    server.get("/no/such/page").expect(404);
}

pub(crate) fn decoded_path(runtime: &Runtime) {
    let server = runtime.serve();
    let found = told(&server, &Request::get("/a%20b/%C3%BC?x=%41"));
    assert_eq!((&found["path"], &found["query"]), (&json!("/a b/ü"), &json!("x=%41")));
}

pub(crate) fn headers(runtime: &Runtime) {
    let server = runtime.serve();
    let long = "v".repeat(4000);
    let request = Request::post("/request")
        .field("Content-Type", "text/x; charset=y")
        .field("X-Mixed-CASE", "Value, with \"quotes\"")
        .field("X-Empty", "")
        .field("X-Long", &long)
        .body("12345");
    let headers = told(&server, &request)["headers"].clone();
    for (name, value) in [
        ("content-type", "text/x; charset=y"),
        ("content-length", "5"),
        ("x-mixed-case", "Value, with \"quotes\""),
        ("x-empty", ""),
        ("x-long", &long),
    ] {
        assert_eq!(headers[name], value, "{name} of {headers:#}");
    }
    // Nothing of one request is left for the next.
    let headers = told(&server, &Request::get("/request"))["headers"].clone();
    for absent in ["content-type", "content-length", "x-mixed-case", "x-empty"] {
        assert_eq!(headers.get(absent), None, "{headers:#}");
    }
}

pub(crate) fn repeated_headers(runtime: &Runtime) {
    let server = runtime.serve();
    let request = Request::get("/request")
        .field("X-Many", "1")
        .field("Cookie", "a=1")
        .field("x-many", "2")
        .field("Cookie", "b=2");
    let headers = told(&server, &request)["headers"].clone();
    assert_eq!((&headers["x-many"], &headers["cookie"]), (&json!("1, 2"), &json!("a=1; b=2")), "{headers:#}");
}

pub(crate) fn many_headers(runtime: &Runtime) {
    let server = runtime.serve();
    let request = (0..95).fold(Request::get("/request"), |request, i| {
        request.field(&format!("X-Field-{i}"), &format!("value {i}"))
    });
    let headers = told(&server, &request)["headers"].clone();
    for i in 0..95 {
        assert_eq!(headers[format!("x-field-{i}")], format!("value {i}"));
    }
}

pub(crate) fn host(runtime: &Runtime) {
    let server = runtime.serve();
    let found = told(&server, &Request::get("/request").field("Host", "Example.com:8080"));
    assert_eq!((&found["headers"]["host"], &found["scheme"]), (&json!("Example.com:8080"), &json!("http")));
}

pub(crate) fn addresses(runtime: &Runtime) {
    let server = runtime.serve();
    let own = "127.0.0.9".parse().expect("an address");
    let mut client = Client::connect_from(own, server.address().socket());
    // A client that says something else is not believed.
    let request =
        Request::get("/request").field("X-Forwarded-For", "192.0.2.1").field("X-Forwarded-Proto", "https");
    let found = client.send(&request).expect(200).json();
    assert_eq!((&found["client"], &found["scheme"]), (&json!("127.0.0.9"), &json!("http")));
}

/// A port is there where the client has one: not on Unix sockets, and not where a trusted server names an address
/// alone.
pub(crate) fn ports(runtime: &Runtime) {
    let server = runtime.serve();
    let ipv6 = SocketAddr::from((Ipv6Addr::LOCALHOST, port_of_all_addresses()));
    let (socket, app) = (server.path("run/web.sock"), json!({ "pass": "applications/app" }));
    let forwarded = json!({ "source": "127.0.0.0/8", "client_ip": "X-Forwarded-For" });
    let listeners = json!({
        server.address().to_string(): { "pass": "applications/app", "forwarded": forwarded },
        ipv6.to_string(): app,
        format!("unix:{}", socket.display()): app,
    });
    server.control().put("/config/listeners", &listeners).expect_done();
    for address in [server.address().socket(), ipv6] {
        let mut client = Client::try_connect_http1(address).expect("connect");
        // No client speaks for the server.
        let request =
            Request::get("/request").field("Corral-Client", "for=\"192.0.2.9:9\";by=_unix;proto=https");
        let own = client.own_address();
        check_client(&mut client, &request, &own.ip().to_string(), own.port());
    }
    let mut client = server.connect();
    for (said, address, port) in [
        ("192.0.2.1", "192.0.2.1", 0),
        ("192.0.2.1:4711", "192.0.2.1", 4711),
        ("2001:db8::7", "2001:db8::7", 0),
        ("[2001:db8::7]:65535", "2001:db8::7", 65535),
    ] {
        check_client(&mut client, &Request::get("/request").field("X-Forwarded-For", said), address, port);
    }
    let mut client = Client::try_connect_unix(&socket).expect("connect");
    check_client(&mut client, &Request::get("/request"), "unix:", 0);
}

#[track_caller]
fn check_client(client: &mut Client, request: &Request, address: &str, port: u16) {
    let found = client.send(request).expect(200).json();
    assert_eq!((&found["client"], &found["port"]), (&json!(address), &json!(port)), "{found:#}");
}

/// Said by a peer that the listener trusts.
#[track_caller]
fn told_by_proxy(runtime: &Runtime) -> Value {
    let server = runtime.serve_at(&json!({ "pass": "applications/app", "forwarded": {
        "source": "127.0.0.0/8", "client_ip": "X-Forwarded-For", "protocol": "X-Forwarded-Proto"
    } }));
    let request =
        Request::get("/request").field("X-Forwarded-For", "192.0.2.1").field("X-Forwarded-Proto", "https");
    told(&server, &request)
}

pub(crate) fn forwarded_address(runtime: &Runtime) {
    let found = told_by_proxy(runtime);
    assert_eq!(found["client"], "192.0.2.1", "{found:#}");
}

pub(crate) fn forwarded_scheme(runtime: &Runtime) {
    let found = told_by_proxy(runtime);
    assert_eq!(found["scheme"], "https", "{found:#}");
}

pub(crate) fn tls(runtime: &Runtime) {
    let authority = Authority::new("authority");
    let server = runtime.serve();
    let bundle = authority.server("localhost", &["localhost"]).pem();
    server.control().put_text("/certificates/own", &bundle).0.expect(200);
    let listener = json!({ "pass": "applications/app", "tls": { "certificate": "own" } });
    let listeners = json!({ server.address().to_string(): listener });
    server.control().put("/config/listeners", &listeners).expect_done();
    let mut client = Client::connect_tls(server.address().socket(), &TlsClient::new(&authority), "localhost");
    let found = client.get("/request").expect(200).json();
    assert_eq!(found["scheme"], "https", "{found:#}");
}

/// The trace of the client goes on, with the number that stands for the application.
pub(crate) fn trace(runtime: &Runtime) {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    let server = runtime.serve();
    let telemetry = json!({ "endpoint": "http://127.0.0.1:9/v1/traces", "protocol": "http" });
    server.control().put("/config/settings/telemetry", &telemetry).expect_done();
    let sent = format!("00-{TRACE}-b7ad6b7169203331-01");
    let response = server.send(&Request::get("/request").field("traceparent", &sent)).expect(200);
    let headers = response.json()["headers"].clone();
    let told = headers["traceparent"].as_str().unwrap_or_else(|| panic!("it is told nothing: {headers:#}"));
    let answered = response.field("traceparent").expect("the client is told, too");
    for traceparent in [told, answered] {
        assert!(traceparent.starts_with(&format!("00-{TRACE}-")) && traceparent.len() == 55, "{traceparent}");
    }
    assert!(told != sent && told != answered && answered != sent, "{told} {answered}");
    // A trace begins where the client has none.
    let headers = told_of(&server, &Request::get("/request"));
    assert!(headers["traceparent"].as_str().is_some_and(|one| one.len() == 55 && one != told), "{headers:#}");
}

#[track_caller]
fn told_of(server: &Served, request: &Request) -> Value {
    told(server, request)["headers"].clone()
}
