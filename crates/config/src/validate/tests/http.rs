//! Applications of `type: "http"`: what they become, and what is wrong with them.

use super::{check_problems, config};
use crate::plan::{HttpSpec, JavaSpec, ProgramKind, ProgramSocket, Ready, RuntimeSpec};

/// The program of the only application, whose members besides `type` and `executable` are given.
#[track_caller]
fn program(members: &str) -> HttpSpec {
    let config = config(&format!(
        r#"{{"applications": {{"a": {{"type": "http", "executable": "/bin/app"{members}}}}}}}"#
    ));
    let RuntimeSpec::Http(http) = config.applications.values()[0].runtime.clone() else {
        panic!("{config:?}")
    };
    http
}

/// `expect` is the problem of an application with these members.
#[track_caller]
fn check(members: &str, expect: (&str, &str)) {
    let document =
        format!(r#"{{"applications": {{"a": {{"type": "http", "executable": "/bin/app"{members}}}}}}}"#);
    check_problems(&document, &[(&format!("/applications/a{}", expect.0), expect.1)]);
}

#[test]
fn defaults_are_filled_in() {
    let http = program("");
    assert_eq!(http.executable.to_str(), Some("/bin/app"));
    assert!(http.arguments.is_empty());
    assert_eq!((http.socket, http.ready), (ProgramSocket::Inherited, Ready::Connect));
    assert_eq!((http.ready_timeout.as_secs(), http.concurrency.get()), (60, 128));
}

#[test]
fn programs_learn_where_to_serve_in_three_ways() {
    let socket = |members: &str| program(members).socket;
    let unix = |variable: &str| ProgramSocket::Unix { variable: variable.to_owned() };
    let port = |variable: &str| ProgramSocket::Port { variable: variable.to_owned(), or_any: false };
    assert_eq!(socket(r#", "socket": "inherited""#), ProgramSocket::Inherited);
    let any = ProgramSocket::Port { variable: "PORT".to_owned(), or_any: true };
    assert_eq!(socket(r#", "socket": "any_port""#), any);
    assert_eq!(socket(r#", "socket": "unix""#), unix("SOCKET_PATH"));
    assert_eq!(socket(r#", "socket": "port""#), port("PORT"));
    assert_eq!(socket(r#", "socket": "unix", "socket_variable": "BIND""#), unix("BIND"));
    assert_eq!(socket(r#", "socket_variable": "HTTP_PORT", "socket": "port""#), port("HTTP_PORT"));
}

#[test]
fn readiness_is_told_in_three_ways() {
    let ready = |value: &str| program(&format!(r#", "ready": {value}"#));
    assert_eq!(ready(r#""connect""#).ready, Ready::Connect);
    assert_eq!(ready(r#""notify""#).ready, Ready::Notify);
    assert_eq!(ready(r#"{"path": "/up?deep=1"}"#).ready, Ready::Path("/up?deep=1".to_owned()));
    let slow = ready(r#"{"notify": true, "timeout": 5}"#);
    assert_eq!((slow.ready, slow.ready_timeout.as_secs()), (Ready::Notify, 5));
    assert_eq!(ready(r#"{"timeout": 600}"#).ready_timeout.as_secs(), 600);
}

#[test]
fn a_name_without_a_slash_is_looked_for() {
    let named = program(r#", "arguments": ["-c", ""], "concurrency": 5"#);
    assert_eq!((named.arguments, named.concurrency.get()), (vec!["-c".to_owned(), String::new()], 5));
    let path = |executable: &str| HttpSpec { executable: executable.into(), ..program("") };
    assert!(path("/bin/app").executable_path().is_some() && path("./app").executable_path().is_some());
    assert_eq!(path("node").executable_path(), None);
}

#[test]
fn options_are_checked() {
    let missing = r#"{"applications": {"a": {"type": "http"}}}"#;
    check_problems(missing, &[("/applications/a", "Required parameter \"executable\" is missing.")]);
    check(r#", "root": "/""#, ("/root", "Unknown parameter \"root\"."));
    let words = "The \"socket\" must be \"inherited\", \"unix\", \"port\" or \"any_port\".";
    check(r#", "socket": "tcp""#, ("/socket", words));
    check(
        r#", "arguments": ["a", 1]"#,
        ("/arguments/1", "The \"arguments\" array must contain only string values."),
    );
    check(
        r#", "socket_variable": "X""#,
        (
            "/socket_variable",
            "The \"socket_variable\" option needs the \"socket\" to be \"unix\" or \"port\".",
        ),
    );
    check(
        r#", "socket": "unix", "socket_variable": "A=B""#,
        ("/socket_variable", "The \"socket_variable\" string must not contain '=' character."),
    );
    check(r#", "ready": "soon""#, ("/ready", "The \"ready\" string must be \"connect\" or \"notify\"."));
    let path = "The \"path\" string must be a path of a URL that begins with \"/\".";
    check(r#", "ready": {"path": "up"}"#, ("/ready/path", path));
    check(r#", "ready": {"path": "/a b"}"#, ("/ready/path", path));
    check(
        r#", "ready": {"path": "/", "notify": true}"#,
        ("/ready/path", "The \"path\" option is mutually exclusive with \"notify\"."),
    );
    check(
        r#", "ready": {"timeout": 0}"#,
        ("/ready/timeout", "The \"timeout\" number must be equal to or greater than 1."),
    );
    check(
        r#", "concurrency": 0"#,
        ("/concurrency", "The \"concurrency\" number must be equal to or greater than 1."),
    );
}

#[test]
fn a_port_cannot_be_reached_in_another_network() {
    let isolation = r#""isolation": {"namespaces": {"network": true}}"#;
    check(
        &format!(r#", "socket": "port", {isolation}"#),
        (
            "/socket",
            "The \"socket\" must not be \"port\" with a \"network\" namespace: no other process could reach the port. \
             \"inherited\" and \"unix\" can be reached.",
        ),
    );
    assert_eq!(program(&format!(r#", "socket": "unix", {isolation}"#)).executable.to_str(), Some("/bin/app"));
}

#[test]
fn the_type_has_no_version() {
    let detail = "The module to run \"http 2\" is not found among the available application modules.";
    let document = r#"{"applications": {"a": {"type": "http 2", "executable": "/bin/app"}}}"#;
    check_problems(document, &[("/applications/a/type", detail)]);
}

#[test]
fn programs_that_were_written_for_unit_have_an_executable_and_arguments() {
    let unit = |app_type: &str, executable: &str| {
        let app = format!(
            r#"{{"type": "{app_type}", "executable": "{executable}", "arguments": ["--tls-min", "1"]}}"#
        );
        let config = config(&format!(r#"{{"applications": {{"a": {app}}}}}"#));
        let RuntimeSpec::Http(http) = config.applications.values()[0].runtime.clone() else {
            panic!("{config:?}")
        };
        assert_eq!((http.kind, http.socket), (ProgramKind::External, ProgramSocket::Inherited));
        assert_eq!(http.arguments, ["--tls-min", "1"]);
        http.executable
    };
    assert_eq!(unit("external", "/www/app.js").to_str(), Some("/www/app.js"));
    assert_eq!(unit("go", "bin/app").to_str(), Some("bin/app"));
    assert_eq!(unit("external", "app").to_str(), Some("./app"), "PATH is not searched");
    let of = |app: &str| format!(r#"{{"applications": {{"a": {app}}}}}"#);
    check_problems(
        &of(r#"{"type": "external"}"#),
        &[("/applications/a", "Required parameter \"executable\" is missing.")],
    );
    check_problems(
        &of(r#"{"type": "external", "executable": "/a", "arguments": [""], "socket": "port"}"#),
        &[("/applications/a/socket", "Unknown parameter \"socket\".")],
    );
    check_problems(
        &of(r#"{"type": "go", "executable": "/a", "arguments": ["a\u0000"]}"#),
        &[(
            "/applications/a/arguments/0",
            "The \"arguments\" array must not contain strings with null character.",
        )],
    );
    check_problems(
        &of(r#"{"type": "external 1", "executable": "/a"}"#),
        &[(
            "/applications/a/type",
            "The module to run \"external 1\" is not found among the available application modules.",
        )],
    );
}

#[test]
fn web_applications_in_java_run_as_many_requests_as_they_have_threads() {
    let java = |members: &str| {
        let app = format!(r#"{{"type": "java", "webapp": "shop.war"{members}}}"#);
        let config = config(&format!(r#"{{"applications": {{"a": {app}}}}}"#));
        let RuntimeSpec::Http(http) = config.applications.values()[0].runtime.clone() else {
            panic!("{config:?}")
        };
        http
    };
    let plain = java("");
    assert_eq!(plain.socket, ProgramSocket::Unix { variable: "SOCKET_PATH".to_owned() });
    assert_eq!((plain.executable.to_str(), plain.concurrency.get()), (Some("java"), 1));
    assert_eq!(plain.files(), ["shop.war"]);
    let members = r#", "classpath": ["a.jar"], "options": ["-Xmx1g"], "unit_jars": "/x", "threads": 8, "thread_stack_size": 1048576"#;
    let spec = JavaSpec {
        webapp: "shop.war".into(),
        classpath: vec!["a.jar".to_owned()],
        options: vec!["-Xmx1g".to_owned()],
        thread_stack_size: std::num::NonZeroUsize::new(1 << 20),
    };
    let all = java(members);
    assert_eq!((all.kind, all.concurrency.get()), (ProgramKind::Java(spec), 8));
    check_problems(
        r#"{"applications": {"a": {"type": "java", "options": ["-Xmx1g", 1]}}}"#,
        &[
            ("/applications/a", "Required parameter \"webapp\" is missing."),
            ("/applications/a/options/1", "The \"options\" array must contain only string values."),
        ],
    );
}
