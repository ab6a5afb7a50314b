//! Beyond Unit: `errors`, `request_headers` and error pages as JSON.

use corral_testkit::{Request, daemon, php_app, site};
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

/// Options: routes[].action.request_headers.{name}
#[test]
fn applications_see_changed_fields() {
    let script = "<?php echo $_SERVER['HTTP_X_NEW'] ?? '-', ' ', $_SERVER['HTTP_X_GONE'] ?? '-', ' ', $_SERVER['HTTP_X_OLD'] ?? '-';";
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
