//! Applications of `type: "fastcgi"` and `"cgi"`: what they become, and what is wrong with them.

use super::{check_problems, config};
use crate::gateway::EntryPoint;
use crate::plan::{HttpSpec, ProgramKind, ProgramSocket, Ready, RuntimeSpec};
use crate::protocol::Protocol;

/// The program of the only application, and its entry points.
#[track_caller]
fn program(app: &str) -> (HttpSpec, Vec<EntryPoint>) {
    let config = config(&format!(r#"{{"applications": {{"a": {{{app}}}}}}}"#));
    let RuntimeSpec::Http(http) = config.applications.values()[0].runtime.clone() else {
        panic!("{config:?}")
    };
    (http, config.app_policies.into_values().remove(0).entries)
}

#[track_caller]
fn check(app: &str, expect: &[(&str, &str)]) {
    let pointers: Vec<_> = expect.iter().map(|(at, _)| format!("/applications/a{at}")).collect();
    let expect: Vec<_> =
        pointers.iter().zip(expect).map(|(at, (_, detail))| (at.as_str(), *detail)).collect();
    check_problems(&format!(r#"{{"applications": {{"a": {{{app}}}}}}}"#), &expect);
}

#[test]
fn defaults_are_filled_in() {
    let (http, entries) = program(r#""type": "fastcgi", "executable": "php-cgi", "root": "/srv""#);
    assert_eq!((http.socket.clone(), http.ready.clone()), (ProgramSocket::Standard, Ready::Connect));
    assert_eq!((http.concurrency.get(), http.gateway()), (1, Some(Protocol::FastCgi)));
    let scripts = entries[0].scripts.as_ref().expect("a root");
    assert_eq!((&*scripts.index, scripts.split_path.clone()), ("index.php", Some(vec![".php".to_owned()])));
    let (http, entries) = program(r#""type": "cgi", "root": "/srv""#);
    assert_eq!((http.concurrency.get(), http.gateway()), (16, Some(Protocol::Scgi)));
    let scripts = entries[0].scripts.as_ref().expect("a root");
    assert_eq!((&*scripts.index, scripts.split_path.clone()), ("index.cgi", None));
}

#[test]
fn targets_are_entry_points_of_the_same_processes() {
    let (http, entries) = program(
        r#""type": "fastcgi", "executable": "/x", "concurrency": 4,
           "targets": {"b": {"root": "/b", "script": "/x.php"}, "a": {"params": {"A": "$host", "B": null}}}"#,
    );
    assert_eq!((http.target_names(), http.concurrency.get()), (vec!["b", "a"], 4));
    let script = entries[0].scripts.as_ref().and_then(|scripts| scripts.script.clone());
    assert_eq!(script, Some("x.php".into()));
    assert_eq!((entries[1].scripts.clone(), entries[1].params.len()), (None, 2));
    let ProgramKind::FastCgi(targets) = &http.kind else { panic!("{http:?}") };
    assert_eq!(targets[0].root, Some("/b".into()));
    assert_eq!(http.files().len(), 2, "the executable and the root");
}

#[test]
fn mistakes_are_named() {
    let missing = "Required parameter \"executable\" is missing.";
    check(r#""type": "fastcgi""#, &[("", missing)]);
    check(r#""type": "cgi""#, &[("", "Required parameter \"root\" is missing.")]);
    check(
        r#""type": "fastcgi", "executable": "x", "script": "y""#,
        &[("/script", "The \"script\" option needs \"root\", the folder of the scripts.")],
    );
    check(
        r#""type": "cgi", "root": "/", "targets": {"a": {"root": "/"}}"#,
        &[("/root", "The \"root\" option is mutually exclusive with the \"targets\" object.")],
    );
    check(
        r#""type": "fastcgi", "executable": "x", "ready": {"path": "/"}"#,
        &[(
            "/ready/path",
            "The \"path\" option is for programs that serve HTTP. One of FastCGI is ready when it accepts connections \
             (\"connect\"), or says so (\"notify\").",
        )],
    );
    check(
        r#""type": "cgi", "root": "/", "executable": "x""#,
        &[("/executable", "Unknown parameter \"executable\".")],
    );
    check(
        r#""type": "fcgi""#,
        &[("/type", "The module to run \"fcgi\" is not found among the available application modules.")],
    );
}
