//! Options of Perl applications.

use super::{check_problems, config};
use crate::plan::RuntimeSpec;

#[test]
fn a_script_is_all_that_it_takes() {
    let config = config(r#"{"applications": {"a": {"type": "perl 5.36", "script": "/srv/app.psgi"}}}"#);
    let RuntimeSpec::Perl(perl) = config.applications.into_values().remove(0).runtime else {
        panic!("it is Perl's")
    };
    assert_eq!(perl.script.to_str(), Some("/srv/app.psgi"));
    assert_eq!((perl.threads.get(), perl.thread_stack_size), (1, None));
}

#[test]
fn what_is_wrong_is_said() {
    let check = |members: &str, pointer: &str, detail: &str| {
        check_problems(
            &format!(r#"{{"applications": {{"a": {{"type": "perl"{members}}}}}}}"#),
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
        r#", "script": "a", "thread_stack_size": 20000"#,
        "/thread_stack_size",
        "The \"thread_stack_size\" number must be a multiple of the system page size (4096).",
    );
}
