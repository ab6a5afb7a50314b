//! Problems of documents, in the words of the contract.

use super::{check_problems, known};
use crate::json::parse;
use crate::validate;

/// `expect` are the problems of one action, with pointers relative to it.
#[track_caller]
fn check_action(action: &str, expect: &[(&str, &str)]) {
    let expect: Vec<_> =
        expect.iter().map(|(pointer, detail)| (format!("/routes/0/action{pointer}"), *detail)).collect();
    let expect: Vec<_> = expect.iter().map(|(pointer, detail)| (pointer.as_str(), *detail)).collect();
    check_problems(&format!(r#"{{"routes": [{{"action": {action}}}]}}"#), &expect);
}

/// `expect` is the problem of one `match` object, with a pointer relative to it.
#[track_caller]
fn check_match(conditions: &str, expect: (&str, &str)) {
    let document = format!(r#"{{"routes": [{{"match": {conditions}, "action": {{"return": 200}}}}]}}"#);
    check_problems(&document, &[(&format!("/routes/0/match{}", expect.0), expect.1)]);
}

/// `expect` is the problem of one listener on `*:80`, with a pointer relative to it.
#[track_caller]
fn check_listener(listener: &str, expect: (&str, &str)) {
    let document = format!(r#"{{"listeners": {{"*:80": {listener}}}, "routes": []}}"#);
    check_problems(&document, &[(&format!("/listeners/*:80{}", expect.0), expect.1)]);
}

#[track_caller]
fn check_suggestion(document: &str, expect: Option<&str>) {
    let problems = validate(&parse(document.as_bytes()).unwrap(), &known()).unwrap_err();
    assert_eq!(problems[0].suggestion.as_deref(), expect, "{document}");
}

#[test]
fn the_root_is_an_object() {
    check_problems("1", &[("", "The configuration must be an object, but not an integer number.")]);
    check_problems("1.5", &[("", "The configuration must be an object, but not a fractional number.")]);
    check_problems("null", &[("", "The configuration must be an object, but not a null.")]);
    check_problems("[]", &[("", "The configuration must be an object, but not an array.")]);
}

#[test]
fn types_are_named() {
    check_problems(
        r#"{"listeners": true}"#,
        &[("/listeners", "The \"listeners\" value must be an object, but not a boolean.")],
    );
    check_problems(
        r#"{"routes": "x"}"#,
        &[("/routes", "The \"routes\" value must be either an array or an object, but not a string.")],
    );
    check_problems(
        r#"{"settings": null}"#,
        &[("/settings", "The \"settings\" value must be an object, but not a null.")],
    );
    check_listener(
        r#"{"pass": "routes", "backlog": "1"}"#,
        (
            "/backlog",
            "The \"backlog\" value must be either an integer number or a fractional number, but not a string.",
        ),
    );
}

#[test]
fn every_problem_is_reported() {
    check_problems(
        r#"{"listenrs": {}, "settings": {"http": {"idle_timeout": -1, "nonsense": 1}}, "routes": [1, {"action": {}}],
            "a/b~c": {}, "access_log": ""}"#,
        &[
            ("/listenrs", "Unknown parameter \"listenrs\"."),
            (
                "/settings/http/idle_timeout",
                "The \"idle_timeout\" number must be equal to or greater than 1.",
            ),
            ("/settings/http/nonsense", "Unknown parameter \"nonsense\"."),
            ("/routes/0", "The \"routes\" array must contain only object values."),
            (
                "/routes/1/action",
                "The \"action\" object must have either \"pass\", \"return\", \"share\", or \"proxy\" option set.",
            ),
            ("/a~1b~0c", "Unknown parameter \"a/b~c\"."),
            ("/access_log", "The \"access_log\" string must not be empty."),
        ],
    );
}

#[test]
fn near_names_are_suggested() {
    check_suggestion(r#"{"listner": {}}"#, Some("listeners"));
    check_suggestion(r#"{"route": []}"#, Some("routes"));
    check_suggestion(r#"{"completely_different": {}}"#, None);
    check_suggestion(r#"{"settings": {"http": {"idle_timout": 1}}}"#, Some("idle_timeout"));
    check_suggestion(r#"{"applications": {"a": {"type": "phq"}}}"#, Some("php"));
    let pass = r#"{"listeners": {"*:80": {"pass": "applications/blgo"}}, "applications": {"blog": {"type": "php", "root": "/"}}}"#;
    check_suggestion(pass, Some("applications/blog"));
}

#[test]
fn listeners_are_checked() {
    let invalid = "The listener address \"localhost:80\" is invalid.";
    check_problems(
        r#"{"listeners": {"localhost:80": {"pass": "routes"}}, "routes": []}"#,
        &[("/listeners/localhost:80", invalid)],
    );
    let same = "The listener address \"0.0.0.0:80\" is the same as that of another listener.";
    check_problems(
        r#"{"listeners": {"*:80": {"pass": "routes"}, "0.0.0.0:80": {"pass": "routes"}}, "routes": []}"#,
        &[("/listeners/0.0.0.0:80", same)],
    );
    check_listener("[]", ("", "The \"*:80\" value must be an object, but not an array."));
    check_listener("{}", ("", "The listener must have the \"pass\" option set."));
    check_listener(
        r#"{"pass": "routes/x"}"#,
        ("/pass", "Request \"pass\" points to invalid location \"routes/x\"."),
    );
    check_listener(r#"{"pass": "routes//x"}"#, ("/pass", "Request \"pass\" value \"routes//x\" is invalid."));
    check_listener(r#"{"pass": ""}"#, ("/pass", "Request \"pass\" value \"\" is invalid."));
    check_listener(r#"{"pass": "$nope"}"#, ("/pass", "Unknown variable \"nope\" in the \"pass\" value."));
    check_listener(r#"{"pass": "a$"}"#, ("/pass", "Invalid variable at position 1 in the \"pass\" value."));
    check_listener(r#"{"pass": "`wrong`"}"#, ("/pass", "\"SyntaxError: wrong\" in the \"pass\" value."));
    let missing = "Listening socket is assigned for a non existing application \"x\".";
    check_listener(r#"{"application": "x"}"#, ("/application", missing));
    let low = "The \"backlog\" number must be equal to or greater than -1.";
    check_listener(r#"{"pass": "routes", "backlog": -2}"#, ("/backlog", low));
    let high = "The \"backlog\" number must not exceed 2147483647.";
    check_listener(r#"{"pass": "routes", "backlog": 2147483648}"#, ("/backlog", high));
}

#[test]
fn conditions_are_checked() {
    check_match(
        r#"{"uri": "/a**"}"#,
        ("/uri", "The \"match\" pattern must not contain double \"*\" markers."),
    );
    check_match(
        r#"{"uri": ["/a", "/%"]}"#,
        ("/uri/1", "The \"match\" pattern for \"uri\" is encoded but is invalid."),
    );
    check_match(r#"{"uri": [1]}"#, ("/uri/0", "The \"match\" pattern for \"uri\" must be a string."));
    check_match(r#"{"host": [{}]}"#, ("/host/0", "The \"match\" pattern for \"host\" must be strings."));
    check_match(
        r#"{"method": 1}"#,
        ("/method", "The \"method\" value must be either a string or an array, but not an integer number."),
    );
    let regex = "Invalid regular expression: unmatched closing parenthesis at offset 0";
    check_match(r#"{"host": "~)x"}"#, ("/host", regex));
    check_match(r#"{"url": "/"}"#, ("/url", "Unknown parameter \"url\"."));
    check_match(
        r#"{"query": "a%"}"#,
        ("/query", "The \"match\" pattern for \"query\" is encoded but is invalid."),
    );
    check_match(
        r#"{"query": [null]}"#,
        ("/query/0", "The \"match\" pattern for \"query\" must be a string."),
    );
    let scheme = "The \"scheme\" can either be \"http\" or \"https\".";
    check_match(r#"{"scheme": "ws"}"#, ("/scheme", scheme));
    check_match(r#"{"scheme": "!http"}"#, ("/scheme", scheme));
    check_match(r#"{"if": "$nope"}"#, ("/if", "Unknown variable \"nope\" in the \"if\" value."));
    check_match(r#"{"if": "!$"}"#, ("/if", "Invalid variable at position 0 in the \"if\" value."));
}

#[test]
fn sets_of_names_are_checked() {
    let encoded = "The \"match\" pattern for \"arguments\" is encoded but is invalid.";
    let empty = "The \"match\" pattern objects must not contain empty member names.";
    check_match(r#"{"arguments": {"a%": "x"}}"#, ("/arguments/a%", encoded));
    check_match(r#"{"arguments": {"a": "~%x"}}"#, ("/arguments/a", encoded));
    check_match(r#"{"arguments": {"": "x"}}"#, ("/arguments/", empty));
    check_match(r#"{"headers": [{"a": "x"}, {"": "x"}]}"#, ("/headers/1/", empty));
    check_match(
        r#"{"headers": [{}, "x"]}"#,
        ("/headers/1", "The \"match\" patterns for \"headers\" must be objects."),
    );
    check_match(
        r#"{"cookies": [[]]}"#,
        ("/cookies/0", "The \"match\" patterns for \"cookies\" must be objects."),
    );
    check_match(
        r#"{"arguments": [1]}"#,
        ("/arguments/0", "The \"match\" patterns for \"arguments\" must be an object."),
    );
    check_match(
        r#"{"arguments": {"a": [1]}}"#,
        ("/arguments/a/0", "The \"match\" pattern for \"arguments\" must be a string."),
    );
    check_match(
        r#"{"headers": {"a": {}}}"#,
        ("/headers/a", "The \"match\" pattern for \"headers\" must be strings."),
    );
    check_match(
        r#"{"cookies": {"a": 1}}"#,
        ("/cookies/a", "The \"match\" pattern for \"cookies\" must be strings."),
    );
    check_match(
        r#"{"cookies": "a"}"#,
        ("/cookies", "The \"cookies\" value must be either an array or an object, but not a string."),
    );
    check_match(
        r#"{"headers": {"a": "b**"}}"#,
        ("/headers/a", "The \"match\" pattern must not contain double \"*\" markers."),
    );
}

#[test]
fn conditions_on_addresses_are_checked() {
    let format = "The \"address\" format is invalid.";
    check_match(r#"{"source": "localhost"}"#, ("/source", format));
    check_match(r#"{"destination": ["10.0.0.1", "!10.0.0"]}"#, ("/destination/1", format));
    let kind = "The \"match\" pattern for \"address\" must be a string.";
    check_match(r#"{"source": [1]}"#, ("/source/0", kind));
    check_match(r#"{"source": "*"}"#, ("/source", "The \"address\" is too short."));
}

#[test]
fn actions_are_checked() {
    let several = "The \"action\" object must have just one of \"pass\", \"return\", \"share\", or \"proxy\" options \
        set.";
    check_action(r#"{"pass": "routes", "return": 200}"#, &[("", several)]);
    check_action(r#"{"return": 200, "index": "x"}"#, &[("/index", "Unknown parameter \"index\".")]);
    check_action(
        r#"{"pass": "routes", "location": "x"}"#,
        &[("/location", "Unknown parameter \"location\".")],
    );
    let range = "The \"return\" value is out of allowed HTTP status code range 0-999.";
    check_action(r#"{"return": 1000}"#, &[("/return", range)]);
    check_action(r#"{"return": -1}"#, &[("/return", range)]);
    check_action(r#"{"return": 1e15}"#, &[("/return", range)]);
    check_action(r#"{"share": []}"#, &[("/share", "The \"share\" array must contain at least one element.")]);
    check_action(
        r#"{"share": ["/a", 1]}"#,
        &[("/share/1", "The \"share\" array must contain only string values.")],
    );
    check_action(r#"{"share": "$x"}"#, &[("/share", "Unknown variable \"x\" in the \"share\" value.")]);
    check_action(
        r#"{"share": "/x", "types": [1]}"#,
        &[("/types/0", "The \"match\" pattern for \"types\" must be strings.")],
    );
    let inner = "The \"return\" value must be an integer number, but not a string.";
    check_action(r#"{"share": "/x", "fallback": {"return": "x"}}"#, &[("/fallback/return", inner)]);
}

#[test]
fn options_of_all_actions_are_checked() {
    check_action(
        r#"{"return": 200, "rewrite": "$x"}"#,
        &[("/rewrite", "Unknown variable \"x\" in the \"rewrite\" value.")],
    );
    let check = |headers: &str, pointer: &str, detail: &str| {
        let action = format!(r#"{{"return": 200, "response_headers": {headers}}}"#);
        check_action(&action, &[(&format!("/response_headers{pointer}"), detail)]);
    };
    check("[]", "", "The \"response_headers\" value must be an object, but not an array.");
    check(r#"{"": "x"}"#, "/", "The response header name must not be empty.");
    let length = "The \"Content-Length\" response header value is not supported";
    check(r#"{"Content-Length": "1"}"#, "/Content-Length", length);
    check(r#"{"X": 1}"#, "/X", "The \"X\" response header value must either be a string or a null");
    check(r#"{"X": "$"}"#, "/X", "Invalid variable at position 0 in the \"X\" value.");
    let control = "The \"X\" response header value must not contain control characters.";
    check(r#"{"X": "a\r\nb"}"#, "/X", control);
    let name = "The response header name \"X Y\" contains characters that no header name may have.";
    check(r#"{"X Y": null}"#, "/X Y", name);
}

#[test]
fn named_routes_are_arrays() {
    check_problems(
        r#"{"routes": {"a": {}}}"#,
        &[("/routes/a", "The \"a\" value must be an array, but not an object.")],
    );
}

#[test]
fn settings_are_checked() {
    let least = "The \"listen_threads\" number must be equal to or greater than 1.";
    check_problems(r#"{"settings": {"listen_threads": 0}}"#, &[("/settings/listen_threads", least)]);
    let negative = "The \"max_body_size\" number must not be negative.";
    check_problems(
        r#"{"settings": {"http": {"max_body_size": -1}}}"#,
        &[("/settings/http/max_body_size", negative)],
    );
    let fraction = "The \"idle_timeout\" value must be an integer number, but not a fractional number.";
    check_problems(
        r#"{"settings": {"http": {"idle_timeout": 1.5}}}"#,
        &[("/settings/http/idle_timeout", fraction)],
    );
    let types =
        |types: &str| format!(r#"{{"settings": {{"http": {{"static": {{"mime_types": {{{types}}}}}}}}}}}"#);
    let at = "/settings/http/static/mime_types/";
    check_problems(
        &types(r#""a/b": [1], "a/c": "", "a/d": {}"#),
        &[
            (&format!("{at}a~1b/0"), "The \"a/b\" MIME type array must contain only strings."),
            (&format!("{at}a~1c"), "An empty file extension for the \"a/c\" MIME type."),
            (
                &format!("{at}a~1d"),
                "The \"a/d\" value must be either a string or an array, but not an object.",
            ),
        ],
    );
    let twice =
        "The \".X\" file extension has been declared for \"a/b\" and \"a/c\" MIME types at the same time.";
    check_problems(&types(r#""a/b": ".x", "a/c": [".X"]"#), &[(&format!("{at}a~1c/0"), twice)]);
}
