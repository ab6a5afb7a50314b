//! Requests as a WSGI application sees them.

use corral_testkit::{Request, daemon, python_app, site};
use serde_json::{Value, json};

use crate::answering;

#[track_caller]
fn environ_of(request: &Request) -> Value {
    let (_site, server) =
        answering("return {k: v for k, v in environ.items() if isinstance(v, (str, bool, tuple))}");
    server.send(request).expect(200).json()
}

#[test]
fn the_request_is_described() {
    let request =
        Request::get("/a%20b/%C3%BC?x=1&y=%20").field("Host", "Example.com:8080").field("Accept", "*/*");
    let found = environ_of(&request);
    assert_eq!(found["REQUEST_METHOD"], "GET");
    assert_eq!(found["REQUEST_URI"], "/a%20b/%C3%BC?x=1&y=%20");
    // Bytes as characters, by PEP 3333.
    assert_eq!(found["PATH_INFO"], "/a b/\u{c3}\u{bc}");
    assert_eq!((&found["QUERY_STRING"], &found["SCRIPT_NAME"]), (&json!("x=1&y=%20"), &json!("")));
    assert_eq!(
        (&found["SERVER_NAME"], &found["HTTP_HOST"]),
        (&json!("example.com"), &json!("Example.com:8080"))
    );
    assert_eq!(found["SERVER_PROTOCOL"], "HTTP/1.1");
    let is_loopback = |name: &str| found[name].as_str().is_some_and(|address| address.starts_with("127."));
    assert!(is_loopback("REMOTE_ADDR") && is_loopback("SERVER_ADDR"), "{found}");
    assert!(found["SERVER_PORT"].as_str().unwrap().parse::<u16>().unwrap() > 0);
    assert!(found["SERVER_SOFTWARE"].as_str().unwrap().starts_with("Corral/"), "{found}");
    assert_eq!(found["HTTP_ACCEPT"], "*/*");
    assert_eq!(
        (&found["CONTENT_LENGTH"], &found["CONTENT_TYPE"], &found["HTTPS"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!((&found["wsgi.version"], &found["wsgi.url_scheme"]), (&json!([1, 0]), &json!("http")));
    assert_eq!((&found["wsgi.multithread"], &found["wsgi.multiprocess"]), (&json!(false), &json!(true)));
    assert_eq!(found["wsgi.run_once"], false);
}

#[test]
fn a_body_has_type_and_length() {
    let found = environ_of(&Request::post("/").field("Content-Type", "text/x").body("12345"));
    assert_eq!((&found["CONTENT_TYPE"], &found["CONTENT_LENGTH"]), (&json!("text/x"), &json!("5")));
    assert_eq!((&found["HTTP_CONTENT_TYPE"], &found["HTTP_CONTENT_LENGTH"]), (&Value::Null, &Value::Null));
}

#[test]
fn repeated_fields_are_joined() {
    let request = Request::get("/")
        .field("X-Many", "1")
        .field("x-many", "2")
        .field("Cookie", "a=1")
        .field("Cookie", "b=2")
        .field("X-Bytes", "\u{fc}");
    let found = environ_of(&request);
    assert_eq!(found["HTTP_X_MANY"], "1, 2");
    assert_eq!(found["HTTP_COOKIE"], "a=1; b=2");
    assert_eq!(found["HTTP_X_BYTES"], "\u{c3}\u{bc}");
}

#[test]
fn nothing_of_one_request_is_left_for_the_next() {
    let (_site, server) = answering("environ['mine'] = 1\nreturn sorted(environ)");
    let first = server.send(&Request::post("/?q").field("X-A", "1").body("x")).expect(200).json();
    let second = server.get("/").expect(200).json();
    let has = |keys: &Value, key: &str| keys.as_array().unwrap().iter().any(|found| found == key);
    assert!(has(&first, "HTTP_X_A") && has(&first, "CONTENT_LENGTH") && has(&first, "mine"));
    assert!(!has(&second, "HTTP_X_A") && !has(&second, "CONTENT_LENGTH"), "{second}");
}

/// The reference library's own checks of server and application.
#[test]
fn the_validator_of_the_standard_library_is_content() {
    let site = site().file(
        "app.py",
        "from wsgiref.validate import validator

def simple(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [environ['wsgi.input'].read(100)]

application = validator(simple)
",
    );
    let server = daemon().python(python_app(&site)).start();
    server.get("/").expect(200).expect_body("");
    server.send(&Request::post("/x?y").body("hello")).expect(200).expect_body("hello");
}

/// Options: applications.{N}.prefix
#[test]
fn a_prefix_is_the_name_of_the_script() {
    let code = "import json
def application(environ, start_response):
    start_response('200 OK', [])
    return [json.dumps([environ['SCRIPT_NAME'], environ['PATH_INFO']]).encode()]
";
    let site = site().file("app.py", code);
    let server = daemon().python(python_app(&site).with("prefix", json!("/app/"))).start();
    let at = |path: &str| server.get(path).expect(200).json();
    assert_eq!(at("/app/x"), json!(["/app", "/x"]));
    assert_eq!(at("/app"), json!(["/app", ""]));
    assert_eq!(at("/apple"), json!(["", "/apple"]));
    assert_eq!(at("/"), json!(["", "/"]));
}
