//! Answers of daemons, good ones and strange ones, over real sockets.

use std::os::unix::net::UnixListener;
use std::thread;

use super::*;

#[track_caller]
fn check(answer: &str, expected: Result<&str, &str>) {
    let body = parse(answer.as_bytes()).and_then(ApiAnswer::into_body);
    let body = body.map(|body| String::from_utf8(body).unwrap()).map_err(|error| format!("{error:#}"));
    assert_eq!(body.as_deref().map_err(String::as_str), expected);
}

fn reply(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[test]
fn a_success_is_its_body() {
    check(&reply("200 OK", "{\"a\": 1}\r\n"), Ok("{\"a\": 1}\r\n"));
    check("HTTP/1.1 200 OK\r\n\r\nuntil the end", Ok("until the end"));
}

#[test]
fn refusals_say_where_and_why() {
    let missing = r#"{"error": "Value doesn't exist."}"#;
    check(&reply("404 Not Found", missing), Err("Value doesn't exist"));
    let json = r#"{"error":"Invalid JSON.","detail":"A comma is missing.","location":{"offset":9,"line":2,"column":3}}"#;
    check(&reply("400 Bad Request", json), Err("Invalid JSON: line 2, column 3: A comma is missing."));
    let one = r#"{"error":"Invalid configuration.","detail":"Unknown parameter \"lisners\".","location":{"path":"/lisners"},"suggestion":"listeners"}"#;
    check(
        &reply("400 Bad Request", one),
        Err("Invalid configuration: /lisners: Unknown parameter \"lisners\". Did you mean \"listeners\"?"),
    );
    let two = r#"{"error":"Invalid configuration.","detail":"A.","location":{"path":""},
        "errors":[{"detail":"A.","location":{"path":""}},{"detail":"B.","location":{"path":"/b"}}]}"#;
    check(&reply("400 Bad Request", two), Err("Invalid configuration:\n  /: A.\n  /b: B."));
    let failed = r#"{"error":"Failed to apply new configuration.","detail":"bind failed"}"#;
    check(&reply("500 Internal Server Error", failed), Err("Failed to apply new configuration: bind failed"));
}

#[test]
fn strangers_are_not_believed() {
    check("", Err("it ended before its head was complete"));
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        Err("it has 5 bytes where 10 were announced"),
    );
    check(&reply("502 Bad Gateway", "<html>"), Err("the daemon answered with status 502"));
    assert!(parse(b"SSH-2.0-OpenSSH\r\n").is_err());
}

#[test]
fn a_request_goes_over_a_socket_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let server = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = vec![0; 1024];
        let len = connection.read(&mut request).unwrap();
        request.truncate(len);
        connection.write_all(reply("200 OK", "{}").as_bytes()).unwrap();
        String::from_utf8(request).unwrap()
    });
    let daemon = Daemon { token: Some("s3cret".to_owned()), ..Daemon::at(ListenAddress::Unix(path)) };
    let ask = ApiCall { method: "PUT", path: "/config", body: Some(b"{}"), if_match: Some("\"7\"") };
    let answer = daemon.ask(ask).unwrap();
    assert_eq!(answer.into_body().unwrap(), b"{}");
    let request = server.join().unwrap();
    assert!(request.starts_with("PUT /config HTTP/1.1\r\n") && request.ends_with("\r\n\r\n{}"), "{request}");
    for field in ["Authorization: Bearer s3cret\r\n", "If-Match: \"7\"\r\n", "Content-Length: 2\r\n"] {
        assert!(request.contains(field), "{request}");
    }
}

#[test]
fn nobody_there_is_explained() {
    let error = Daemon::at(ListenAddress::Unix("/no/such/socket".into())).get("/").unwrap_err();
    assert!(error.to_string().contains("start one with `corral daemon`"), "{error}");
    let name = format!("corral-nobody-{}", std::process::id());
    assert!(Daemon::at(ListenAddress::Abstract(name.into_bytes())).get("/").is_err());
}
