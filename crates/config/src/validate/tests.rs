//! Whole documents: what they mean, or what is wrong with them and where.

mod acme;
mod advice;
mod applications;
mod arbitrary;
mod authentication;
mod cgi;
mod control;
mod gateway;
mod http;
mod isolation;
mod layer4;
mod listeners;
mod observe;
mod perl;
mod problems;
mod process;
mod python;
mod ruby;
mod share;
mod throttle;
mod try_files;
mod upstreams;
mod wasm;

use super::validate;
use crate::address::ListenAddress;
use crate::json::parse;
use crate::plan::RuntimeSpec;
use crate::route::sample::Sample;
use crate::route::{ActionKind, Destination};
use crate::table::Key;
use crate::{Config, Known, KnownModule, Stage};

fn known() -> Known {
    let module = |language: &str, version: &str| KnownModule {
        language: language.to_owned(),
        version: version.to_owned(),
        path: format!("/opt/corral-{language}").into(),
    };
    Known::modules(vec![
        module("java", "12.0.25"),
        module("perl", "5.36.0"),
        module("php", "8.2.30"),
        module("python", "3.11.2"),
        module("ruby", "3.1.2"),
        module("wasm-wasi-component", "0.2"),
    ])
    .with_certificates(vec!["a".to_owned(), "b".to_owned()])
    .with_scripts(vec!["http".to_owned(), "other".to_owned()], |source| {
        if source.contains("wrong") { Err("SyntaxError: wrong".to_owned()) } else { Ok(()) }
    })
}

/// The configuration of a document that is right.
#[track_caller]
fn config(document: &str) -> Config {
    let document = parse(document.as_bytes()).unwrap();
    validate(&document, &known()).map_err(|problems| format!("{problems:#?}")).unwrap()
}

/// `expect` are the problems of a document in order: where, and what.
#[track_caller]
fn check_problems(document: &str, expect: &[(&str, &str)]) {
    let problems = validate(&parse(document.as_bytes()).unwrap(), &known()).expect_err(document);
    let problems: Vec<_> =
        problems.iter().map(|problem| (problem.pointer.as_str(), problem.detail.as_str())).collect();
    assert_eq!(problems, expect, "{document}");
}

#[test]
fn an_empty_document_is_an_empty_configuration() {
    let config = config("{}");
    assert!(config.listeners.is_empty() && config.routes.is_empty() && config.applications.is_empty());
    let (settings, defaults) = (format!("{:?}", config.settings), crate::settings::Settings::default());
    assert_eq!(settings, format!("{defaults:?}"));
    assert_eq!(config.access_logs, []);
    let plan = config.plan();
    assert!(plan.listeners.is_empty() && plan.applications.is_empty());
}

#[test]
fn listeners_keep_order_and_backlog() {
    let config = config(
        r#"{"listeners": {
            "127.0.0.1:8081": {"pass": "routes", "backlog": 100},
            "*:8080": {"pass": "routes", "backlog": -1},
            "unix:@x": {"pass": "applications/a", "backlog": 0},
            "[::1]:1": {"application": "a"},
            "[::1]:2": {"pass": "$host"}
        }, "routes": [], "applications": {"a": {"type": "php", "root": "/www"}}}"#,
    );
    let plan = config.plan();
    let listeners: Vec<_> =
        plan.listeners.iter().map(|listener| (listener.address.to_string(), listener.backlog)).collect();
    let expect = [
        ("127.0.0.1:8081", Some(100)),
        ("*:8080", None),
        ("unix:@x", Some(0)),
        ("[::1]:1", None),
        ("[::1]:2", None),
    ];
    assert_eq!(listeners, expect.map(|(address, backlog)| (address.to_owned(), backlog)));
    assert_eq!(config.listeners[0].pass, Destination::Route(Key::nth(0)));
    assert_eq!(config.listeners[2].pass, Destination::Application { app: Key::nth(0), target: 0 });
    assert_eq!(config.listeners[3].pass, Destination::Application { app: Key::nth(0), target: 0 });
    assert!(matches!(config.listeners[4].pass, Destination::Template(_)));
    assert_eq!(config.listeners[2].address, ListenAddress::Abstract(b"x".to_vec()));
}

#[test]
fn steps_are_chosen_by_all_conditions() {
    let config = config(
        r#"{"routes": {"main": [
            {"match": {"uri": "/a*", "host": ["*.Example.org", "!no.*"], "method": "post"}, "action": {"return": 1}},
            {"match": {"uri": ["~\\.php$", "!/admin/*"]}, "action": {"return": 2}},
            {"match": {}, "action": {"return": 3}}
        ]}}"#,
    );
    let answer = |method: &str, host: &str, path: &str| {
        let mut sample = Sample { method: method.to_owned(), ..Sample::get(host, path) };
        let step = config.routes.values()[0].choose(&mut sample).unwrap().unwrap();
        let ActionKind::Return(answer) = &step.action.kind else { panic!("only returns are here") };
        answer.status
    };
    assert_eq!(config.routes.values()[0].name(), Some("main"));
    assert_eq!(answer("POST", "www.example.org", "/abc"), 1);
    assert_eq!(answer("GET", "www.example.org", "/abc"), 3);
    assert_eq!(answer("POST", "no.example.org", "/abc"), 3);
    assert_eq!(answer("POST", "", "/x.php"), 2);
    assert_eq!(answer("POST", "", "/admin/x.php"), 3);
}

#[test]
fn actions_are_read_with_their_options() {
    let config = config(
        r#"{"routes": [
            {"action": {"share": "/www$uri"}},
            {"action": {"share": ["/a$uri", "/b"], "index": "i.htm", "types": ["image/*", "!image/GIF"],
                        "fallback": {"share": "/c", "fallback": {"pass": "routes"}}}},
            {"action": {"return": 301, "location": "https://$host$request_uri"}},
            {"action": {"pass": "routes"}}
        ]}"#,
    );
    let mut actions = config.routes.values()[0].steps().iter().map(|step| &step.action.kind);
    let Some(ActionKind::Share(plain)) = actions.next() else { panic!("a share") };
    assert_eq!((plain.paths.len(), plain.index.concat()), (1, "index.html".to_owned()));
    assert!(plain.types.is_none() && plain.fallback.is_none());
    let Some(ActionKind::Share(share)) = actions.next() else { panic!("a share") };
    assert_eq!((share.paths.len(), share.index.concat()), (2, "i.htm".to_owned()));
    let types = share.types.as_ref().unwrap();
    for (kind, expect) in [("IMAGE/png", true), ("image/gif", false), ("", false)] {
        assert_eq!(types.matches(kind.as_bytes()), Ok(expect), "{kind}");
    }
    let Some(ActionKind::Share(second)) = share.fallback.as_deref().map(|action| &action.kind) else {
        panic!("a share")
    };
    assert!(matches!(
        second.fallback.as_deref().map(|action| &action.kind),
        Some(ActionKind::Pass(Destination::Route(key))) if *key == Key::nth(0)
    ));
    let Some(ActionKind::Return(answer)) = actions.next() else { panic!("a return") };
    assert_eq!(answer.status, 301);
    assert!(answer.location.as_ref().unwrap().is_constant().is_none());
    assert!(matches!(actions.next(), Some(ActionKind::Pass(Destination::Route(key))) if *key == Key::nth(0)));
}

#[test]
fn rendered_destinations_are_resolved() {
    let config = config(
        r#"{"routes": {"a b": []},
            "applications": {"x": {"type": "php", "targets": {"t": {"root": "/a"}, "u": {"root": "/b"}}}}}"#,
    );
    assert_eq!(config.resolve(b"routes/a%20b"), Some(Destination::Route(Key::nth(0))));
    assert_eq!(
        config.resolve(b"applications/x/u"),
        Some(Destination::Application { app: Key::nth(0), target: 1 })
    );
    assert_eq!(config.resolve(b"applications/x/v"), None);
    assert_eq!(config.resolve(b"routes"), None);
    assert_eq!(config.resolve(b""), None);
    assert_eq!(config.resolve(b"$host"), None);
}

#[test]
fn settings_replace_defaults() {
    let config = config(
        r#"{"settings": {"listen_threads": 3, "http": {
            "header_read_timeout": 1, "body_read_timeout": 2, "send_timeout": 3, "idle_timeout": 4,
            "large_header_buffer_size": 5, "large_header_buffers": 6, "body_buffer_size": 7, "max_body_size": 1e13,
            "body_temp_path": "/tmp/x", "discard_unsafe_fields": false, "log_route": true, "server_version": false,
            "chunked_transform": false, "static": {"mime_types": {"text/x": ".x", "text/y": [".y", "README"]}, "cache_valid": 8}
        }}, "access_log": "/log"}"#,
    );
    assert_eq!(config.plan().listen_threads.map(std::num::NonZero::get), Some(3));
    assert_eq!(config.plan().access_logs, [std::path::PathBuf::from("/log")]);
    let http = config.settings.http;
    let timeouts = [
        http.header_read_timeout,
        http.bounds.body_read_timeout,
        http.bounds.send_timeout,
        http.idle_timeout,
    ];
    assert_eq!(timeouts.map(|timeout| timeout.as_secs()), [1, 2, 3, 4]);
    assert_eq!(http.file_trust.as_secs(), 8);
    assert_eq!(
        (http.large_header_buffer_size, http.large_header_buffers, http.bounds.body_buffer_size),
        (5, 6, 7)
    );
    assert_eq!(http.bounds.max_body_size, 10_000_000_000_000);
    assert_eq!(http.body_temp_path.as_deref(), Some("/tmp/x".as_ref()));
    assert!(!http.discard_unsafe_fields && http.log_route && !http.server_version && !http.chunked_transform);
    let types = [("text/x", vec![".x"]), ("text/y", vec![".y", "README"])];
    let types = types
        .map(|(name, extensions)| (name.to_owned(), extensions.into_iter().map(str::to_owned).collect()));
    assert_eq!(http.mime_types, types);
}

#[test]
fn a_document_that_was_validated_elsewhere_needs_no_modules() {
    let document = parse(br#"{"applications": {"a": {"type": "php 7", "root": "/www"}}}"#).unwrap();
    let config = validate(&document, &Known::validated_elsewhere()).unwrap();
    assert_eq!(config.applications.values()[0].module.as_os_str(), "");
    let RuntimeSpec::Php(php) = &config.applications.values()[0].runtime else { panic!("{config:?}") };
    assert_eq!(php.targets[0].root.to_str(), Some("/www"));
}

#[test]
fn what_unit_notices_late_is_marked() {
    let document = parse(br#"{"listeners": {"*:80": {}}, "routes": [{"match": {}}]}"#).unwrap();
    let problems = validate(&document, &known()).unwrap_err();
    let stages: Vec<_> = problems.iter().map(|problem| (problem.pointer.as_str(), problem.stage)).collect();
    assert_eq!(stages, [("/listeners/*:80", Stage::Application), ("/routes/0", Stage::Application)]);
}
