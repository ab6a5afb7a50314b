//! Options of WebAssembly applications.

use super::{check_problems, config};
use crate::plan::{RuntimeSpec, WasmSpec};

#[track_caller]
fn wasm(members: &str) -> WasmSpec {
    let document = format!(r#"{{"applications": {{"a": {{"type": "wasm-wasi-component", {members}}}}}}}"#);
    let RuntimeSpec::Wasm(wasm) = config(&document).applications.into_values().remove(0).runtime else {
        panic!("it is WebAssembly")
    };
    wasm
}

#[test]
fn a_component_is_all_that_it_takes() {
    let spec = wasm(r#""component": "/srv/app.wasm""#);
    assert_eq!(spec.component.to_str(), Some("/srv/app.wasm"));
    assert!(spec.filesystem.is_empty());
    let spec = wasm(r#""component": "a", "access": {"filesystem": ["/tmp", "data"]}"#);
    assert_eq!(spec.filesystem, ["/tmp", "data"]);
    assert!(wasm(r#""component": "a", "access": {}"#).filesystem.is_empty());
}

#[test]
fn what_is_wrong_is_said() {
    let check = |members: &str, pointer: &str, detail: &str| {
        check_problems(
            &format!(r#"{{"applications": {{"a": {{"type": "wasm-wasi-component"{members}}}}}}}"#),
            &[(&format!("/applications/a{pointer}"), detail)],
        );
    };
    check("", "", "Required parameter \"component\" is missing.");
    check(
        r#", "component": "a", "access": []"#,
        "/access",
        "The \"access\" value must be an object, but not an array.",
    );
    check(
        r#", "component": "a", "access": {"filesystem": "/tmp"}"#,
        "/access/filesystem",
        "The \"filesystem\" value must be an array, but not a string.",
    );
    check(
        r#", "component": "a", "access": {"filesystem": ["/tmp", 5]}"#,
        "/access/filesystem/1",
        "The \"filesystem\" array must contain only string values.",
    );
    check(
        r#", "component": "a", "access": {"filesystem": [""]}"#,
        "/access/filesystem/0",
        "The \"filesystem\" string must not be empty.",
    );
}

#[test]
fn modules_of_before_are_refused_with_a_way_out() {
    check_problems(
        r#"{"applications": {"a": {"type": "wasm", "module": "/srv/app.wasm", "request_handler": "h"}}}"#,
        &[(
            "/applications/a/type",
            "The \"wasm\" application type is not supported: it runs modules that were written for an interface of \
             NGINX Unit alone. Build a component for wasi:http, and use the type \"wasm-wasi-component\".",
        )],
    );
}
