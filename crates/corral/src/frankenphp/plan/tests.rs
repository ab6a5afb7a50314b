//! Caddyfiles as Octane brings them, and what is wrong with others.

use std::num::NonZeroU32;

use corral_config::plan::RuntimeSpec;
use corral_config::{Known, json as values, validate};
use serde_json::{Value, json};

use super::super::document::{DocumentContext, document};
use super::super::logs::{CaddyLevel, LogEncoding};
use super::*;

/// Has the directives of the file of Octane, in its order.
const OCTANE: &str = include_str!("../testdata/Caddyfile");

fn variable(name: &str) -> Option<String> {
    let value = match name {
        "CADDY_GLOBAL_OPTIONS" => "auto_https disable_redirects",
        "CADDY_SERVER_ADMIN_HOST" => "localhost",
        "CADDY_SERVER_ADMIN_PORT" => "2019",
        "APP_PUBLIC_PATH" => "/srv/a b/public",
        "CADDY_SERVER_WORKER_DIRECTIVE" => "num 3",
        "CADDY_SERVER_WATCH_DIRECTIVES" => "\t\twatch /srv/a/app\n\t\twatch /srv/a/config/**/*.php",
        "CADDY_SERVER_SERVER_NAME" => "http://:8000",
        "CADDY_SERVER_LOG_LEVEL" => "WARN",
        "CADDY_SERVER_LOGGER" => "json",
        "CADDY_SERVER_EXTRA_DIRECTIVES" => "",
        _ => return None,
    };
    Some(value.to_owned())
}

#[test]
fn the_file_of_octane_is_understood() {
    let plan = CaddyfilePlan::parse(OCTANE, &variable).unwrap();
    assert_eq!(plan.globals.admin.as_deref(), Some("localhost:2019"));
    assert_eq!(plan.site.addresses.listeners[0].address, "*:8000");
    assert_eq!(plan.root(), Path::new("/srv/a b/public"));
    assert_eq!(plan.site.encodings, ["zstd", "br", "gzip"]);
    assert_eq!(plan.site.files, ["*.css", "*.js", "*.png", "*.txt"]);
    let worker = plan.site.php.worker.as_ref().unwrap();
    assert_eq!(worker.script, Path::new("/srv/a b/public/frankenphp-worker.php"));
    assert_eq!(worker.number, NonZeroU32::new(3));
    assert_eq!(worker.watch, [Path::new("/srv/a/app"), Path::new("/srv/a/config")]);
    let log = plan.site.log.as_ref().unwrap();
    assert_eq!((log.level, log.encoding, log.redactions.len()), (CaddyLevel::Warn, LogEncoding::Json, 1));
}

#[test]
fn older_files_name_the_worker_in_one_line() {
    let line = r#"worker "{$APP_PUBLIC_PATH}/frankenphp-worker.php" {$COUNT}"#;
    let begin = OCTANE.find("worker {").unwrap();
    let end = OCTANE.find("\t}\n}\n").unwrap();
    let older = format!("{}{line}\n{}", &OCTANE[..begin], &OCTANE[end..]);
    for (count, expected) in [("", None), ("2", NonZeroU32::new(2))] {
        let variable = |name: &str| if name == "COUNT" { Some(count.to_owned()) } else { variable(name) };
        assert_eq!(
            CaddyfilePlan::parse(&older, &variable).unwrap().site.php.worker.unwrap().number,
            expected
        );
    }
}

/// `change` takes the place of a line, and is what is refused unless another one is.
#[track_caller]
fn check_refused(line: &str, change: &str, expected: &str) {
    let text = OCTANE.replacen(line, change, 1);
    assert_ne!(text, OCTANE, "{line}");
    let error = CaddyfilePlan::parse(&text, &variable).unwrap_err();
    assert!(error.message.starts_with(expected), "{error}");
    let refused = text.lines().nth(error.line - 1).unwrap();
    assert!(change.starts_with(refused.trim()) || expected.contains("second site"), "{error}: {refused}");
}

#[test]
fn whatever_else_there_is_is_refused_by_name_and_line() {
    check_refused(
        "encode zstd br gzip",
        "mercure {\n}",
        "directive \"mercure\" is not known here; known are log,",
    );
    check_refused("resolve_root_symlink", "split .php", "directive \"split\" is not known here");
    check_refused("encode zstd br gzip", "encode lz4", "encoding \"lz4\" is not known here");
    check_refused("file_server @static", "file_server @other", "the matcher \"@other\" is not there");
    check_refused(
        "path *.css *.js *.png *.txt",
        "method GET",
        "directive \"method\" is not known here; known are path",
    );
    check_refused("path *.css *.js *.png *.txt", "path a.css", "\"a.css\" is not a pattern of a path");
    check_refused("route {", "route /a/* {", "\"route\" with a matcher");
    check_refused("{$CADDY_EXTRA_CONFIG}", "(snippet) {\n}", "\"http://:8000\" is a second site");
    check_refused("{$CADDY_EXTRA_CONFIG}", "import x", "\"http://:8000\" is a second site");
    check_refused("{$CADDY_GLOBAL_OPTIONS}", "order a before b", "directive \"order\" is not known here");
    check_refused(
        "try_files {path} frankenphp-worker.php",
        "try_files {path} x.php",
        "\"try_files\" leads to x.php",
    );
    check_refused("replace authorization REDACTED", "hash authorization", "directive \"hash\" is not known");
    check_refused(
        "{$CADDY_SERVER_SERVER_NAME} {",
        "localhost:8000, https://localhost:8000 {",
        "\"https://localhost:8000\": a port is either for HTTPS or for HTTP",
    );
    check_refused("{$CADDY_GLOBAL_OPTIONS}", "auto_https maybe", "\"auto_https maybe\" is not known here");
}

#[test]
fn requests_lead_to_the_worker() {
    let other = OCTANE.replace("index frankenphp-worker.php", "index index.php").replace("try_files", "#");
    let error = CaddyfilePlan::parse(&other, &variable).unwrap_err();
    assert!(
        error.message.contains("public/index.php") && error.message.contains("but the worker is"),
        "{error}"
    );
}

#[test]
fn what_lacks_is_named() {
    for (missing, expected) in [
        ("CADDY_SERVER_LOG_LEVEL", "\"level\" needs a value"),
        ("CADDY_SERVER_LOGGER", "\"wrap\" needs a value"),
        ("CADDY_SERVER_SERVER_NAME", "the site has no address"),
        ("APP_PUBLIC_PATH", "\"root\" needs a path"),
    ] {
        let error =
            CaddyfilePlan::parse(OCTANE, &|name| variable(name).filter(|_| name != missing)).unwrap_err();
        assert_eq!(
            error.message,
            match missing {
                "CADDY_SERVER_SERVER_NAME" =>
                    format!("{expected}, such as http://:8000 (not in the environment: {missing})"),
                _ => format!("{expected} (not in the environment: {missing})"),
            }
        );
    }
}

/// The result is a configuration that the daemon takes.
#[test]
fn the_configuration_is_valid() {
    let plan = CaddyfilePlan::parse(OCTANE, &variable).unwrap();
    let pages = [(404, PathBuf::from("/tmp/404.html"))];
    let surroundings =
        DocumentContext { owner: Some(("a", "b")), pages: &pages, folder: Path::new("/srv/a b") };
    let text = document(&plan, &surroundings).to_string();
    let parsed = values::parse(text.as_bytes()).unwrap();
    let config = validate(&parsed, &Known::validated_elsewhere()).unwrap();
    let RuntimeSpec::Php(php) = &config.applications.values()[0].runtime else { panic!("it is PHP") };
    assert!(php.worker().is_some());
    assert_eq!(config.access_logs.len(), 1);
}

/// The listeners and routes for an address, as `octane:start --https` gives it, and the global options.
fn listeners_and_routes(address: &str, options: &str) -> (Value, Value) {
    let variable = |name: &str| match name {
        "CADDY_SERVER_SERVER_NAME" => Some(address.to_owned()),
        "CADDY_GLOBAL_OPTIONS" => Some(options.to_owned()),
        _ => variable(name),
    };
    let plan = CaddyfilePlan::parse(OCTANE, &variable).unwrap();
    let surroundings = DocumentContext { owner: None, pages: &[], folder: Path::new("/srv") };
    let document = document(&plan, &surroundings);
    let parsed = values::parse(document.to_string().as_bytes()).unwrap();
    validate(&parsed, &Known::validated_elsewhere()).unwrap();
    (document["listeners"].clone(), document["routes"].clone())
}

#[test]
fn https_has_a_certificate_and_leads_there_unless_it_is_told_not_to() {
    let secure = json!({ "pass": "routes/site", "tls": { "certificate": "own" } });
    let off = "auto_https disable_redirects";
    let (listeners, routes) = listeners_and_routes("https://shop.example:8443", off);
    assert_eq!((listeners, &routes["https"]), (json!({ "*:8443": secure }), &Value::Null));
    for (port, location) in
        [(8443, "https://${host}:8443${request_uri}"), (443, "https://${host}${request_uri}")]
    {
        let (listeners, routes) = listeners_and_routes(&format!("https://shop.example:{port}"), "");
        assert_eq!(listeners["*:80"], json!({ "pass": "routes/https" }));
        assert_eq!(routes["https"], json!([{ "action": { "return": 308, "location": location } }]));
    }
    let (listeners, _) = listeners_and_routes("https://shop.example, http://shop.example", "");
    assert_eq!(listeners["*:80"], json!({ "pass": "routes/site" }));
    let (listeners, _) = listeners_and_routes("http://:8000", "");
    assert_eq!(listeners, json!({ "*:8000": { "pass": "routes/site" } }));
}
