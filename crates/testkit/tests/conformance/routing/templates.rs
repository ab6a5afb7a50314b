//! Variables, templates and JavaScript (section 14).

use corral_testkit::{Daemon, Request, Response, daemon};
use serde_json::{Value, json};

use super::steps::put_step;

const REFUSED: &str = "Invalid configuration.";

/// Answers with the value of a template.
fn answering(template: &str, settings: Value) -> Daemon {
    let server = daemon().start_unconfigured();
    configure(&server, template, settings);
    server
}

fn configure(server: &Daemon, template: &str, settings: Value) {
    let action = json!({ "return": 200, "response_headers": { "X-Value": template } });
    let config = json!({ "settings": settings, "routes": [{ "action": action }] });
    server.control().put("/config", &server.with_listener(config)).expect_done();
}

/// A request that has something of everything.
fn rich() -> Request {
    let request = Request::get("/p%20q//./x?a=1&a=2&A=3&b=x+y%21").field("Host", "Example.COM.:80");
    let request = request.field("X-Foo", "first").field("x-foo", "second").field("User-Agent", "UA");
    request.field("Cookie", "c=1; c=2; d=e")
}

#[track_caller]
fn check(server: &Daemon, template: &str, expected: &str) {
    configure(server, template, json!({}));
    let response = server.send(&rich()).expect(200);
    assert_eq!(value_of(&response), expected, "{template}");
}

fn value_of(response: &Response) -> &str {
    response.field("X-Value").unwrap_or("no such field")
}

#[test]
fn a_request_has_one_id_and_its_times() {
    let server = answering("$request_id $request_id $request_time", json!({}));
    let first = server.get("/").expect(200);
    let words: Vec<_> = value_of(&first).split(' ').map(str::to_owned).collect();
    assert_eq!(words[0], words[1]);
    assert!(words[0].len() == 32 && words[0].bytes().all(|byte| byte.is_ascii_hexdigit()), "{words:?}");
    let (seconds, millis) = words[2].split_once('.').expect("seconds and thousandths");
    assert!(seconds.parse::<u64>().is_ok() && millis.len() == 3, "{words:?}");
    assert_ne!(value_of(&server.get("/").expect(200)), value_of(&first));
    let server = answering("$time_local", json!({}));
    let time = value_of(&server.get("/").expect(200)).to_owned();
    assert_eq!((time.len(), &time[2..3], &time[6..7], &time[11..12]), (26, "/", "/", ":"), "{time}");
}

#[test]
fn a_variable_that_does_not_exist_is_refused() {
    let server = daemon().start_unconfigured();
    let refuse = |template: &str, detail: &str| {
        let config = json!({ "routes": [{ "action": { "return": 200, "location": template } }] });
        let found = server.control().put("/config", &config).expect_refused(400, REFUSED);
        assert!(found.starts_with(detail), "{template}: {found}");
    };
    refuse("$foo", "Unknown variable \"foo\" in the \"location\" value.");
    for prefix in ["header_", "arg_", "cookie_", "response_header_"] {
        let detail = format!("Unknown variable \"{prefix}\" in the \"location\" value.");
        refuse(&format!("${prefix}"), &detail);
    }
    refuse("a$", "Invalid variable at position 1 in the \"location\" value.");
    refuse("ab$1", "Invalid variable at position 2 in the \"location\" value.");
    refuse("${method", "Invalid variable at position 0 in the \"location\" value.");
    refuse("${}", "Invalid variable at position 0 in the \"location\" value.");
}

/// Options: settings.js_module
#[test]
fn modules_are_in_scope_when_the_settings_name_them() {
    let server = daemon().start_unconfigured();
    let source = "export default { greet(name) { return 'hello ' + name } }";
    server.control().send(&Request::new("PUT", "/js_modules/m").body(source)).0.expect(200);
    for settings in [json!({ "js_module": "m" }), json!({ "js_module": ["m"] })] {
        configure(&server, "`${m.greet(args.n)}`", settings);
        assert_eq!(value_of(&server.get("/?n=you").expect(200)), "hello you");
    }
    configure(&server, "`${m.greet(args.n)}`", json!({}));
    server.get("/?n=you").expect(500);
    let refuse = |modules: Value, detail: &str| {
        let config = json!({ "settings": { "js_module": modules } });
        assert_eq!(server.control().put("/config", &config).expect_refused(400, REFUSED), detail);
    };
    refuse(json!("none"), "JS module \"none\" is not found.");
    refuse(json!([1]), "The \"js_module\" array must contain only string values.");
}

#[test]
fn a_script_that_is_no_script_is_refused() {
    let server = daemon().start_unconfigured();
    for script in ["`${`", "`${a b}`", "`abc"] {
        let config = json!({ "routes": [{ "action": { "return": 200, "location": script } }] });
        let detail = server.control().put("/config", &config).expect_refused(400, REFUSED);
        assert!(detail.ends_with("in the \"location\" value."), "{script}: {detail}");
    }
}

#[test]
fn an_exception_costs_one_request() {
    let server = answering("`${args.a.b.c}`", json!({}));
    server.get("/").expect(500);
    server.expect_log("js exception: ");
    for (option, action) in [
        ("location", json!({ "return": 301, "location": "`${location.x}`" })),
        ("rewrite", json!({ "return": 200, "rewrite": "`${rewrite.x}`" })),
        ("share", json!({ "share": "`${share.x}`" })),
        ("pass", json!({ "pass": "`${pass.x}`" })),
    ] {
        put_step(&server, &json!({ "action": action }));
        server.get("/").expect(500);
        let about = format!("js exception: ReferenceError: {option} is not defined");
        server.expect_log(&about);
        let log = server.log();
        let line = log.lines().find(|line| line.contains(&about)).expect("it was there");
        assert!(line.contains(" [error] "), "{line}");
    }
    assert_eq!(value_of(&server.get("/?a=x").expect(500)), "no such field");
    let server = answering("`${(() => { throw 'x' })()}`", json!({}));
    for _ in 0..3 {
        server.get("/").expect(500);
    }
}

/// Options: settings.js_limits.memory, settings.js_limits.timeout_ms
#[test]
fn a_script_that_takes_too_much_is_ended() {
    let limits = json!({ "js_limits": { "memory": 4 << 20, "timeout_ms": 20 } });
    let server = daemon().start_unconfigured();
    for greedy in ["`${(() => { while (1); })()}`", "`${'x'.repeat(1e8)}`", "`${(f => f(f))(f => f(f))}`"] {
        configure(&server, greedy, limits.clone());
        server.get("/").expect(500);
        // The next client is served.
        configure(&server, "`${uri}`", limits.clone());
        assert_eq!(value_of(&server.get("/next").expect(200)), "/next");
    }
}

#[test]
fn requests_share_no_state() {
    let server = answering("`${(globalThis.n = (globalThis.n || 0) + 1)}`", json!({}));
    let answers: Vec<_> = (0..3).map(|_| server.get("/").status).collect();
    assert!(answers.iter().all(|status| *status == answers[0]), "{answers:?}");
    let server = answering(
        "`${Object.prototype.leak} ${(() => { try { Object.prototype.leak = 1 } catch {} })()}`",
        json!({}),
    );
    for _ in 0..3 {
        assert_eq!(value_of(&server.get("/").expect(200)), "undefined undefined");
    }
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn variables_have_their_values() {
        let server = daemon().start_unconfigured();
        check(&server, "$dollar${dollar}", "$$");
        check(&server, "$method", "GET");
        check(&server, "$request_line", "GET /p%20q//./x?a=1&a=2&A=3&b=x+y%21 HTTP/1.1");
        check(&server, "$request_uri", "/p%20q//./x?a=1&a=2&A=3&b=x+y%21");
        check(&server, "$uri", "/p q/x");
        check(&server, "$host", "example.com");
        check(&server, "$remote_addr", "127.0.0.1");
        check(&server, "$header_user_agent-$header_X_Foo-$header_none", "UA-first-");
        check(&server, "$arg_a $arg_A $arg_b", "2 3 x y!");
        check(&server, "$cookie_c$cookie_d$cookie_C", "1e");
        check(&server, "<${method}x$method1>", "<GETxGET1>");
        check(&server, "a`b", "a`b");
    }

    #[test]
    fn scripts_see_the_request() {
        let server = daemon().start_unconfigured();
        check(&server, "`${uri}|${host}|${remoteAddr}`", "/p q/x|example.com|127.0.0.1");
        check(&server, "`${args.a}|${args.A}|${args.b}|${args.none}`", "1,2|3|x y!|undefined");
        check(&server, "`${headers['User-Agent']}|${headers['user-agent']}`", "UA|undefined");
        check(&server, "`${cookies.d}|${Object.keys(cookies)}`", "e|c,d");
        check(&server, "`${vars.method}|${vars.arg_a}|${vars.header_x_foo}`", "GET|2|first");
        check(&server, "`${1 + 1} ${[3, 1].sort()} ${'a'.toUpperCase()}`", "2 1,3 A");
        check(&server, "`a` + `b`", "ab");
    }
}
