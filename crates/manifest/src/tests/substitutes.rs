//! `${env:…}` and `${file:…}`.

use corral_config::Known;

use super::{check, check_faults, compact, read_all};

/// A string of JSON, and what becomes of it.
#[track_caller]
fn check_text(text: &str, expected: &str) {
    check(&[("a.json", &format!("{{\"a\": \"{text}\"}}"))], &format!("{{\"a\":\"{expected}\"}}"));
}

#[test]
fn strings_are_filled_in() {
    check_text("${env:PORT}", "8080");
    check_text("a-${env:NAME}-b-${env:PORT}", "a-blog-b-8080");
    check_text("${file:/run/secret}", "s3cret");
    check_text("${file:/run/lines}", "a\\nb");
    check_text("${file:where}", "a.json");
    check_text("${env:NOPE:-else}", "else");
    check_text("${env:NOPE:-}", "");
    check_text("${env:EMPTY:-else}", "else");
    check_text("${env:EMPTY}", "");
    check_text("${env:PORT:-1}", "8080");
}

#[test]
fn what_is_inserted_is_not_read_again() {
    check_text("${env:DOLLAR}", "${env:PORT}");
}

#[test]
fn templates_and_escapes_stay() {
    check_text("/www$uri", "/www$uri");
    check_text("${uri}${host}", "${uri}${host}");
    check_text("$${env:PORT}", "${env:PORT}");
    check_text("$${file:/x}-${env:PORT}", "${file:/x}-8080");
    check_text("$${uri}", "$${uri}");
    check_text("`${env.PORT}`", "`${env.PORT}`");
    check_text("$env:PORT", "$env:PORT");
}

#[test]
fn names_are_filled_in() {
    check(
        &[("a.yaml", "listeners:\n  '127.0.0.1:${env:PORT}': {pass: routes}\n")],
        r#"{"listeners":{"127.0.0.1:8080":{"pass":"routes"}}}"#,
    );
    check_faults(
        &[("a.yaml", "a:\n  blog: 1\n  ${env:NAME}: 2\n")],
        &["a.yaml:3:3: The object has a member with the name \"blog\" already, in line 2."],
    );
}

#[test]
fn what_cannot_be_inserted_is_named() {
    check_faults(
        &[(
            "a.json",
            "{\n\"a\": [\"${env:NOPE}\",\n  \"x${file:/none}\"], \"${env:}\": \"${env:A-B}\", \"b\": \"${env:PORT\"}",
        )],
        &[
            "a.json:2:7: The environment variable \"NOPE\" is not set; \"${env:NOPE:-VALUE}\"",
            "a.json:3:3: The file \"/none\" cannot be inserted: it does not exist.",
            "a.json:3:33: \"A-B\" is not a name of an environment variable.",
            "a.json:3:22: \"\" is not a name of an environment variable.",
            "a.json:3:52: \"${env:PORT\" has no closing brace (}).",
        ],
    );
}

/// The document after it was validated.
#[track_caller]
fn check_validated(text: &str, expected: &str) {
    let mut manifest = read_all(&[("a.json", text)]).unwrap();
    if let Err(faults) = manifest.validate(&Known::validated_elsewhere()) {
        panic!("{faults:#?}");
    }
    assert_eq!(compact(&manifest), expected);
}

#[test]
fn a_substitute_becomes_a_number_where_none_else_fits() {
    check_validated(
        r#"{"settings": {"http": {"idle_timeout": "${env:PORT}", "server_version": "${env:YES}"}}}"#,
        r#"{"settings":{"http":{"idle_timeout":8080,"server_version":true}}}"#,
    );
    check_validated(
        r#"{"applications": {"a": {"type": "php", "root": "/", "environment": {"PORT": "${env:PORT}"}}}}"#,
        r#"{"applications":{"a":{"type":"php","root":"/","environment":{"PORT":"8080"}}}}"#,
    );
    check_faults(
        &[("a.json", r#"{"settings": {"http": {"idle_timeout": "${env:NAME}"}}}"#)],
        &["a.json:1:24: /settings/http/idle_timeout: "],
    );
    check_faults(
        &[("a.json", r#"{"settings": {"http": {"idle_timeout": "8${env:PORT}"}}}"#)],
        &["a.json:1:24: /settings/http/idle_timeout: "],
    );
}
