//! The variables beyond Unit's, and what is said of names that are another server's.

use corral_testkit::{Address, Daemon, Origin, Request, Response, daemon, eventually, site};
use serde_json::{Value, json};

/// Answers with the value of a template.
fn put(server: &Daemon, template: &str) {
    let action =
        json!({ "return": 200, "rewrite": "/new?b=2&c", "response_headers": { "X-Value": template } });
    let steps = json!([{ "match": { "uri": "/rewritten" }, "action": action },
        { "action": { "return": 200, "response_headers": { "X-Value": template } } }]);
    let mut config = server.with_listener(json!({ "routes": { "shop": steps } }));
    for listener in config["listeners"].as_object_mut().expect("there is one").values_mut() {
        listener["pass"] = json!("routes/shop");
    }
    server.control().put("/config", &config).expect_done();
}

#[track_caller]
fn check(server: &Daemon, template: &str, request: &Request, expect: &str) {
    put(server, template);
    assert_eq!(server.send(request).expect(200).field("X-Value"), Some(expect), "{template}");
}

#[test]
fn the_query_is_there_before_and_after_rewrites() {
    let server = daemon().start_unconfigured();
    let template = "<$is_args|$args|$received_args>";
    check(&server, template, &Request::get("/?a=%20&a"), "<?|a=%20&a|a=%20&a>");
    check(&server, template, &Request::get("/"), "<||>");
    check(&server, template, &Request::get("/?"), "<||>");
    check(&server, template, &Request::get("/rewritten?a=1"), "<?|b=2&c&a=1|a=1>");
}

#[test]
fn a_query_goes_on_as_it_came() {
    let server = daemon().routes(json!([])).start();
    let redirect = |location: &str| {
        let action = json!({ "action": { "return": 302, "location": location } });
        server.control().put("/config/routes", &json!([action])).expect_done();
        let ask = |target: &str| {
            server.get(target).expect(302).field("Location").map(str::to_owned).unwrap_or_default()
        };
        [ask("/a%3Fb?x=1&y=%26"), ask("/c")]
    };
    assert_eq!(redirect("/new$is_args$args"), ["/new?x=1&y=%26", "/new"]);
    assert_eq!(
        redirect("$scheme://h:$server_port$uri?k=v&$received_args").map(|mut text| text.split_off(7)),
        [
            format!("h:{}/a%3Fb?k=v&x=1&y=%26", server.address().port()),
            format!("h:{}/c?k=v&", server.address().port())
        ]
    );
}

#[test]
fn client_and_server_have_addresses_and_names() {
    let server = daemon().start_unconfigured();
    let (ip, port) = (server.address().socket().ip(), server.address().port());
    let get = Request::get("/").field("Host", "Example.org:1");
    check(&server, "$scheme://$server_name:$server_port", &get, &format!("http://example.org:{port}"));
    check(&server, "$server_addr $route", &get, &format!("{ip} shop"));
    check(&server, "$listener", &get, &server.address().to_string());
    check(&server, "<$application$tls_alpn$tls_session_reused$upstream_addr>", &get, "<>");
    check(&server, "`${vars.server_port} ${vars.route} ${vars.scheme}`", &get, &format!("{port} shop http"));
    let nodename = rustix::system::uname().nodename().to_string_lossy().into_owned();
    check(&server, "$hostname", &get, &nodename);
    put(&server, "$remote_port");
    let response = server.send(&get).expect(200);
    assert!(response.field("X-Value").and_then(|port| port.parse::<u16>().ok()).is_some_and(|port| port > 0));
}

#[test]
fn requests_of_a_connection_are_counted() {
    let server = daemon().start_unconfigured();
    put(&server, "$connection $connection_requests");
    let words = |response: Response| {
        let text = response.field("X-Value").expect("it is there").to_owned();
        let (id, n) = text.split_once(' ').expect("two words");
        (id.parse::<u64>().expect("a number"), n.parse::<u32>().expect("a number"))
    };
    let (mut one, mut other) = (server.connect(), server.connect());
    let (first, n) = words(one.get("/"));
    assert_eq!(n, 1);
    assert_eq!(words(one.get("/")), (first, 2));
    let (second, n) = words(other.get("/"));
    assert!(second != first && n == 1, "{first} {second} {n}");
    assert_eq!(words(one.get("/")), (first, 3));
}

#[test]
fn times_have_their_forms() {
    let server = daemon().start_unconfigured();
    put(&server, "$time_iso8601 $msec");
    let response = server.get("/").expect(200);
    let (time, msec) = response.field("X-Value").and_then(|text| text.split_once(' ')).expect("two words");
    assert_eq!((time.len(), &time[10..11], &time[22..23]), (25, "T", ":"), "{time}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is later");
    let seconds: f64 = msec.parse().expect("a number");
    assert!(
        (now.as_secs_f64() - seconds).abs() < 60.0
            && msec.split_once('.').is_some_and(|(_, ms)| ms.len() == 3)
    );
}

/// The words of the one line that a request leaves in the access log.
fn logged(config: &Value, format: &str, request: &Request) -> String {
    let site = site().writable_folder("");
    let server = daemon().start_unconfigured();
    let mut config = server.with_listener(config.clone());
    config["access_log"] = json!({ "path": format!("{}/log", site.root()), "format": format });
    server.control().put("/config", &config).expect_done();
    server.send(request);
    eventually("the entry is written", || {
        let text = std::fs::read_to_string(site.path("log")).ok()?;
        Some(text.lines().next()?.to_owned())
    })
}

#[test]
fn the_end_of_a_reply_is_logged() {
    let config = json!({ "routes": [{ "action": { "return": 200, "body": "hello" } }] });
    let line = logged(&config, "$body_bytes_sent $bytes_sent $request_completion", &Request::get("/"));
    let words: Vec<_> = line.split(' ').collect();
    assert_eq!((words[0], words[2]), ("5", "OK"), "{line}");
    assert!(words[1].parse::<u64>().is_ok_and(|n| n > 50), "{line}");
    let line = logged(&config, "$uri$is_args$args $request_length", &Request::get("/p"));
    assert!(line.starts_with("/p ") && !line.ends_with('-'), "{line}");
}

#[test]
fn servers_that_were_tried_stand_one_behind_the_other() {
    let good = Origin::saying("a");
    let dead = Address::fresh();
    let servers = json!({ dead.to_string(): { "weight": 1000 }, good.address(): {} });
    let config = json!({ "upstreams": { "u": { "servers": servers, "balance": "round_robin" } },
        "routes": [{ "action": { "pass": "upstreams/u" } }] });
    let format = "$upstream_addr|$upstream_status|$upstream_connect_time|$upstream_header_time|$upstream_response_time";
    let line = logged(&config, format, &Request::get("/"));
    let columns: Vec<_> = line.split('|').collect();
    assert_eq!(columns[0], format!("{dead}, {}", good.address()), "{line}");
    assert_eq!(columns[1], "-, 200", "{line}");
    assert!(columns[2].starts_with("-, 0.") && columns[3].starts_with("-, 0."), "{line}");
    let times: Vec<_> = columns[4].split(", ").collect();
    assert!(times.len() == 2 && times.iter().all(|time| time.parse::<f64>().is_ok()), "{line}");
}

#[test]
fn a_server_that_was_not_asked_has_no_name() {
    let config = json!({ "routes": [{ "action": { "return": 200 } }] });
    assert_eq!(logged(&config, "$upstream_addr|$upstream_status", &Request::get("/")), "-|-");
}

#[test]
fn another_servers_name_is_answered_with_ours() {
    let server = daemon().routes(json!([])).start();
    let refuse = |template: &str, details: &[&str]| {
        let config = json!([{ "action": { "return": 200, "response_headers": { "X": template } } }]);
        let detail =
            server.control().put("/config/routes", &config).expect_refused(400, "Invalid configuration.");
        details.iter().for_each(|expect| assert!(detail.contains(*expect), "{template}: {detail}"));
    };
    let ours = |name: &str| format!("Corral's name of it is \"{name}\".");
    refuse("$request_method", &["Unknown variable \"request_method\" in the \"X\" value.", &ours("$method")]);
    refuse("$http_x_forwarded_for", &[&ours("$header_x_forwarded_for")]);
    refuse("$query_string", &[&ours("$args")]);
    refuse("$ssl_client_s_dn", &[&ours("$tls_client_subject")]);
    refuse("$upstream_cache_status", &["There is no cache of responses."]);
    refuse("$1", &["Invalid variable at position 0 in the \"X\" value.", "\"$dollar\""]);
    refuse("$cookie_1", &["Unknown variable \"cookie_\"", "\"${cookie_x1}\""]);
}
