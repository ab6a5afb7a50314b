//! `try`: the folders and scripts that it takes from what answers.

use super::config;
use crate::route::{LastTry, ScriptNames, TryFiles};
use crate::template::{Template, Variable, Variables};

/// `$uri` is `/u`, and every other variable `v`.
struct Request;

impl Variables for Request {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        out.extend_from_slice(if *variable == Variable::Uri { b"/u" } else { b"v" });
    }
}

fn text(template: &Template) -> String {
    let mut out = Vec::new();
    template.render_path(&mut Request, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn tried(action: &str, application: &str) -> TryFiles {
    let routes = format!(r#""routes": [{{"action": {{{action}}}}}]"#);
    let config = config(&format!(r#"{{{routes}, "applications": {{"a": {{{application}}}}}}}"#));
    config.tables.tries.values()[0].clone()
}

/// `expect` has the path of `/u` and the folder that it must lie in, the index and the ends of scripts.
#[track_caller]
fn check(action: &str, application: &str, expect: (&str, Option<&str>, &[&str], &[&str])) {
    let found = tried(action, application);
    let files = found.files.unwrap();
    let chroot = files.confinement.chroot.as_ref().map(text);
    let ScriptNames::Ends(ends) = found.scripts else { panic!("scripts have names") };
    assert_eq!(files.paths.iter().map(text).collect::<Vec<_>>(), [expect.0], "{action} {application}");
    assert_eq!(chroot.as_deref(), expect.1, "{action} {application}");
    assert_eq!(found.index, expect.2, "{action} {application}");
    assert_eq!(ends, expect.3, "{action} {application}");
}

#[test]
fn an_application_of_php_has_folder_index_and_scripts() {
    let try_php = r#""pass": "applications/a", "try": ["$uri", "/index.php"]"#;
    let both: &[&str] = &["index.php", "index.html"];
    check(try_php, r#""type": "php", "root": "/srv/www""#, ("/srv/www/u", None, both, &[".php"]));
    check(try_php, r#""type": "php", "root": "/srv/www//""#, ("/srv/www/u", None, both, &[".php"]));
    check(try_php, r#""type": "php", "root": "/""#, ("/u", None, both, &[".php"]));
    check(
        try_php,
        r#""type": "php", "root": "/a${dollar}b`", "index": "i.php""#,
        ("/a$b`/u", None, &["i.php", "index.html"], &[".php"]),
    );
    let relative = r#""type": "php", "root": "www", "working_directory": "/srv/""#;
    check(try_php, relative, ("/srv/www/u", None, both, &[".php"]));
    let jailed = r#""type": "php", "root": "/www", "isolation": {"rootfs": "/jail"}"#;
    check(try_php, jailed, ("/jail/www/u", Some("/jail"), both, &[".php"]));
    let by_target = r#""pass": "applications/a/two", "try": ["$uri", "=404"]"#;
    let targets =
        r#""type": "php", "targets": {"one": {"root": "/1"}, "two": {"root": "/2", "script": "x.php"}}"#;
    check(by_target, targets, ("/2/u", None, both, &[".php"]));
}

#[test]
fn an_object_goes_before_what_answers() {
    let action =
        r#""pass": "applications/a", "try": {"root": "/srv/$host", "paths": ["$uri"], "index": "x.html"}"#;
    check(action, r#""type": "php", "root": "/other""#, ("/srv/v/u", None, &["x.html"], &[".php"]));
    check(
        action,
        r#""type": "python", "path": "/", "module": "a""#,
        ("/srv/v/u", None, &["x.html"], &[".php"]),
    );
}

#[test]
fn gateways_and_programs_have_their_own_scripts() {
    let external = r#""type": "external", "executable": "a""#;
    let action =
        r#""fastcgi": "127.0.0.1:1", "root": "/srv", "split_path": [".pl"], "try": ["$uri", "=404"]"#;
    check(action, external, ("/srv/u", None, &["index.php", "index.html"], &[".pl"]));
    let pass = r#""pass": "applications/a", "try": ["$uri", "=404"]"#;
    let program = r#""type": "fastcgi", "executable": "a", "root": "/srv", "index": "i""#;
    check(pass, program, ("/srv/u", None, &["i", "index.html"], &[".php"]));
    let scripts = tried(pass, r#""type": "cgi", "root": "/srv""#).scripts;
    assert_eq!(scripts, ScriptNames::All);
}

#[test]
fn the_last_one_is_a_path_a_status_or_the_request_itself() {
    let last = |paths: &str| {
        tried(
            &format!(r#""return": 200, "try": {{"root": "/", "paths": {paths}}}"#),
            r#""type": "php", "root": "/""#,
        )
        .last
    };
    assert_eq!(last(r#"["$uri", "$uri"]"#), LastTry::Request);
    assert_eq!(last(r#"["=599"]"#), LastTry::Status(599));
    assert!(matches!(last(r#"["$uri/"]"#), LastTry::Path(_)));
}
