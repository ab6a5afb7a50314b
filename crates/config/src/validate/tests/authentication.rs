//! `authenticate`: what it means, and what is wrong with it.

use std::path::Path;
use std::time::Duration;

use super::{check_problems, config};
use crate::authentication::{AuthRequest, Forward, Jwt, KeySource, Method};
use crate::gateway::Servers;
use crate::route::Destination;
use crate::table::Key;

/// The methods of a document with an action that has this `authenticate`.
#[track_caller]
fn methods(authenticate: &str) -> Vec<Method> {
    let document =
        format!(r#"{{"routes": [{{"action": {{"return": 200, "authenticate": {authenticate}}}}}]}}"#);
    config(&document).tables.authentications.into_values().remove(0).methods
}

#[track_caller]
fn jwt(jwt: &str) -> Jwt {
    match methods(&format!(r#"{{"jwt": {jwt}}}"#)).remove(0) {
        Method::Jwt(jwt) => *jwt,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn forward(forward: &str) -> Forward {
    match methods(&format!(r#"{{"forward": {forward}}}"#)).remove(0) {
        Method::Forward(forward) => *forward,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(authenticate: &str, at: &str, detail: &str) {
    let document =
        format!(r#"{{"routes": [{{"action": {{"return": 200, "authenticate": {authenticate}}}}}]}}"#);
    let pointer = format!("/routes/0/action/authenticate{at}");
    check_problems(&document, &[(&pointer, detail)]);
}

#[test]
fn places_name_their_methods() {
    let config = config(
        r#"{
        "listeners": {"*:80": {"pass": "routes", "authenticate": {"client_certificate": {}}}},
        "routes": [
            {"action": {"return": 200}},
            {"action": {"return": 200, "authenticate": {"basic": {"file": "/users"}, "client_certificate": {}}}}
        ]
    }"#,
    );
    let at = |key: Option<Key<_>>| key.map(|key| config.tables.authentications[key].place.as_str());
    assert_eq!(at(config.listeners[0].authentication), Some("/listeners/*:80/authenticate"));
    let steps = config.routes.values()[0].steps();
    assert_eq!(at(steps[0].action.options.authentication), None);
    let second = steps[1].action.options.authentication;
    assert_eq!(at(second), Some("/routes/1/action/authenticate"));
    let methods = &config.tables.authentications[second.unwrap()].methods;
    assert!(
        matches!(&methods[..], [Method::Basic(basic), Method::Certificate(_)] if basic.realm == "Restricted")
    );
    assert_eq!(methods[0].file(), Some(("basic/file", Path::new("/users"))));
}

#[test]
fn keys_are_files_or_at_a_url() {
    assert_eq!(jwt(r#"{"secret": "/s"}"#).keys, KeySource::Secret("/s".into()));
    assert_eq!(jwt(r#"{"key": "/k"}"#).keys, KeySource::Pem("/k".into()));
    assert_eq!(jwt(r#"{"jwks": "/j"}"#).keys, KeySource::Set("/j".into()));
    let remote = jwt(r#"{"tls": {"verify": false}, "jwks": "https://a/b"}"#);
    assert!(matches!(&remote.keys, KeySource::Url { url, tls } if url == "https://a/b" && !tls.verify));
    assert_eq!((remote.leeway, remote.refetch_interval), (Duration::ZERO, Duration::from_secs(10)));
    assert_eq!((remote.user_claim.as_str(), remote.issuers.len()), ("sub", 0));
    let both = "The \"jwt\" object must have just one of \"secret\", \"key\" and \"jwks\".";
    check(r#"{"jwt": {}}"#, "/jwt", both);
    check(r#"{"jwt": {"key": "/k", "secret": "/s"}}"#, "/jwt", both);
    check(r#"{"jwt": {"key": "k"}}"#, "/jwt/key", "The \"key\" path must begin with \"/\".");
    check(r#"{"jwt": {"jwks": "http:///x"}}"#, "/jwt/jwks", "The \"jwks\" URL is invalid: \"http:///x\".");
    let unknown = "The algorithm \"none\" is not one that tokens may be signed with.";
    check(r#"{"jwt": {"key": "/k", "algorithms": "none"}}"#, "/jwt/algorithms", unknown);
}

#[test]
fn servers_are_asked_at_a_url_or_in_a_group() {
    let asked = forward(r#"{"url": "https://gate.example/check?a=b"}"#);
    assert_eq!(
        (asked.asked, asked.uri.as_str()),
        (AuthRequest::Servers(Servers::Proxy(Key::nth(0))), "/check?a=b")
    );
    assert_eq!((asked.timeout, asked.cache), (Duration::from_secs(5), None));
    assert_eq!(asked.cache_key, ["Authorization", "Cookie"]);
    assert_eq!(forward(r#"{"url": "http://127.0.0.1:1"}"#).uri, "/");
    assert_eq!(forward(r#"{"url": "http://a:1", "cache": 5}"#).cache, Some(Duration::from_secs(5)));
    for url in ["", "a", "ftp://a/", "http://a/ b", "http:///", "http://a:x/"] {
        let at = format!(r#"{{"forward": {{"url": "{url}"}}}}"#);
        let detail = if url.is_empty() {
            "The \"url\" string must not be empty.".to_owned()
        } else {
            format!("The \"url\" value is invalid: \"{url}\".")
        };
        check(&at, "/forward/url", &detail);
    }
    let one = "The \"forward\" object must have just one of \"url\" and \"pass\".";
    check(r#"{"forward": {"timeout": 1}}"#, "/forward", one);
}

#[test]
fn applications_are_asked_by_inner_listeners() {
    let forward = |pass: &str| {
        format!(r#"{{"action": {{"return": 200, "authenticate": {{"forward": {{"pass": "{pass}"}}}}}}}}"#)
    };
    let document = |steps: &str| {
        format!(
            r#"{{"routes": [{steps}], "applications": {{"gate": {{"type": "php", "targets": {{
            "a": {{"root": "/x"}}, "b": {{"root": "/y"}}}}}}}}}}"#
        )
    };
    let steps = ["applications/gate/b", "applications/gate/a", "applications/gate/b"].map(forward).join(",");
    let config = config(&document(&steps));
    let asked = config.tables.authentications.iter().map(|one| match &one.methods[0] {
        Method::Forward(forward) => forward.asked,
        other => panic!("{other:?}"),
    });
    assert_eq!(asked.collect::<Vec<_>>(), [0, 1, 0].map(Key::nth).map(AuthRequest::Application));
    let passes: Vec<_> = config.tables.inner_listeners.iter().map(|listener| listener.pass.clone()).collect();
    assert_eq!(passes, [1, 0].map(|target| Destination::Application { app: Key::nth(0), target }));
    assert!(config.plan().listeners.is_empty(), "main binds none of them");
    let detail = "The \"pass\" of \"forward\" must be \"applications/NAME\" or \"upstreams/NAME\".";
    check_problems(&document(&forward("routes")), &[("/routes/0/action/authenticate/forward/pass", detail)]);
}

#[test]
fn groups_that_do_not_speak_http1_cannot_be_asked() {
    for (option, is_good) in
        [(r#""http2": true"#, false), (r#""protocol": "fastcgi""#, false), (r#""http2": false"#, true)]
    {
        let document = format!(
            r#"{{"routes": [{{"action": {{"return": 200, "authenticate": {{"forward": {{"pass": "upstreams/u"}}}}}}}}],
            "upstreams": {{"u": {{"servers": {{"127.0.0.1:1": {{}}}}, {option}}}}}}}"#
        );
        if is_good {
            let config = config(&document);
            assert!(matches!(
                &config.tables.authentications.values()[0].methods[0],
                Method::Forward(forward) if forward.asked == AuthRequest::Servers(Servers::Upstream(Key::nth(0)))
            ));
            continue;
        }
        let detail = "The upstream \"u\" cannot be asked: it does not speak HTTP/1.";
        check_problems(&document, &[("/routes/0/action/authenticate/forward/pass", detail)]);
    }
}

#[test]
fn an_object_without_a_method_asks_nobody() {
    check("{}", "", "The \"authenticate\" object must have at least one method.");
    check(r#"{"digest": {}}"#, "/digest", "Unknown parameter \"digest\".");
}
