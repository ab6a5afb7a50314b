//! `applications`: what they become, and what is wrong with them.

use super::{check_problems, config};
use crate::plan::{AppSpec, Guard, PhpSpec, PhpTarget, PoolGrowth, RuntimeSpec};

/// The only application, whose members besides `type` and `root` are given.
#[track_caller]
fn application(members: &str) -> AppSpec {
    let config =
        config(&format!(r#"{{"applications": {{"a": {{"type": "php", "root": "/www"{members}}}}}}}"#));
    config.applications.into_values().remove(0)
}

#[track_caller]
fn php(spec: AppSpec) -> PhpSpec {
    let RuntimeSpec::Php(php) = spec.runtime else { panic!("{spec:?}") };
    php
}

/// `expect` are the problems of one application, with pointers relative to it.
#[track_caller]
fn check(application: &str, expect: &[(&str, &str)]) {
    let expect: Vec<_> =
        expect.iter().map(|(pointer, detail)| (format!("/applications/a{pointer}"), *detail)).collect();
    let expect: Vec<_> = expect.iter().map(|(pointer, detail)| (pointer.as_str(), *detail)).collect();
    check_problems(&format!(r#"{{"applications": {{"a": {application}}}}}"#), &expect);
}

/// `expect` is the problem that the value of one member has.
#[track_caller]
fn check_member(name: &str, value: &str, expect: (&str, &str)) {
    check(&format!(r#"{{"type": "php", "root": "/www", "{name}": {value}}}"#), &[expect]);
}

#[test]
fn defaults_are_filled_in() {
    let spec = application("");
    assert_eq!((spec.name.as_str(), spec.module.to_str()), ("a", Some("/opt/corral-php")));
    assert_eq!((spec.processes.max.get(), spec.processes.spare), (1, 1));
    assert_eq!(spec.processes.idle_timeout.as_secs(), 15);
    assert_eq!((spec.limits.timeout, spec.limits.requests), (None, None));
    assert_eq!((spec.user.as_ref(), spec.group.as_ref(), spec.stdout.as_ref()), (None, None, None));
    let php = php(spec);
    assert_eq!((php.targets.len(), php.targets[0].name.as_str()), (1, ""));
    assert_eq!((php.targets[0].index.as_str(), &php.targets[0].script), ("index.php", &None));
    assert_eq!((php.ini_file, php.sapi_name), (None, None));
}

#[test]
fn common_options_are_read() {
    let spec = application(
        r#", "user": "u", "group": "g", "working_directory": "/w", "stdout": "/o", "stderr": "/e",
           "environment": {"A": "1", "B": ""}, "limits": {"timeout": 10, "requests": 100, "shm": 1048576},
           "processes": {"max": 5, "spare": 2, "idle_timeout": 0}"#,
    );
    assert_eq!((spec.user.as_deref(), spec.group.as_deref()), (Some("u"), Some("g")));
    assert_eq!(spec.working_directory.as_deref(), Some("/w".as_ref()));
    assert_eq!((spec.stdout.as_deref(), spec.stderr.as_deref()), (Some("/o".as_ref()), Some("/e".as_ref())));
    assert_eq!(
        spec.environment,
        [("A", "1"), ("B", "")].map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert_eq!(spec.limits.timeout.map(|timeout| timeout.as_secs()), Some(10));
    assert_eq!(spec.limits.requests.map(std::num::NonZero::get), Some(100));
    assert_eq!((spec.processes.max.get(), spec.processes.spare), (5, 2));
    assert!(spec.processes.idle_timeout.is_zero());
}

#[test]
fn processes_have_two_forms() {
    let numbers = |members: &str| {
        let processes = application(members).processes;
        (processes.max.get(), processes.spare)
    };
    assert_eq!(numbers(r#", "processes": 4"#), (4, 4));
    assert_eq!(numbers(r#", "processes": 2e1"#), (20, 20));
    assert_eq!(numbers(r#", "processes": {}"#), (1, 0));
    assert_eq!(numbers(r#", "processes": {"spare": 1}"#), (1, 1));
    let limits = application(r#", "limits": {"timeout": 0, "requests": 0}"#).limits;
    assert_eq!((limits.timeout, limits.requests), (None, None));
}

#[test]
fn processes_may_be_left_to_the_server() {
    let processes = application(r#", "processes": "auto""#).processes;
    assert_eq!((processes.growth, processes.spare), (PoolGrowth::ByWaiting, 1));
    assert_eq!(application(r#", "processes": {}"#).processes.growth, PoolGrowth::ByRequests);
    for wrong in ["many", "", "4"] {
        let detail = "The \"processes\" string must be \"auto\".";
        check_member("processes", &format!("{wrong:?}"), ("/processes", detail));
    }
}

#[test]
fn memory_has_two_forms() {
    let bounds = |memory: &str| {
        let bounds = application(&format!(r#", "limits": {{"memory": {memory}}}"#)).limits.memory;
        [bounds.soft, bounds.hard].map(|bound| bound.map(std::num::NonZero::get))
    };
    assert_eq!(bounds("1000"), [Some(1000), None]);
    assert_eq!(bounds("{}"), [None, None]);
    assert_eq!(bounds(r#"{"soft": 1, "hard": 99999999999999}"#), [Some(1), Some(99_999_999_999_999)]);
    assert_eq!(bounds(r#"{"hard": 5}"#), [None, Some(5)]);
}

#[test]
fn php_options_are_read() {
    let spec = application(
        r#", "script": "index.php", "index": "i.php", "options": {"file": "/ini", "sapi_name": "fpm-fcgi",
           "admin": {"memory_limit": "1G"}, "user": {"display_errors": "0"}}"#,
    );
    let php = php(spec);
    assert_eq!(php.targets[0].script.as_deref(), Some("index.php".as_ref()));
    assert_eq!(php.targets[0].index, "i.php");
    assert_eq!(
        (php.ini_file.as_deref(), php.sapi_name.as_deref()),
        (Some("/ini".as_ref()), Some("fpm-fcgi"))
    );
    assert_eq!(php.admin, [("memory_limit".to_owned(), "1G".to_owned())]);
    assert_eq!(php.user, [("display_errors".to_owned(), "0".to_owned())]);
}

#[test]
fn targets_keep_their_order() {
    let config = config(
        r#"{"applications": {"a": {"type": "php8.2", "targets": {
            "z": {"root": "/z"}, "b": {"root": "/b", "script": "s.php", "index": "i"}}}}}"#,
    );
    let spec = config.applications.into_values().remove(0);
    assert_eq!(spec.runtime.target_names(), ["z", "b"]);
    assert_eq!(php(spec).targets[1].index, "i");
}

#[test]
fn the_type_decides_what_runs() {
    check("{}", &[("", "Application must have the \"type\" property set.")]);
    check(r#"{"type": 8}"#, &[("/type", "The \"type\" value must be a string, but not an integer number.")]);
    check("1", &[("", "The \"a\" value must be an object, but not an integer number.")]);
    let missing = "The module to run \"php 7\" is not found among the available application modules.";
    check(r#"{"type": "php 7"}"#, &[("/type", missing)]);
    let unknown = "The module to run \"cobol\" is not found among the available application modules.";
    check(r#"{"type": "cobol", "nonsense": 1}"#, &[("/type", unknown)]);
}

#[test]
fn numbers_are_checked() {
    let least = |name: &str| format!("The \"{name}\" number must be equal to or greater than 1.");
    check_member("processes", "0", ("/processes", &least("processes")));
    check_member("processes", "-3", ("/processes", &least("processes")));
    check_member(
        "processes",
        "1000001",
        ("/processes", "The \"processes\" number must not exceed 1000000: each is a process of the system."),
    );
    check_member("processes", r#"{"max": 0}"#, ("/processes/max", &least("max")));
    check_member(
        "processes",
        r#"{"max": 1e10}"#,
        ("/processes/max", "The \"max\" number must not exceed 1000000: each is a process of the system."),
    );
    check_member(
        "processes",
        r#"{"spare": -1}"#,
        ("/processes/spare", "The \"spare\" number must not be negative."),
    );
    let above = "The \"spare\" number must be less than or equal to \"max\".";
    check_member("processes", r#"{"spare": 3, "max": 2}"#, ("/processes/spare", above));
    check_member("processes", r#"{"spare": 2}"#, ("/processes/spare", above));
    let negative = "The \"idle_timeout\" number must not be negative.";
    check_member("processes", r#"{"idle_timeout": -1}"#, ("/processes/idle_timeout", negative));
    let long = "The \"idle_timeout\" number must not exceed 2147483.";
    check_member("processes", r#"{"idle_timeout": 2147484}"#, ("/processes/idle_timeout", long));
    check_member(
        "limits",
        r#"{"timeout": -1}"#,
        ("/limits/timeout", "The \"timeout\" number must not be negative."),
    );
    check_member(
        "limits",
        r#"{"requests": -1}"#,
        ("/limits/requests", "The \"requests\" number must not be negative."),
    );
    check_member("limits", r#"{"shm": -1}"#, ("/limits/shm", "The \"shm\" number must not be negative."));
    let either =
        "The \"processes\" value must be either an integer number or an object, but not a fractional number.";
    check_member("processes", "1.5", ("/processes", either));
}

#[test]
fn the_environment_is_checked() {
    let pointer = "/environment/";
    check_member("environment", r#"{"": "x"}"#, (pointer, "The environment name must not be empty."));
    check_member(
        "environment",
        r#"{"A=": "x"}"#,
        ("/environment/A=", "The environment name must not contain '=' character."),
    );
    check_member(
        "environment",
        r#"{"A\u0000": "x"}"#,
        ("/environment/A\0", "The environment name must not contain null character."),
    );
    check_member(
        "environment",
        r#"{"A": 1}"#,
        ("/environment/A", "The \"A\" environment value must be a string."),
    );
    check_member(
        "environment",
        r#"{"A": "\u0000"}"#,
        ("/environment/A", "The \"A\" environment value must not contain null character."),
    );
}

#[test]
fn paths_and_names_are_checked() {
    for name in ["user", "group", "working_directory", "stdout", "stderr"] {
        let pointer = format!("/{name}");
        check_member(name, r#""""#, (&pointer, &format!("The \"{name}\" string must not be empty.")));
        let null = format!("The \"{name}\" string must not contain null character.");
        check_member(name, r#""a\u0000""#, (&pointer, &null));
    }
}

#[test]
fn php_options_are_checked() {
    check(r#"{"type": "php"}"#, &[("", "Required parameter \"root\" is missing.")]);
    check_member("root2", "1", ("/root2", "Unknown parameter \"root2\"."));
    let sapi = "The \"sapi_name\" string must be 1 to 32 lower-case letters, digits or hyphens.";
    check_member("options", r#"{"sapi_name": "CLI"}"#, ("/options/sapi_name", sapi));
    check_member("options", r#"{"sapi_name": "a b"}"#, ("/options/sapi_name", sapi));
    let long = format!(r#"{{"sapi_name": "{}"}}"#, "x".repeat(33));
    check_member("options", &long, ("/options/sapi_name", sapi));
    check_member(
        "options",
        r#"{"sapi_name": ""}"#,
        ("/options/sapi_name", "The \"sapi_name\" string must not be empty."),
    );
    check_member(
        "options",
        r#"{"admin": {"": "x"}}"#,
        ("/options/admin/", "The PHP option name must not be empty."),
    );
    check_member(
        "options",
        r#"{"user": {"a.b": 1}}"#,
        ("/options/user/a.b", "The \"a.b\" PHP option must be a string."),
    );
    check_member("options", r#"{"files": "x"}"#, ("/options/files", "Unknown parameter \"files\"."));
}

#[test]
fn targets_are_checked() {
    let twin =
        |name: &str| format!("The \"{name}\" option is mutually exclusive with the \"targets\" object.");
    check(
        r#"{"type": "php", "root": "/", "index": "i", "targets": {"t": {"root": "/"}}}"#,
        &[("/root", &twin("root")), ("/index", &twin("index"))],
    );
    let missing = "Required parameter \"root\" is missing.";
    check(r#"{"type": "php", "targets": {"t": {}}}"#, &[("/targets/t", missing)]);
    check(
        r#"{"type": "php", "targets": {"t": 1}}"#,
        &[("/targets/t", "The \"t\" target must be an object.")],
    );
    check(
        r#"{"type": "php", "targets": {"": {"root": "/"}}}"#,
        &[("/targets/", "The target name must not be empty.")],
    );
    check(
        r#"{"type": "php", "targets": {}}"#,
        &[("/targets", "The \"targets\" object must contain at least one member.")],
    );
    let many: Vec<_> = (0..255).map(|idx| format!(r#""t{idx}": {{"root": "/"}}"#)).collect();
    check(
        &format!(r#"{{"type": "php", "targets": {{{}}}}}"#, many.join(",")),
        &[("/targets", "The \"targets\" object must not contain more than 254 members.")],
    );
}

#[test]
fn nothing_runs_for_ever_unless_it_is_said() {
    let seconds = |time: Option<std::time::Duration>| time.map(|time| time.as_secs());
    for (members, kill_after, at_last, drain) in [
        ("", None, Some(86400), Some(3600)),
        (r#", "limits": {"kill_after": 5}"#, Some(5), None, Some(3600)),
        (r#", "limits": {"kill_after": 0}, "restart": {"drain_timeout": 0}"#, None, None, None),
        (r#", "limits": {"slow": 1}, "restart": {"drain_timeout": 7}"#, None, Some(86400), Some(7)),
        (r#", "restart": {"mode": "switch"}"#, None, Some(86400), Some(30)),
        (r#", "restart": {"mode": "rolling"}"#, None, Some(86400), Some(3600)),
    ] {
        let spec = application(members);
        let limits = (seconds(spec.limits.kill_after), seconds(spec.limits.kill_at_last));
        assert_eq!(
            (limits, seconds(spec.restart.drain_timeout)),
            ((kill_after, at_last), drain),
            "{members}"
        );
    }
}

#[test]
fn a_worker_is_read_and_what_it_says_of_all_applications_applies() {
    let spec = application(
        r#", "limits": {"requests": 100}, "environment": {"A": "1"}, "restart": {"watch": ["/r"]},
           "worker": {"script": "w.php", "max_requests": 50, "watch": ["/a"], "env": {"A": "2", "B": "3"},
           "guard": "recycle", "compatibility": false}"#,
    );
    assert_eq!(spec.limits.requests.map(std::num::NonZero::get), Some(50));
    assert_eq!(spec.restart.watch, ["/r", "/a"].map(std::path::PathBuf::from));
    let pairs = |pairs: &[(&str, &str)]| -> Vec<_> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    assert_eq!(spec.environment, pairs(&[("A", "1"), ("B", "3")]));
    let worker = php(spec).worker().cloned().expect("there is a worker");
    assert_eq!((worker.script.to_str(), worker.compatibility), (Some("w.php"), false));
    assert_eq!((worker.guard, worker.environment), (Guard::Recycle, pairs(&[("A", "2"), ("B", "3")])));
}

#[test]
fn a_worker_has_defaults() {
    let spec =
        application(r#", "limits": {"requests": 10}, "worker": {"script": "w.php", "max_requests": 50}"#);
    assert_eq!(spec.limits.requests.map(std::num::NonZero::get), Some(10), "the lower one counts");
    let worker = php(spec).worker().cloned().expect("there is a worker");
    assert_eq!((worker.guard, worker.compatibility), (Guard::Report, true));
}

#[test]
fn what_is_wrong_with_a_worker_is_said() {
    check_member("worker", "{}", ("/worker", "Required parameter \"script\" is missing."));
    let guard = "The \"guard\" string must be \"report\", \"restore\", \"recycle\" or \"off\".";
    check_member("worker", r#"{"script": "w.php", "guard": "on"}"#, ("/worker/guard", guard));
    let watch = "The \"watch\" array must contain only absolute paths.";
    check_member("worker", r#"{"script": "w.php", "watch": ["a"]}"#, ("/worker/watch/0", watch));
    check(
        r#"{"type": "php", "root": "/www", "script": "i.php", "worker": {"script": "w.php"}}"#,
        &[("/script", "The \"script\" option is mutually exclusive with the \"worker\" object.")],
    );
    check(
        r#"{"type": "php", "targets": {"a": {"root": "/www"}}, "worker": {"script": "w.php"}}"#,
        &[("/worker", "The \"worker\" option is mutually exclusive with the \"targets\" object.")],
    );
}

/// Each application that runs, with the targets that it serves; `*` is behind those with a worker.
#[track_caller]
fn groups_of(targets: &str) -> Vec<String> {
    let config = config(&format!(
        r#"{{"applications": {{"a": {{"type": "php", "targets": {targets}}}, "b": {{"type": "php", "root": "/"}}}},
            "listeners": {{"*:80": {{"pass": "applications/a/last"}}, "*:81": {{"pass": "applications/a/first"}}}}}}"#
    ));
    let described = config.applications.iter().map(|spec| {
        let RuntimeSpec::Php(php) = &spec.runtime else { panic!("{spec:?}") };
        let mark =
            |target: &PhpTarget| format!("{}{}", target.name, if target.worker.is_some() { "*" } else { "" });
        format!("{}: {}", spec.name, php.targets.iter().map(mark).collect::<Vec<_>>().join(" "))
    });
    let passes = config.listeners.iter().map(|listener| format!("{:?}", listener.pass));
    described.chain(passes).collect()
}

#[test]
fn targets_with_a_worker_have_processes_of_their_own() {
    let passes = |last: (usize, usize), first: (usize, usize)| {
        [last, first].map(|(app, target)| format!("Application {{ app: {app}, target: {target} }}"))
    };
    let check = |targets: &str, apps: &[&str], last, first| {
        let expect: Vec<_> = apps.iter().map(|app| (*app).to_owned()).chain(passes(last, first)).collect();
        assert_eq!(groups_of(targets), expect);
    };
    let (plain, worker) = (r#"{"root": "/"}"#, r#"{"root": "/", "worker": {"script": "w.php"}}"#);
    check(&format!(r#"{{"first": {plain}, "last": {plain}}}"#), &["a: first last", "b: "], (0, 1), (0, 0));
    check(
        &format!(r#"{{"first": {plain}, "w": {worker}, "last": {plain}}}"#),
        &["a: first last", "b: ", "a/w: w*"],
        (0, 1),
        (0, 0),
    );
    check(
        &format!(r#"{{"first": {worker}, "v": {plain}, "last": {worker}}}"#),
        &["a: first*", "b: ", "a/v: v", "a/last: last*"],
        (3, 0),
        (0, 0),
    );
}

#[test]
fn processes_of_a_target_and_an_application_need_two_names() {
    check_problems(
        r#"{"applications": {"a": {"type": "php", "targets": {"x": {"root": "/"}, "y": {"root": "/", "worker": {"script": "w"}}}},
            "a/y": {"type": "php", "root": "/"}}}"#,
        &[("/applications/a~1y", "The processes of a target with a worker are called \"a/y\" already.")],
    );
}
