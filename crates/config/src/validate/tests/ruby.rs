//! Options of Ruby applications.

use super::{check_problems, config};
use crate::plan::{RubySpec, RuntimeSpec};

#[track_caller]
fn ruby(members: &str) -> RubySpec {
    let config = config(&format!(r#"{{"applications": {{"a": {{"type": "ruby 3.1", {members}}}}}}}"#));
    let RuntimeSpec::Ruby(ruby) = config.applications.into_values().remove(0).runtime else {
        panic!("it is Ruby's")
    };
    ruby
}

#[test]
fn a_script_is_all_that_it_takes() {
    let spec = ruby(r#""script": "/srv/config.ru""#);
    assert_eq!(spec.script.to_str(), Some("/srv/config.ru"));
    assert_eq!((spec.hooks, spec.preload, spec.threads.get()), (None, false, 1));
    let spec = ruby(r#""script": "a", "hooks": "hooks.rb", "preload": true, "threads": 5"#);
    assert_eq!((spec.hooks, spec.preload, spec.threads.get()), (Some("hooks.rb".into()), true, 5));
}

#[test]
fn what_is_wrong_is_said() {
    let check = |members: &str, pointer: &str, detail: &str| {
        check_problems(
            &format!(r#"{{"applications": {{"a": {{"type": "ruby"{members}}}}}}}"#),
            &[(&format!("/applications/a{pointer}"), detail)],
        );
    };
    check("", "", "Required parameter \"script\" is missing.");
    check(
        r#", "script": "a", "threads": 0"#,
        "/threads",
        "The \"threads\" number must be equal to or greater than 1.",
    );
    check(
        r#", "script": "a", "hooks": 5"#,
        "/hooks",
        "The \"hooks\" value must be a string, but not an integer number.",
    );
}
