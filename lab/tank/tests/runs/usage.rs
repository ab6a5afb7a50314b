//! A wrong command line or file ends with 2 and a text that says what is wrong and where.

use std::fs;

use crate::nginx::folder;
use crate::tank::{plain, tank};

const URL: &str = "http://127.0.0.1:1/";

#[track_caller]
fn check(arguments: &[&str], words: &str) {
    let run = tank(arguments);
    assert!(run.stderr.contains(words), "{words:?} in {}", run.stderr);
    assert_eq!((run.code, run.json.is_null()), (Some(2), true));
}

#[test]
fn options() {
    check(&[], "<URL>");
    check(&["-s", "const(1,5x)", URL], "column 9: expected a duration such as 30s");
    check(&["-s", "const(1,5s)", "-d", "5s", URL], "cannot be used with");
    check(&["--stop", "tme(1s,1s)", URL], "column 1: expected time, quantile, http, net");
    check(&["--timeout", "0", URL], "expected a duration above 0");
    check(&["--expect-status", "2x", URL], "expected statuses such as 200,204,3xx");
    check(&["--expect-body", "", URL], "--expect-body needs a text");
    check(&["--streams", "2", URL], "--http2");
    check(&["-H", "no colon", URL], "expected \"Name: value\", found \"no colon\"");
    check(&["-X", "a b", URL], "invalid HTTP method");
}

#[test]
fn urls() {
    check(&["ftp://127.0.0.1/"], "does not begin with http:// or https://");
    check(&["/path"], "does not begin with http:// or https://");
    check(&["x http://127.0.0.1/"], "expected a weight from 1, found \"x\"");
    check(&["1000001 http://127.0.0.1/", "http://127.0.0.1/b"], "weights add up to more than 1000000");
}

#[test]
fn files() {
    check(&["--ammo", "/no/such/file", URL], "read /no/such/file");
    check(&["--ca", "/no/such/file", "https://127.0.0.1:1/"], "read /no/such/file");
    check(&["--phout", "/no/such/file", URL], "create /no/such/file");
    let folder = folder();
    let path = folder.path().join("ammo");
    fs::write(&path, "/one\ntwo\n").expect("the folder takes files");
    let path = path.to_str().expect("temporary folders have plain names");
    check(&["--ammo", path, URL], "ammo: line 2: expected a path that begins with \"/\", found \"two\"");
    check(&["--ammo", path, "http://127.0.0.1:1/a"], "is too much of a URL");
    check(&["--ammo", path, URL, URL], "--ammo needs one URL");
    check(&["--ca", path, "https://127.0.0.1:1/"], "has no certificate");
}

#[test]
fn the_help_has_examples() {
    let output = plain(&["--help"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in ["corral-tank --schedule 'line(1,1000,5m) const(1000,1m)' http://", "Exit status: 0"] {
        assert!(text.contains(words), "{text}");
    }
    assert!(output.status.success());
}
