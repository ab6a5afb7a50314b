//! Python applications: what they become, and what is wrong with them.

use super::{check_problems, config};
use crate::plan::{PythonProtocol, PythonSpec, RuntimeSpec};

/// The only application, whose members besides `type` are given.
#[track_caller]
fn python(members: &str) -> PythonSpec {
    let config = config(&format!(r#"{{"applications": {{"a": {{"type": "python 3.11", {members}}}}}}}"#));
    let spec = config.applications.into_values().remove(0);
    assert_eq!(spec.module.to_str(), Some("/opt/corral-python"));
    let RuntimeSpec::Python(python) = spec.runtime else { panic!("{spec:?}") };
    python
}

/// `expect` are the problems of one application, with pointers relative to it.
#[track_caller]
fn check(members: &str, expect: &[(&str, &str)]) {
    let expect: Vec<_> =
        expect.iter().map(|(pointer, detail)| (format!("/applications/a{pointer}"), *detail)).collect();
    let expect: Vec<_> = expect.iter().map(|(pointer, detail)| (pointer.as_str(), *detail)).collect();
    check_problems(&format!(r#"{{"applications": {{"a": {{"type": "python"{members}}}}}}}"#), &expect);
}

/// The problem that the value of one member has.
#[track_caller]
fn check_member(name: &str, value: &str, detail: &str) {
    check(&format!(r#", "module": "m", "{name}": {value}"#), &[(&format!("/{name}"), detail)]);
}

#[test]
fn defaults_are_filled_in() {
    let spec = python(r#""module": "site.wsgi""#);
    let [target] = &spec.targets[..] else { panic!("{spec:?}") };
    assert_eq!((&*target.name, &*target.module, &*target.callable), ("", "site.wsgi", "application"));
    assert_eq!((target.factory, target.prefix.as_ref()), (false, None));
    assert_eq!((spec.home, spec.protocol, spec.thread_stack_size), (None, None, None));
    assert_eq!((spec.path.len(), spec.threads.get()), (0, 1));
}

#[test]
fn options_are_read() {
    let spec = python(
        r#""module": "m", "callable": "app", "factory": true, "prefix": "/p/", "home": "/venv", "path": "/a",
           "protocol": "asgi", "threads": 8, "thread_stack_size": 1048576"#,
    );
    let target = &spec.targets[0];
    assert_eq!((&*target.callable, target.factory, target.prefix.as_deref()), ("app", true, Some("/p")));
    assert_eq!((spec.home.as_deref(), spec.threads.get()), (Some("/venv".as_ref()), 8));
    assert_eq!(spec.protocol, Some(PythonProtocol::Asgi));
    assert_eq!(spec.thread_stack_size.map(std::num::NonZero::get), Some(1_048_576));
    assert_eq!(spec.path, ["/a"].map(std::path::PathBuf::from));
    let spec = python(r#""module": "m", "path": ["/b", "c"], "prefix": "/", "protocol": "wsgi""#);
    assert_eq!(spec.path, ["/b", "c"].map(std::path::PathBuf::from));
    assert_eq!((spec.targets[0].prefix.as_ref(), spec.protocol), (None, Some(PythonProtocol::Wsgi)));
}

#[test]
fn targets_keep_their_order() {
    let spec = python(
        r#""targets": {"z": {"module": "m"}, "b": {"module": "n", "callable": "c", "factory": true, "prefix": "/x"}}"#,
    );
    let targets: Vec<_> = spec.targets.iter().map(|target| (&*target.name, &*target.callable)).collect();
    assert_eq!(targets, [("z", "application"), ("b", "c")]);
    assert_eq!((spec.targets[1].factory, spec.targets[1].prefix.as_deref()), (true, Some("/x")));
    assert_eq!(RuntimeSpec::Python(spec).target_names(), ["z", "b"]);
}

#[test]
fn targets_are_checked() {
    check("", &[("", "Required parameter \"module\" is missing.")]);
    let twin =
        |name: &str| format!("The \"{name}\" option is mutually exclusive with the \"targets\" object.");
    check(
        r#", "module": "m", "callable": "c", "factory": true, "prefix": "/", "targets": {"t": {"module": "m"}}"#,
        &[
            ("/module", &twin("module")),
            ("/callable", &twin("callable")),
            ("/factory", &twin("factory")),
            ("/prefix", &twin("prefix")),
        ],
    );
    check(r#", "targets": {"t": {}}"#, &[("/targets/t", "Required parameter \"module\" is missing.")]);
    check(r#", "targets": {"t": 1}"#, &[("/targets/t", "The \"t\" target must be an object.")]);
    check(
        r#", "targets": {"t": {"module": "m", "home": "/"}}"#,
        &[("/targets/t/home", "Unknown parameter \"home\".")],
    );
    let empty = "The \"targets\" object must contain at least one member.";
    check(r#", "targets": {}"#, &[("/targets", empty)]);
}

#[test]
fn values_are_checked() {
    check_member("prefix", r#""app""#, "The \"prefix\" must be a string beginning with \"/\".");
    check_member("prefix", r#""""#, "The \"prefix\" must be a string beginning with \"/\".");
    check_member("protocol", r#""http""#, "The \"protocol\" can either be \"wsgi\" or \"asgi\".");
    check_member("threads", "0", "The \"threads\" number must be equal to or greater than 1.");
    check_member("callable", r#""""#, "The \"callable\" string must not be empty.");
    check_member("home", r#""""#, "The \"home\" string must not be empty.");
    check_member("root", r#""/""#, "Unknown parameter \"root\".");
    let multiple = "The \"thread_stack_size\" number must be a multiple of the system page size (4096).";
    check_member("thread_stack_size", "1048577", multiple);
    let strings = "The \"path\" array must contain only string values.";
    check(r#", "module": "m", "path": ["/a", 1]"#, &[("/path/1", strings)]);
    let either = "The \"path\" value must be either a string or an array, but not an integer number.";
    check_member("path", "1", either);
}

#[test]
fn stacks_have_a_least_size() {
    let problems = crate::validate(
        &crate::json::parse(
            br#"{"applications": {"a": {"type": "python", "module": "m", "thread_stack_size": 4096}}}"#,
        )
        .unwrap(),
        &super::known(),
    );
    let detail = problems.unwrap_err().remove(0).detail;
    assert!(
        detail.starts_with("The \"thread_stack_size\" number must be equal to or greater than "),
        "{detail}"
    );
}
