//! Headers that tell a server about its client.

use corral_testkit::{Daemon, Origin, Request, daemon};
use serde_json::json;

use super::{proxy, proxy_with};

/// Options: …action.request_headers.{name}
#[test]
fn what_the_configuration_says_of_a_field_is_the_last_word() {
    let origin = Origin::echo();
    let headers = json!({ "X-Forwarded-For": "$remote_addr", "x-forwarded-proto": null, "X-User": "nobody" });
    let server =
        daemon().routes(json!([{ "action": { "proxy": origin.url(), "request_headers": headers } }])).start();
    // A client that names a field in Connection has it removed, but not the one of this server.
    let request = Request::get("/")
        .field("Connection", "X-User, X-Own")
        .field("X-User", "root")
        .field("X-Own", "1")
        .field("X-Forwarded-For", "192.0.2.1")
        .field("X-Forwarded-Proto", "https");
    let text = server.send(&request).expect(200).text();
    assert!(text.contains("X-User: nobody\r\n") && !text.contains("X-Own"), "{text}");
    assert!(text.contains("X-Forwarded-For: 127.") && !text.contains("192.0.2.1"), "{text}");
    assert!(
        !text.to_lowercase().contains("x-forwarded-proto") && text.contains("X-Forwarded-Host: "),
        "{text}"
    );
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// Options: …action.proxy_options.forwarded_headers
    #[test]
    fn servers_learn_who_the_client_is() {
        let origin = Origin::echo();
        let server = proxy(&origin);
        let request = Request::get("/")
            .field("Host", "a.example")
            .field("X-Forwarded-For", "192.0.2.1")
            .field("X-Forwarded-Proto", "https");
        let text = server.send(&request).text();
        assert!(text.contains("X-Forwarded-For: 192.0.2.1, 127."), "{text}");
        assert!(text.contains("X-Forwarded-Proto: http\r\n"), "a client is not believed: {text}");
        assert!(text.contains("X-Forwarded-Host: a.example\r\n"), "{text}");
        let text = proxy_with(&origin, json!({ "forwarded_headers": false })).send(&request).text();
        assert!(
            text.contains("X-Forwarded-For: 192.0.2.1\r\n") && !text.contains("X-Forwarded-Host"),
            "{text}"
        );
        let listener = json!({ "pass": "routes", "forwarded": { "source": "127.0.0.0/8",
        "protocol": "X-Forwarded-Proto" } });
        let listeners = json!({ server.address().to_string(): listener });
        server.control().put("/config/listeners", &listeners).expect_done();
        let text = server.send(&request).text();
        assert!(text.contains("X-Forwarded-Proto: https\r\n"), "a trusted proxy is: {text}");
        assert!(text.contains("X-Forwarded-Port: 443\r\n"), "that of the scheme: {text}");
    }

    /// The port is the one that the client's addresses have, whatever is listened on here.
    #[test]
    fn servers_learn_the_port_that_the_client_has_in_mind() {
        let origin = Origin::echo();
        let server = proxy(&origin);
        let port_of = |server: &Daemon, request: &Request| {
            let text = server.send(request).text();
            let ports: Vec<_> =
                text.lines().filter(|line| line.to_lowercase().starts_with("x-forwarded-port:")).collect();
            ports.join("|").replace("X-Forwarded-Port: ", "")
        };
        let ask = |host: &str| Request::get("/").field("Host", host).field("x-forwarded-port", "1");
        for (host, port) in
            [("a.example", "80"), ("a.example:8080", "8080"), ("[::1]:81", "81"), ("a.example:", "80")]
        {
            assert_eq!(port_of(&server, &ask(host)), port, "{host}: a client is not believed");
        }
        let own = server.address().port().to_string();
        let mut client = server.connect();
        client.write("GET / HTTP/1.0\r\nX-Forwarded-Port: 1\r\n\r\n");
        let text = client.read_response().text();
        assert!(text.contains(&format!("X-Forwarded-Port: {own}\r\n")), "without a host: {text}");
        let kept = proxy_with(&origin, json!({ "forwarded_headers": false }));
        assert_eq!(port_of(&kept, &ask("a.example")), "x-forwarded-port: 1");
        let listener = json!({ "pass": "routes", "forwarded": { "source": "127.0.0.0/8",
        "protocol": "X-Forwarded-Proto" } });
        server
            .control()
            .put("/config/listeners", &json!({ server.address().to_string(): listener }))
            .expect_done();
        assert_eq!(port_of(&server, &ask("a.example:8080")), "1", "a trusted proxy is");
        let said = Request::get("/").field("Host", "inner").field("X-Forwarded-Host", "a.example:8443");
        assert_eq!(port_of(&server, &said), "8443");
        let action = json!({ "proxy": origin.url(), "request_headers": { "X-Forwarded-Port": "7" } });
        server.control().put("/config/routes", &json!([{ "action": action }])).expect_done();
        assert_eq!(port_of(&server, &ask("a.example")), "7", "the configuration has the last word");
    }
}
