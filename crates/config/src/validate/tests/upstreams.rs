//! `upstreams`: what the options mean, and what is said about wrong ones.

use std::time::Duration;

use super::{check_problems, config};
use crate::route::{ActionKind, Destination};
use crate::table::Key;
use crate::upstream::{Balance, HealthCheck, PassiveHealth, ProxyOptions, Retries, WEIGHT_ONE};

/// One upstream with these members in addition to an empty `servers`.
#[track_caller]
fn check_option(option: &str, pointer: &str, detail: &str) {
    let document = format!(r#"{{"upstreams": {{"one": {{"servers": {{}}, {option}}}}}}}"#);
    check_problems(&document, &[(&format!("/upstreams/one/{pointer}"), detail)]);
}

/// One server with this weight.
#[track_caller]
fn check_weight(weight: &str, expect: u64) {
    let document =
        format!(r#"{{"upstreams": {{"one": {{"servers": {{"127.0.0.1:1": {{"weight": {weight}}}}}}}}}}}"#);
    assert_eq!(config(&document).upstreams.values()[0].servers[0].weight, expect, "{weight}");
}

#[test]
fn defaults_are_those_of_unit() {
    let config = config(
        r#"{"upstreams": {"one": {"servers": {"127.0.0.1:8080": {}, "unix:/s": {"weight": 2}}}, "empty": {"servers": {}}},
            "listeners": {"*:80": {"pass": "upstreams/empty"}}}"#,
    );
    let one = &config.upstreams.values()[0];
    assert_eq!(one.name, "one");
    let servers: Vec<_> =
        one.servers.iter().map(|server| (server.origin.to_string(), server.weight)).collect();
    assert_eq!(
        servers,
        [("http://127.0.0.1:8080".to_owned(), WEIGHT_ONE), ("http://unix:/s".to_owned(), 2 * WEIGHT_ONE)]
    );
    assert_eq!((&one.balance, one.retries, &one.health), (&Balance::RoundRobin, Retries::default(), &None));
    assert_eq!((one.passive, &one.options), (PassiveHealth::default(), &ProxyOptions::default()));
    assert_eq!(config.listeners[0].pass, Destination::Upstream(Key::nth(1)));
    assert!(config.upstreams.values()[1].servers.is_empty());
}

#[test]
fn every_option_is_read() {
    let config = config(
        r#"{"upstreams": {"one": {
            "servers": {"https://backend:443": {"weight": 0.5}, "backend:80": {"http2": false}},
            "balance": {"hash": "$remote_addr"},
            "retries": 0, "retry_timeout": 4, "max_fails": 3, "fail_timeout": 20,
            "health": {"path": "/up?x", "host": "h:1", "interval": 1, "timeout": 2, "expect": [204, "300-310"], "rises": 4, "falls": 5},
            "timeouts": {"connect": 1, "send": 2, "response": 3, "read": 4, "tunnel": 5},
            "keepalive": {"connections": 6, "idle_timeout": 7, "requests": 8},
            "tls": {"verify": false, "server_name": "name"},
            "forwarded_headers": false, "http2": true
        }}}"#,
    );
    let one = &config.upstreams.values()[0];
    let second = Duration::from_secs(1);
    assert!(matches!(one.balance, Balance::Hash(_)));
    assert_eq!(one.retries, Retries { most: 0, timeout: Some(4 * second) });
    assert_eq!(one.passive, PassiveHealth { max_fails: 3, fail_timeout: 20 * second });
    let health = HealthCheck {
        path: "/up?x".to_owned(),
        host: Some("h:1".to_owned()),
        interval: second,
        timeout: 2 * second,
        expect: vec![204..=204, 300..=310],
        rises: 4,
        falls: 5,
    };
    assert_eq!(one.health, Some(health));
    let timeouts = &one.options.timeouts;
    let read = [timeouts.connect, timeouts.send, timeouts.response, timeouts.read, timeouts.tunnel];
    assert_eq!(read, [1, 2, 3, 4, 5].map(Duration::from_secs));
    let keepalive = &one.options.keepalive;
    assert_eq!((keepalive.connections, keepalive.idle_timeout, keepalive.requests), (6, 7 * second, 8));
    let tls = &one.options.tls;
    assert!(!tls.verify && one.options.hide_client);
    assert_eq!((tls.ca.as_deref(), tls.server_name.as_deref()), (None, Some("name")));
    let speaks_http2: Vec<_> = one.servers.iter().map(|server| one.options_for(server).http2).collect();
    assert_eq!(speaks_http2, [true, false], "a server's own word is the last one");
}

#[test]
fn weights_are_fractions_of_each_other() {
    check_weight("0", 0);
    check_weight("1", WEIGHT_ONE);
    check_weight("0.25", WEIGHT_ONE / 4);
    check_weight("1e-9", 1);
    check_weight("1000000", 1_000_000 * WEIGHT_ONE);
}

#[test]
fn servers_are_checked() {
    let servers = |text: &str| format!(r#"{{"upstreams": {{"one": {{"servers": {{{text}}}}}}}}}"#);
    let at = "/upstreams/one/servers";
    for (name, escaped) in
        [("127.0.0.1", "127.0.0.1"), ("a:80/x", "a:80~1x"), ("", ""), ("ftp://a:1", "ftp:~1~1a:1")]
    {
        let detail = format!("The \"{name}\" is not valid server address.");
        let pointer = format!("{at}/{escaped}");
        check_problems(&servers(&format!(r#""{name}": {{}}"#)), &[(&pointer, &detail)]);
    }
    let server = format!("{at}/127.0.0.1:1");
    let weight = format!("{server}/weight");
    check_problems(
        &servers(r#""127.0.0.1:1": {"weight": -1}"#),
        &[(&weight, "The \"weight\" number must be positive.")],
    );
    check_problems(
        &servers(r#""127.0.0.1:1": {"weight": 1000000.5}"#),
        &[(&weight, "The \"weight\" number must not exceed 1,000,000")],
    );
    check_problems(
        &servers(r#""127.0.0.1:1": {"weight": "1"}"#),
        &[(
            &weight,
            "The \"weight\" value must be either an integer number or a fractional number, but not a string.",
        )],
    );
    check_problems(
        &servers(r#""127.0.0.1:1": 1"#),
        &[(&server, "The \"127.0.0.1:1\" value must be an object, but not an integer number.")],
    );
    check_problems(
        &servers(r#""127.0.0.1:1": {"wieght": 1}"#),
        &[(&format!("{server}/wieght"), "Unknown parameter \"wieght\".")],
    );
}

#[test]
fn an_upstream_needs_servers() {
    let detail = "The \"one\" upstream must contain \"servers\" object value.";
    check_problems(r#"{"upstreams": {"one": {}}}"#, &[("/upstreams/one", detail)]);
    check_problems(
        r#"{"upstreams": {"one": []}}"#,
        &[("/upstreams/one", "The \"one\" value must be an object, but not an array.")],
    );
    check_problems(
        r#"{"upstreams": {"one": {"servers": []}}}"#,
        &[("/upstreams/one/servers", "The \"servers\" value must be an object, but not an array.")],
    );
}

#[test]
fn options_are_checked() {
    let balance = "The \"balance\" value must be \"round_robin\", \"least_connections\", \"least_time\", \
                   \"random_two\", or an object with \"hash\".";
    check_option(r#""balance": "round-robin""#, "balance", balance);
    check_option(r#""balance": {}"#, "balance", "Required parameter \"hash\" is missing.");
    check_option(
        r#""balance": {"hash": "$x"}"#,
        "balance/hash",
        "Unknown variable \"x\" in the \"hash\" value.",
    );
    check_option(
        r#""retry_timeout": -1"#,
        "retry_timeout",
        "The \"retry_timeout\" number must not be negative.",
    );
    check_option(r#""retries": -1"#, "retries", "The \"retries\" number must not be negative.");
    check_option(
        r#""timeouts": {"read": 0}"#,
        "timeouts/read",
        "The \"read\" number must be equal to or greater than 1.",
    );
    check_option(
        r#""keepalive": {"connections": -1}"#,
        "keepalive/connections",
        "The \"connections\" number must not be negative.",
    );
    check_option(r#""tls": {"ca": ""}"#, "tls/ca", "The \"ca\" string must not be empty.");
    let path = "The \"path\" string must begin with \"/\" and be encoded like a URI.";
    check_option(r#""health": {"path": "up"}"#, "health/path", path);
    check_option(r#""health": {"path": "/a b"}"#, "health/path", path);
    let expect = "The \"expect\" value must be statuses like 200 or \"200-399\".";
    for wrong in ["99", "1000", r#""2xx""#, r#""300-200""#] {
        check_option(&format!(r#""health": {{"expect": {wrong}}}"#), "health/expect", expect);
    }
    check_option(r#""health": {"expect": [true]}"#, "health/expect/0", expect);
}

/// The only action of the only step.
#[track_caller]
fn check_proxy(action: &str, expect: &[(&str, &str)]) {
    let document = format!(r#"{{"routes": [{{"action": {action}}}]}}"#);
    let expect: Vec<_> =
        expect.iter().map(|(pointer, detail)| (format!("/routes/0/action{pointer}"), *detail)).collect();
    let expect: Vec<_> = expect.iter().map(|(pointer, detail)| (pointer.as_str(), *detail)).collect();
    check_problems(&document, &expect);
}

#[test]
fn a_proxy_is_a_group_of_one() {
    let config = config(
        r#"{"routes": [
            {"action": {"proxy": "http://127.0.0.1:1"}},
            {"action": {"proxy": "http://127.0.0.1:1", "proxy_options": {"timeouts": {"read": 1}}}},
            {"action": {"proxy": "http://127.0.0.1:1"}}
        ]}"#,
    );
    let kinds = config.routes.values()[0].steps().iter().map(|step| match step.action.kind {
        ActionKind::Proxy(proxy) => proxy,
        ref other => panic!("{other:?}"),
    });
    assert_eq!(kinds.collect::<Vec<_>>(), [0, 1, 0].map(Key::nth), "equal ones share their connections");
    assert_eq!(config.tables.proxies.len(), 2);
    assert_eq!(config.tables.proxies.values()[0].options, ProxyOptions::default());
    assert_eq!(config.tables.proxies.values()[1].options.timeouts.read, Duration::from_secs(1));
}

#[test]
fn proxies_are_checked() {
    check_proxy(
        r#"{"proxy": "http://blah"}"#,
        &[("/proxy", "The \"proxy\" address is invalid \"http://blah\"")],
    );
    check_proxy(r#"{"proxy": ""}"#, &[("/proxy", "The \"proxy\" address is invalid \"\"")]);
    check_proxy(
        r#"{"proxy": 1}"#,
        &[("/proxy", "The \"proxy\" value must be a string, but not an integer number.")],
    );
    check_proxy(
        r#"{"proxy": "http://127.0.0.1:1", "index": "x"}"#,
        &[("/index", "Unknown parameter \"index\".")],
    );
    check_proxy(
        r#"{"return": 200, "proxy_options": {}}"#,
        &[("/proxy_options", "Unknown parameter \"proxy_options\".")],
    );
    check_proxy(
        r#"{"proxy": "http://127.0.0.1:1", "proxy_options": {"tls": {"ca": "missing"}, "weight": 1}}"#,
        &[
            ("/proxy_options/tls/ca", "Certificate \"missing\" is not found."),
            ("/proxy_options/weight", "Unknown parameter \"weight\"."),
        ],
    );
    check_proxy(
        r#"{"proxy": "http://127.0.0.1:1", "return": 200}"#,
        &[(
            "",
            "The \"action\" object must have just one of \"pass\", \"return\", \"share\", or \"proxy\" options set.",
        )],
    );
}
