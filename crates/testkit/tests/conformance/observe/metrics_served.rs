//! Metrics for collectors that do not reach the control API: `settings.metrics`, and the action `metrics`.

use corral_testkit::{Address, Client, Daemon, Request, daemon, eventually};
use serde_json::{Value, json};

const TOKEN: &str = "0123456789abcdef-of-metrics";

/// A daemon whose metrics have a listener of their own, with these options beside `listen`.
fn with_listener(mut options: Value) -> (Daemon, Address) {
    let address = Address::fresh();
    options["listen"] = json!(address.to_string());
    let server = daemon().routes(json!([{ "action": { "return": 204 } }])).start();
    server.control().put("/config/settings", &json!({ "metrics": options })).expect_done();
    (server, address)
}

/// Collectors speak HTTP/1 without TLS.
#[track_caller]
fn connect(address: Address) -> Client {
    Client::try_connect_http1(address.socket()).expect("it listens")
}

#[track_caller]
fn send(address: Address, request: &Request) -> corral_testkit::Response {
    connect(address).send(request)
}

/// Options: settings.metrics, settings.metrics.listen
#[test]
fn a_listener_of_their_own_serves_metrics_and_nothing_else() {
    let (server, address) = with_listener(json!({}));
    server.get("/").expect(204);
    let reply = send(address, &Request::get("/metrics")).expect(200);
    reply
        .expect_field("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        .expect_text("corral_requests_total");
    let open = Request::get("/metrics?x=1").field("Accept", "application/openmetrics-text");
    assert!(send(address, &open).expect(200).text().ends_with("# EOF\n"));
    send(address, &Request::new("HEAD", "/metrics")).expect(200).expect_body("");
    for target in ["/", "/config", "/metrics/", "/metrics/../status", "/status", "/metrics/x"] {
        send(address, &Request::get(target)).expect(404);
    }
    for method in ["POST", "PUT", "DELETE"] {
        send(address, &Request::new(method, "/metrics").body("{}")).expect(405);
    }
    server.control().delete("/config/settings/metrics").expect_done();
    eventually("nothing listens", || Client::try_connect(address.socket()).is_err().then_some(()));
}

/// Options: settings.metrics.token
#[test]
fn collectors_show_the_token() {
    let (_server, address) = with_listener(json!({ "token": TOKEN }));
    let with = |value: &str| Request::get("/metrics").field("Authorization", value);
    send(address, &with(&format!("Bearer {TOKEN}"))).expect(200);
    let refused = [
        Request::get("/metrics"),
        Request::get("/"),
        with(TOKEN),
        with("Bearer"),
        with("Bearer "),
        with(&format!("Bearer {TOKEN}x")),
        with(&format!("Bearer {}", &TOKEN[1..])),
        with(&format!("Bearer {TOKEN}")).field("Authorization", &format!("Bearer {TOKEN}")),
    ];
    for request in refused {
        send(address, &request).expect(401).expect_field("WWW-Authenticate", "Bearer realm=\"metrics\"");
    }
}

/// The usual guards hold for an action of a route, and the path is anything.
///
/// Options: …action.metrics
#[test]
fn an_action_serves_metrics_behind_what_guards_it() {
    let routes = json!([
        { "match": { "uri": "/figures" }, "action": { "metrics": true, "limit_requests": { "rate": "1/h", "burst": 1 } } },
        { "match": { "uri": "/far", "source": "192.0.2.1" }, "action": { "metrics": true } },
        { "action": { "return": 204 } },
    ]);
    let server = daemon().routes(routes).start();
    server.get("/figures").expect(200).expect_text("corral_requests_total");
    server.get("/far").expect(204);
    eventually("the limit refuses", || (server.get("/figures").status == 429).then_some(()));
    server.send(&Request::post("/figures").body("x")).expect(429);
}

/// Options: settings.metrics.without
#[test]
fn series_are_left_out_by_label() {
    let (server, address) = with_listener(json!({ "without": ["step", "listener"] }));
    server.get("/").expect(204);
    let text = send(address, &Request::get("/metrics")).expect(200).text();
    let of_control = server.control().send(&Request::get("/metrics")).0.expect(200).text();
    for text in [text, of_control] {
        assert!(
            text.contains("corral_requests_total") && !text.contains("step=") && !text.contains("listener=")
        );
    }
}

/// A control process that is started again answers the next collector.
#[test]
fn a_collector_meets_the_end_of_the_control_process() {
    let (server, address) = with_listener(json!({}));
    send(address, &Request::get("/metrics")).expect(200);
    server.kill(server.expect_processes("controller", 1)[0]);
    eventually("metrics are there again", || {
        let reply = send(address, &Request::get("/metrics"));
        assert!([200, 503].contains(&reply.status), "{}", reply.status);
        (reply.status == 200).then_some(())
    });
    server.get("/").expect(204);
}

/// Collectors that read nothing are bounded, and keep neither clients nor the control API waiting.
#[test]
fn collectors_that_read_nothing_keep_nobody_waiting() {
    let (server, address) = with_listener(json!({}));
    let mut silent: Vec<_> = (0..100).map(|_| connect(address)).collect();
    for client in &mut silent {
        client.write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50));
    }
    for _ in 0..10 {
        server.get("/").expect(204);
        server.control().get("/status/requests").0.expect(200);
    }
    drop(silent);
    eventually("there is room again", || {
        (send(address, &Request::get("/metrics")).status == 200).then_some(())
    });
}

#[track_caller]
fn check_refused(settings: Value, detail: &str) {
    let server = daemon().routes(json!([])).start();
    let reply = server.control().put("/config/settings", &settings);
    let told = reply.expect_refused(400, "Invalid configuration.");
    assert!(told.contains(detail), "{told}");
}

#[test]
fn wrong_settings_are_refused_with_advice() {
    check_refused(
        json!({ "metrics": { "listen": "127.0.0.1:1", "token": "short" } }),
        "openssl rand -hex 32",
    );
    check_refused(
        json!({ "metrics": { "listen": "nowhere" } }),
        "The listener address \"nowhere\" is invalid.",
    );
    check_refused(json!({ "metrics": { "token": TOKEN } }), "of no use without \"listen\"");
    check_refused(json!({ "metrics": { "without": ["stepp"] } }), "No metric has the label \"stepp\".");
    check_refused(
        json!({ "dashboard": { "listen": "0.0.0.0:8443", "token": TOKEN } }),
        "must have the \"tls\" option",
    );
    check_refused(
        json!({ "dashboard": { "listen": "127.0.0.1:8443" } }),
        "Required parameter \"token\" is missing.",
    );
}
