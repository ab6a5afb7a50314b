//! `$_SERVER` beside the request: the environment, and `params`.

use corral_testkit::{PhpApp, Request, Site, daemon, php_app, site};
use serde_json::{Value, json};

const SHOW: &str = "echo json_encode([$_SERVER, $_ENV, getenv()]);";

/// The same code for each request and in a worker.
fn apps(order: &str, code: &str) -> Vec<(Site, PhpApp)> {
    let classic = site().file("index.php", format!("<?php {code}"));
    let handler =
        format!("<?php $show = function () {{ {code} }}; while (corral_handle_request($show)) {{}}");
    let worker = site().file("index.php", handler);
    let in_worker = php_app(&worker).with("worker", json!({ "script": "index.php" }));
    let apps = vec![(classic, false), (worker, true)];
    let apps = apps.into_iter().map(|(site, is_worker)| {
        let app = if is_worker { in_worker.clone() } else { php_app(&site) };
        (site, app.admin("variables_order", order).admin("opcache.file_update_protection", "0"))
    });
    apps.collect()
}

/// As php-fpm's `env[]` and Apache's `SetEnv`.
///
/// Options: applications.{N}.environment.{VAR}
#[test]
fn the_environment_is_among_the_server_s_variables() {
    for (order, in_env) in [("GPCS", false), ("EGPCS", true)] {
        for (_site, app) in apps(order, SHOW) {
            let app = app.with("environment", json!({ "APP_ENV": "prod", "EMPTY": "" }));
            let server = daemon()
                .environment("APP_ENV", "dev")
                .environment("INHERITED", "yes")
                .application(app)
                .start();
            for _ in 0..2 {
                let found = server.get("/").expect(200).json();
                for (name, value) in [("APP_ENV", "prod"), ("EMPTY", ""), ("INHERITED", "yes")] {
                    assert_eq!(found[0][name], value, "$_SERVER['{name}']");
                    assert_eq!(found[2][name], value, "getenv('{name}')");
                    let expected = if in_env { json!(value) } else { Value::Null };
                    assert_eq!(found[1][name], expected, "$_ENV['{name}']");
                }
            }
        }
    }
}

/// A user or a field that was not sent would be believed.
#[test]
fn the_environment_says_nothing_of_requests() {
    for (_site, app) in apps("GPCS", SHOW) {
        let lies = [
            "REMOTE_USER",
            "AUTH_TYPE",
            "HTTPS",
            "HTTP_X_A",
            "HTTP_PROXY",
            "PHP_AUTH_USER",
            "PATH_INFO",
            "CONTENT_TYPE",
        ];
        let environment: Value = lies.iter().map(|name| ((*name).to_owned(), json!("lie"))).collect();
        let server = daemon().application(app.with("environment", environment)).start();
        let found = server.get("/").expect(200).json();
        for name in lies {
            assert_eq!(found[0].get(name), None, "{name}");
            assert_eq!(found[2][name], "lie", "{name}");
        }
        let found = server.send(&Request::get("/").field("X-A", "truth")).expect(200).json();
        assert_eq!(found[0]["HTTP_X_A"], "truth");
    }
}

/// A variable that a script has set is not there for the next request, whichever way it did.
#[test]
fn scripts_change_the_environment_of_one_request() {
    let code = "echo $_SERVER['A'], getenv('A'); $_SERVER['A'] .= 'changed'; putenv('A=changed');";
    for (_site, app) in apps("GPCS", code).into_iter().take(1) {
        let server = daemon().application(app.with("environment", json!({ "A": "a" }))).start();
        server.get("/").expect(200).expect_body("aa");
        server.get("/").expect(200).expect_body("aa");
    }
}

fn params() -> Value {
    json!({
        "HTTPS": "on",
        "MAGE_RUN_CODE": "$host",
        "SERVER_SOFTWARE": "nginx",
        "OWN": "$method $uri ${arg_x}",
        "QUERY_STRING": null,
        "NEVER": null,
        "HTTP_X_A": "replaced",
    })
}

/// Options: applications.{N}.params
#[test]
fn params_are_variables_of_each_request() {
    for (_site, app) in apps("GPCS", "echo json_encode($_SERVER);") {
        let server = daemon().application(app.with("params", params())).start();
        for (host, x) in [("a.example", "1"), ("b.example", "=-\\")] {
            let request = Request::get(&format!("/index.php?x={x}")).field("Host", host).field("X-A", "1");
            let found = server.send(&request).expect(200).json();
            let own = format!("GET /index.php {x}");
            for (name, value) in [
                ("HTTPS", "on"),
                ("MAGE_RUN_CODE", host),
                ("SERVER_SOFTWARE", "nginx"),
                ("OWN", &own),
                ("HTTP_X_A", "replaced"),
            ] {
                assert_eq!(found[name], value, "{name}");
            }
            for name in ["QUERY_STRING", "NEVER"] {
                assert_eq!(found.get(name), None, "{name}");
            }
        }
    }
}

/// Options: applications.{N}.params, applications.{N}.targets
#[test]
fn params_are_those_of_all_targets() {
    let site = site().file("index.php", "<?php echo $_SERVER['OWN'];").file(
        "worker.php",
        "<?php $show = fn() => print($_SERVER['OWN']); while (corral_handle_request($show)) {}",
    );
    let root = site.root();
    let app = json!({
        "type": "php",
        "params": { "OWN": "of $uri" },
        "targets": {
            "classic": { "root": &root },
            "resident": { "root": &root, "worker": { "script": "worker.php" } },
        },
    });
    let routes = json!([
        { "match": { "uri": "/w/*" }, "action": { "pass": "applications/php/resident" } },
        { "action": { "pass": "applications/php/classic" } },
    ]);
    let server = daemon().config(json!({ "routes": routes, "applications": { "php": app } })).start();
    server.get("/").expect(200).expect_body("of /");
    server.get("/w/x").expect(200).expect_body("of /w/x");
}

/// WordPress asks the server's name whether paths can be rewritten (`got_url_rewrite()`): without one that it knows, it
/// offers links below `/index.php/` alone.
#[test]
fn wordpress_offers_links_without_its_script_s_name() {
    let code = "$software = $_SERVER['SERVER_SOFTWARE'];
        $known = array_filter(['Apache', 'LiteSpeed', 'nginx', 'Caddy'], fn($name) => str_contains($software, $name));
        echo $known ? 'clean' : '/index.php/';";
    for (_site, app) in apps("GPCS", code) {
        daemon().application(app.clone()).start().get("/").expect_body("/index.php/");
        let app = app.with("params", json!({ "SERVER_SOFTWARE": "nginx" }));
        daemon().application(app).start().get("/").expect_body("clean");
    }
}

fn expect_refused(params: &Value, text: &str) {
    let site = site().file("index.php", "");
    let app = php_app(&site).with("params", params.clone());
    let server = daemon().start_unconfigured();
    let config = server.with_listener(json!({ "applications": { "app": app.value() } }));
    let detail = server.control().put("/config", &config).expect_refused(400, "Invalid configuration.");
    assert!(detail.contains(text), "{detail}");
}

#[test]
fn params_that_cannot_be_are_refused() {
    expect_refused(&json!({ "A=B": "" }), "The name of a variable must consist of");
    expect_refused(&json!({ "A": 1 }), "must be either strings or null");
    expect_refused(&json!({ "A": "$nothing" }), "nothing");
    expect_refused(&json!([]), "must be");
}

/// A front controller in a worker gets what is behind its own name, as in Apache and FrankenPHP.
#[test]
fn a_worker_s_script_gets_the_rest_of_its_path() {
    let code = "$keys = ['SCRIPT_NAME', 'PATH_INFO', 'PHP_SELF', 'DOCUMENT_URI'];
        echo json_encode(array_map(fn($key) => $_SERVER[$key] ?? null, $keys)), $_SERVER['PATH_TRANSLATED'] ?? '';";
    let (site, app) = apps("GPCS", code).remove(1);
    let server = daemon().application(app).start();
    let check = |path: &str, expected: Value, translated: &str| {
        let text = server.get(path).expect(200).text();
        let (found, rest) = text.split_at(text.find(']').expect("an array") + 1);
        assert_eq!(serde_json::from_str::<Value>(found).expect("it is JSON"), expected, "{path}");
        assert_eq!(rest, translated.replace("ROOT", &site.root()), "{path}");
    };
    let whole = json!(["/index.php", "/a b/c", "/index.php/a b/c", "/index.php/a b/c"]);
    check("/index.php/a%20b/x/../c?d", whole, "ROOT/a b/c");
    check("/index.php/", json!(["/index.php", "/", "/index.php/", "/index.php/"]), "ROOT/");
    for path in ["/", "/index.php", "/index.phpx/y", "/other/index.php/x", "/INDEX.PHP/x"] {
        check(path, json!(["/index.php", null, "/index.php", "/index.php"]), "");
    }
}

/// Libraries of tracing look for it there, in a script that runs once and in a worker.
#[test]
fn the_trace_is_among_the_server_s_variables() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    for (_site, app) in apps("GPCS", SHOW) {
        let server = daemon().application(app).start();
        let telemetry = json!({ "endpoint": "http://127.0.0.1:9/v1/traces", "protocol": "http" });
        server.control().put("/config/settings", &json!({ "telemetry": telemetry })).expect_done();
        let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
        let request = Request::get("/").field("traceparent", &parent).field("tracestate", "a=1");
        for _ in 0..2 {
            let found = server.send(&request).expect(200).json();
            let told = found[0]["HTTP_TRACEPARENT"].as_str().expect("it is told");
            assert!(
                told.starts_with(&format!("00-{TRACE}-")) && told.len() == 55 && told != parent,
                "{told}"
            );
            assert_eq!(found[0]["HTTP_TRACESTATE"], "a=1");
        }
    }
}
