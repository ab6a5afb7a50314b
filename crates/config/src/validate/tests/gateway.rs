//! `fastcgi`, `scgi` and `uwsgi`: what they become, and what is wrong with them.

use std::time::Duration;

use super::{check_problems, config};
use crate::gateway::{Gateway, Scripts, Servers};
use crate::protocol::Protocol;
use crate::route::ActionKind;
use crate::table::Key;
use crate::upstream::Upstream;

/// Checks what an action becomes beside an upstream of each protocol, and the servers that it stands for.
#[track_caller]
fn gateway(action: &str) -> (Gateway, Vec<Upstream>) {
    let config = config(&document(action));
    let ActionKind::Gateway(gateway) = config.routes.values()[0].steps()[0].action.kind.clone() else {
        panic!("{action}")
    };
    (gateway, config.tables.proxies.into_values())
}

/// The variables of an action, and whether they have a value.
fn params(action: &str) -> Vec<(String, bool)> {
    let config = config(&document(action));
    let params = config.routes.values()[0].steps()[0].action.options.params.iter();
    params.map(|(name, value)| (name.clone(), value.is_some())).collect()
}

fn document(action: &str) -> String {
    format!(
        r#"{{"upstreams": {{"http": {{"servers": {{}}}}, "php": {{"servers": {{}}, "protocol": "fastcgi"}}}},
            "routes": [{{"action": {{{action}}}}}]}}"#
    )
}

/// `expect` are the problems of an action.
#[track_caller]
fn check(action: &str, expect: &[(&str, &str)]) {
    let pointers: Vec<_> = expect.iter().map(|(at, _)| format!("/routes/0/action{at}")).collect();
    let expect: Vec<_> =
        pointers.iter().zip(expect).map(|(at, (_, detail))| (at.as_str(), *detail)).collect();
    check_problems(&document(action), &expect);
}

#[test]
fn defaults_are_filled_in() {
    let (gateway, proxies) = gateway(r#""fastcgi": "unix:/run/php.sock", "root": "/srv""#);
    assert_eq!(gateway.servers, Servers::Proxy(Key::nth(0)));
    let scripts = Scripts {
        root: "/srv".into(),
        script: None,
        index: "index.php".to_owned(),
        split_path: Some(vec![".php".to_owned()]),
    };
    assert_eq!(gateway.entry.scripts, Some(scripts));
    assert_eq!(gateway.entry.params, []);
    assert_eq!(proxies[0].name, "fastcgi://unix:/run/php.sock");
    let options = &proxies[0].options;
    assert_eq!((options.gateway, options.processes), (Some(Protocol::FastCgi), 0));
    assert_eq!(options.timeouts.read, Duration::from_secs(60));
}

#[test]
fn options_are_taken() {
    let action = r#""fastcgi": "127.0.0.1:9000", "root": "/srv", "script": "/a/b.php", "timeout": 7,
           "params": {"A": "$host", "B": null}, "keep_alive": {"processes": 8, "idle_timeout": 5, "requests": 9}"#;
    let (gateway, proxies) = gateway(action);
    let scripts = gateway.entry.scripts.expect("a root");
    assert_eq!(scripts.script.as_deref().and_then(|path| path.to_str()), Some("a/b.php"));
    assert_eq!(params(action), [("A".to_owned(), true), ("B".to_owned(), false)]);
    let options = &proxies[0].options;
    assert_eq!((options.processes, options.keepalive.requests), (8, 9));
    assert_eq!(options.keepalive.idle_timeout, Duration::from_secs(5));
    let timeouts = [options.timeouts.send, options.timeouts.response, options.timeouts.read];
    assert_eq!(timeouts, [Duration::from_secs(7); 3]);
}

#[test]
fn servers_are_an_address_or_an_upstream() {
    let (named, proxies) = gateway(r#""fastcgi": "upstreams/php""#);
    assert_eq!((named.servers, proxies.len()), (Servers::Upstream(Key::nth(1)), 0));
    let (other, proxies) = gateway(r#""uwsgi": "app.example:3031""#);
    assert_eq!((other.servers, other.entry.scripts), (Servers::Proxy(Key::nth(0)), None));
    assert_eq!(
        (&*proxies[0].name, proxies[0].options.gateway),
        ("uwsgi://app.example:3031", Some(Protocol::Uwsgi))
    );
}

#[test]
fn addresses_are_checked() {
    for text in
        ["", "/run/php.sock", "fastcgi://127.0.0.1:9000", "http://127.0.0.1:9000", "127.0.0.1", "$host:1"]
    {
        let detail = format!("The \"fastcgi\" address is invalid \"{text}\"");
        check(&format!(r#""fastcgi": "{text}""#), &[("/fastcgi", &detail)]);
    }
    check(r#""scgi": 1"#, &[("/scgi", "The \"scgi\" value must be a string, but not an integer number.")]);
    check(
        r#""fastcgi": "upstreams/http""#,
        &[("/fastcgi", "The servers of this upstream do not speak fastcgi.")],
    );
    check(r#""uwsgi": "upstreams/php""#, &[("/uwsgi", "The servers of this upstream do not speak uwsgi.")]);
    check(r#""scgi": "upstreams/none""#, &[("/scgi", "There is no upstream \"upstreams/none\".")]);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let needs_root = "option needs \"root\", the folder of the scripts.";
    check(
        r#""fastcgi": "a:1", "script": "x.php", "index": "y", "split_path": []"#,
        &["script", "index", "split_path"]
            .map(|name| (format!("/{name}"), format!("The \"{name}\" {needs_root}")))
            .each_ref()
            .map(|(at, detail)| (at.as_str(), detail.as_str())),
    );
    check(
        r#""fastcgi": "a:1", "root": "/", "script": "x.php", "index": "y""#,
        &[("/index", "The \"index\" option is of no use beside \"script\", which answers everything.")],
    );
    check(
        r#""fastcgi": "upstreams/php", "timeout": 1, "keep_alive": {}"#,
        &[
            ("/timeout", "The \"timeout\" of an upstream is its own: see \"timeouts\" there."),
            (
                "/keep_alive",
                "The \"keep_alive\" of an upstream is its own: see \"processes\" and \"keepalive\" there.",
            ),
        ],
    );
    check(r#""uwsgi": "a:1", "keep_alive": {}"#, &[("/keep_alive", "Unknown parameter \"keep_alive\".")]);
    check(r#""fastcgi": "a:1", "fallback": {}"#, &[("/fallback", "Unknown parameter \"fallback\".")]);
}

#[test]
fn names_and_ends_are_checked() {
    let end = "The \"split_path\" array must contain only ends of names like \".php\".";
    check(
        r#""fastcgi": "a:1", "root": "/", "split_path": [".php", "php", ".", ".a/b", ".é"]"#,
        &[("/split_path/1", end), ("/split_path/2", end), ("/split_path/3", end), ("/split_path/4", end)],
    );
    let name = "The name of a variable must consist of ASCII characters without \"=\" and blanks.";
    check(
        r#""fastcgi": "a:1", "params": {"": "", "A=B": "", "A B": "", "C": 1, "D": "$nothing", "E": "\u0000"}"#,
        &[
            ("/params/", name),
            ("/params/A=B", name),
            ("/params/A B", name),
            ("/params/C", "The \"params\" values must be either strings or null."),
            ("/params/D", "Unknown variable \"nothing\" in the \"D\" value."),
            ("/params/E", "The \"E\" string must not contain null character."),
        ],
    );
    check(
        r#""fastcgi": "a:1", "timeout": 0"#,
        &[("/timeout", "The \"timeout\" number must be equal to or greater than 1.")],
    );
}

#[test]
fn upstreams_say_what_their_servers_speak() {
    let document = |members: &str| format!(r#"{{"upstreams": {{"a": {{"servers": {{}}, {members}}}}}}}"#);
    let options = |members: &str| config(&document(members)).upstreams.values()[0].options.clone();
    assert_eq!(options(r#""protocol": "http""#).gateway, None);
    let php = options(r#""protocol": "fastcgi", "processes": 5"#);
    assert_eq!((php.gateway, php.processes), (Some(Protocol::FastCgi), 5));
    check_problems(
        &document(r#""protocol": "fcgi""#),
        &[(
            "/upstreams/a/protocol",
            "The \"protocol\" value must be \"http\", \"fastcgi\", \"scgi\", \"uwsgi\", or \"tcp\".",
        )],
    );
    check_problems(
        &document(r#""processes": 1"#),
        &[(
            "/upstreams/a/processes",
            "The \"processes\" option is for servers whose \"protocol\" is \"fastcgi\".",
        )],
    );
    check_problems(
        &document(r#""protocol": "scgi", "http2": true"#),
        &[("/upstreams/a/http2", "The \"http2\" option is for servers of HTTP, and these speak scgi.")],
    );
}
