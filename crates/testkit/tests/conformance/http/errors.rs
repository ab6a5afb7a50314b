//! Beyond Unit: `errors`, `request_headers` and error pages as JSON.

use corral_testkit::{Origin, Request, daemon, php_app, site};
use serde_json::json;

/// Options: routes[].action.errors.{status}, routes[].action.errors.intercept
#[test]
fn errors_have_actions() {
    let files = site()
        .file("404.html", "not here")
        .file("index.php", "<?php http_response_code((int) $_GET['s']); echo 'from the script';");
    let page = json!({ "share": files.path("404.html") });
    let errors = json!({ "404": page, "4xx": { "return": 418 }, "5xx": { "share": "/nonexistent" } });
    let intercepting = json!({ "intercept": true, "404": page });
    let server = daemon()
        .routes(json!([
            { "match": { "uri": "/app" }, "action": { "pass": "applications/php", "errors": errors } },
            { "match": { "uri": "/kept" }, "action": { "pass": "applications/php", "errors": intercepting } },
            { "match": { "uri": "/teapot" }, "action": { "return": 410, "errors": errors } },
            { "match": { "uri": "/broken" }, "action": { "return": 503, "errors": errors } },
            { "match": { "uri": "/plain" }, "action": { "return": 404 } },
            { "action": { "share": "/nonexistent$uri", "errors": errors } }
        ]))
        .application(php_app(&files).script("index.php"))
        .start();
    server.get("/none").expect(404).expect_body("not here").expect_field("Content-Type", "text/html");
    server
        .send(&Request::get("/none").field("If-Modified-Since", "Thu, 01 Jan 2099 00:00:00 GMT"))
        .expect(404);
    // Another status for the page is that of the action.
    server.get("/teapot").expect(418).expect_text("Error 418");
    server.send(&Request::post("/none")).expect(418);
    // An error of the page leads to no other page.
    server.get("/broken").expect(503).expect_text("Error 503");
    server.get("/plain").expect(404).expect_text("Error 404");
    // What an application answers stays, unless asked otherwise.
    server.get("/app?s=404").expect(404).expect_body("from the script");
    server.get("/kept?s=404").expect(404).expect_body("not here");
    server.get("/kept?s=500").expect(500).expect_body("from the script");
    server.get("/kept?s=200").expect(200).expect_body("from the script");
}

/// Options: routes[].action.errors.intercept
#[test]
fn errors_of_other_servers_have_actions_too() {
    let origin = Origin::answering("HTTP/1.1 404 Not Found\r\nX-Up: 1\r\nContent-Length: 6\r\n\r\ntheirs");
    let files = site().file("404.html", "ours");
    let page = json!({ "share": files.path("404.html") });
    let proxy = |errors| json!({ "proxy": origin.url(), "errors": errors });
    let server = daemon()
        .config(json!({
            "settings": { "listen_threads": 1 },
            "routes": [
                { "match": { "uri": "/theirs" }, "action": proxy(json!({ "404": page })) },
                { "action": proxy(json!({ "intercept": true, "404": page })) }
            ]
        }))
        .start();
    for _ in 0..3 {
        server.get("/").expect(404).expect_body("ours").expect_no_field("X-Up");
        let mut client = server.connect();
        client.send(&Request::post("/").body("abc")).expect(404).expect_body("ours");
        client.get("/theirs").expect(404).expect_body("theirs").expect_field("X-Up", "1");
    }
    assert_eq!(origin.n_connections(), 1, "a response that is dropped leaves its connection of use");
}

/// Options: routes[].action.request_headers.{name}
#[test]
fn applications_see_changed_fields() {
    let script = "<?php echo $_SERVER['HTTP_X_NEW'] ?? '-', ' ', $_SERVER['HTTP_X_GONE'] ?? '-', ' ', \
        $_SERVER['HTTP_X_OLD'] ?? '-';";
    let scripts = site().file("index.php", script);
    let headers = json!({ "X-New": "$method $arg_a", "x-gone": null, "X-OLD": "changed" });
    let server = daemon()
        .routes(json!([{ "action": { "pass": "applications/php", "request_headers": headers } }]))
        .application(php_app(&scripts).script("index.php"))
        .start();
    let request = Request::get("/?a=b").field("X-Gone", "1").field("X-Old", "1").field("x-old", "2");
    server.send(&request).expect(200).expect_body("GET b - changed");
}

/// Options: settings.http.error_format
#[test]
fn error_pages_may_be_json() {
    let server = daemon().http(json!({ "error_format": "negotiated" })).routes(json!([])).start();
    let with = |accept: &str| server.send(&Request::get("/").field("Accept", accept)).expect(404);
    with("application/json")
        .expect_field("Content-Type", "application/problem+json")
        .expect_body(r#"{"status":404,"title":"Not Found"}"#);
    with("text/html,application/json;q=0.9")
        .expect_field("Content-Type", "text/html")
        .expect_text("Error 404");
    with("application/problem+json, text/html;q=0.9")
        .expect_field("Content-Type", "application/problem+json");
    server.get("/").expect(404).expect_field("Content-Type", "text/html").expect_field("Vary", "Accept");
}

#[test]
fn what_is_wrong_is_refused() {
    let server = daemon().routes(json!([])).start();
    for (options, detail) in [
        (json!({ "errors": { "200": { "return": 200 } } }), "must be an error status from 400 to 599"),
        (json!({ "errors": { "404": 1 } }), "The \"404\" value must be an object"),
        (json!({ "errors": { "intercept": 1 } }), "The \"intercept\" value must be a boolean"),
        (
            json!({ "request_headers": { "Connection": "x" } }),
            "The \"Connection\" request header value is not supported",
        ),
        (
            json!({ "request_headers": { "A": 1 } }),
            "The \"A\" request header value must either be a string or a null",
        ),
    ] {
        let mut action = options;
        action["return"] = json!(200);
        let reply = server.control().put("/config/routes", &json!([{ "action": action }]));
        let found = reply.expect_refused(400, "Invalid configuration.");
        assert!(found.contains(detail), "{action}: {found}");
    }
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// An action that stands in for an error sees the request without its body, however much of that was read.
    #[test]
    fn what_stands_in_gets_no_body() {
        let script = "<?php if ($_SERVER['REQUEST_URI'] === '/fails') { http_response_code(500); exit; }
        echo $_SERVER['REQUEST_METHOD'], ' ', $_SERVER['CONTENT_LENGTH'], ' ', strlen(file_get_contents('php://input'));";
        let scripts = site().file("index.php", script).file("file.txt", "x");
        let echo = Origin::echo();
        let errors = json!({ "intercept": true, "500": { "proxy": echo.url() }, "4xx": { "pass": "applications/php" },
        "502": { "pass": "applications/php" } });
        let server = daemon()
        .http(json!({ "max_body_size": 1000 }))
        .routes(json!([
            { "match": { "uri": "/file" }, "action": { "share": scripts.path("file.txt"), "errors": errors } },
            { "match": { "uri": "/gone" }, "action": { "proxy": "http://127.0.0.1:1", "errors": errors } },
            { "action": { "pass": "applications/php", "errors": errors } }
        ]))
        .application(php_app(&scripts).script("index.php"))
        .start();
        let mut client = server.connect();
        for (target, status) in [("/file", 405), ("/gone", 502)] {
            client.send(&Request::post(target).body("hello")).expect(status).expect_body("POST 0 0");
        }
        let text = client.send(&Request::post("/fails").body("hello")).expect(500).text();
        assert!(text.contains("Content-Length: 0\r\n") && text.ends_with("\r\n\r\n"), "{text}");
        client.get("/file").expect(200);
        // One that is too large is not read by anybody.
        let large = Request::post("/").body("x".repeat(1001));
        server.send(&large).expect(413).expect_body("POST 0 0").expect_field("Connection", "close");
    }

    /// Another page does not take away what a status is nothing without (RFC 9110 sections 15.5.2 and 15.5.22).
    #[test]
    fn statuses_keep_what_they_ask_for() {
        let asking = Origin::answering(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nWWW-Authenticate: Bearer\r\n\
         X-Secret: 1\r\nContent-Length: 2\r\n\r\nno",
        );
        let upgrading = Origin::answering(
            "HTTP/1.1 426 Upgrade Required\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\nno",
        );
        let page = site().file("401.html", "who are you?");
        let errors = json!({ "intercept": true, "401": { "share": page.path("401.html") } });
        let server = daemon()
            .routes(json!([
                { "match": { "uri": "/upgrade" }, "action": { "proxy": upgrading.url() } },
                { "action": { "proxy": asking.url(), "errors": errors } }
            ]))
            .start();
        let reply = server.get("/").expect(401).expect_body("who are you?").expect_no_field("X-Secret");
        assert_eq!(reply.all("WWW-Authenticate").collect::<Vec<_>>(), ["Basic realm=\"a\"", "Bearer"]);
        let mut client = server.connect();
        client.write("GET /upgrade HTTP/1.1\r\nHost: a\r\n\r\n");
        let reply = client.read_response().expect(426).expect_body("no").expect_field("Upgrade", "h2c");
        assert!(reply.all("Connection").any(|option| option == "Upgrade"), "{reply}");
    }
}
