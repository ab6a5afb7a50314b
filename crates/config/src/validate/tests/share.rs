//! `share` with its options, and `settings.http.compression` and `websocket`.

use std::time::Duration;

use super::{check_problems, config, known};
use crate::json::parse;
use crate::route::{ActionKind, CacheRule, Listing, Share};
use crate::settings::{Compressor, Encoding, Level};
use crate::validate;

#[track_caller]
fn share(options: &str) -> Share {
    let config = config(&format!(r#"{{"routes": [{{"action": {{"share": "/www$uri", {options}}}}}]}}"#));
    match config.routes.values()[0].steps()[0].action.kind.clone() {
        ActionKind::Share(share) => share,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check_share(options: &str, expect: &[(&str, &str)]) {
    let at: Vec<_> =
        expect.iter().map(|(pointer, detail)| (format!("/routes/0/action{pointer}"), *detail)).collect();
    let expect: Vec<_> = at.iter().map(|(pointer, detail)| (pointer.as_str(), *detail)).collect();
    check_problems(&format!(r#"{{"routes": [{{"action": {{"share": "/www$uri", {options}}}}}]}}"#), &expect);
}

#[track_caller]
fn compressors(text: &str) -> Option<Vec<Compressor>> {
    let config = config(&format!(r#"{{"settings": {{"http": {{"compression": {text}}}}}}}"#));
    config.settings.http.compression.map(|compression| compression.compressors)
}

#[track_caller]
fn check_http(text: &str, expect: &[(&str, &str)]) {
    let at: Vec<_> =
        expect.iter().map(|(pointer, detail)| (format!("/settings/http{pointer}"), *detail)).collect();
    let expect: Vec<_> = at.iter().map(|(pointer, detail)| (pointer.as_str(), *detail)).collect();
    check_problems(&format!(r#"{{"settings": {{"http": {text}}}}}"#), &expect);
}

#[test]
fn a_way_is_free_unless_it_is_confined() {
    let free = share(r#""index": """#).confinement;
    assert!(free.chroot.is_none() && free.follow_symlinks && free.traverse_mounts);
    let confined = share(r#""chroot": "/www/$host", "follow_symlinks": false, "traverse_mounts": false"#);
    let confined = confined.confinement;
    assert!(confined.chroot.is_some() && !confined.follow_symlinks && !confined.traverse_mounts);
    check_share(
        r#""chroot": 1, "follow_symlinks": 0, "traverse_mounts": "no", "listing": 1, "cache_control": false"#,
        &[
            ("/chroot", "The \"chroot\" value must be a string, but not an integer number."),
            (
                "/follow_symlinks",
                "The \"follow_symlinks\" value must be a boolean, but not an integer number.",
            ),
            ("/traverse_mounts", "The \"traverse_mounts\" value must be a boolean, but not a string."),
            (
                "/listing",
                "The \"listing\" value must be either a boolean or an object, but not an integer number.",
            ),
            (
                "/cache_control",
                "The \"cache_control\" value must be either a string or an object, but not a boolean.",
            ),
        ],
    );
    check_share(r#""chroot": "$x""#, &[("/chroot", "Unknown variable \"x\" in the \"chroot\" value.")]);
}

#[test]
fn a_kernel_without_openat2_is_told_before_it_matters() {
    let document = parse(br#"{"routes": [{"action": {"share": "/a", "follow_symlinks": true}}]}"#).unwrap();
    let problems = validate(&document, &known().with_confinement(false)).unwrap_err();
    assert_eq!(problems[0].detail, "Unit is built without the \"follow_symlinks\" option support.");
    assert_eq!(problems[0].pointer, "/routes/0/action/follow_symlinks");
}

#[test]
fn folders_are_listed_when_asked_for() {
    let default = Listing { hidden: false, page_size: 1000 };
    assert_eq!(share(r#""listing": false"#).listing, None);
    assert_eq!(share(r#""listing": true"#).listing, Some(default.clone()));
    assert_eq!(share(r#""listing": {}"#).listing, Some(default));
    let listing = share(r#""listing": {"hidden": true, "page_size": 3}"#).listing;
    assert_eq!(listing, Some(Listing { hidden: true, page_size: 3 }));
    check_share(
        r#""listing": {"page_size": 0, "x": 1}"#,
        &[
            ("/listing/page_size", "The \"page_size\" number must be equal to or greater than 1."),
            ("/listing/x", "Unknown parameter \"x\"."),
        ],
    );
}

#[test]
fn cache_rules_are_found_by_path_or_type() {
    let rules = share(
        r#""cache_control": {"/assets/*": "a", "image/*": "b", "*.css": "c", "~^text/(html|plain)$": "d", "*": "e"}"#,
    )
    .cache_control;
    let first = |path: &str, mime_type: &str| {
        let applies = |rule: &&CacheRule| rule.applies(path.as_bytes(), mime_type.as_bytes()) == Ok(true);
        rules.iter().find(applies).and_then(|rule| rule.value.is_constant().map(<[u8]>::to_vec))
    };
    for (path, mime_type, value) in [
        ("/assets/x.png", "image/png", "a"),
        ("/x.png", "image/png", "b"),
        ("/x.CSS", "text/css", "c"),
        ("/x", "text/html", "d"),
        ("/x", "", "e"),
    ] {
        assert_eq!(first(path, mime_type), Some(value.as_bytes().to_vec()), "{path} {mime_type}");
    }
    assert_eq!(share(r#""cache_control": "no-store""#).cache_control[0].applies(b"/x", b""), Ok(true));
}

#[test]
fn cache_rules_are_checked() {
    check_share(
        r#""cache_control": {"!*.css": "a", "~(": "b", "*": 1, "/a": "$nope", "/b": "x\ny"}"#,
        &[
            (
                "/cache_control/!*.css",
                "The \"cache_control\" patterns must not be negated: the first that matches counts.",
            ),
            ("/cache_control/~0(", "Invalid regular expression: missing closing parenthesis"),
            ("/cache_control/*", "The \"*\" value must be a string, but not an integer number."),
            ("/cache_control/~1a", "Unknown variable \"nope\" in the \"/a\" value."),
            ("/cache_control/~1b", "The \"/b\" value must not contain control characters."),
        ],
    );
}

#[test]
fn compressors_are_an_array_or_one_object() {
    assert_eq!(compressors("{}"), None);
    assert_eq!(compressors(r#"{"types": "text/*"}"#), None);
    assert_eq!(compressors(r#"{"compressors": []}"#), None);
    let gzip = Compressor { encoding: Encoding::Gzip, level: Level::Default, min_length: 0 };
    assert_eq!(compressors(r#"{"compressors": {"encoding": "gzip"}}"#), Some(vec![gzip]));
    let all = r#"{"compressors": [
        {"encoding": "gzip", "level": -1, "min_length": 5}, {"encoding": "deflate", "level": 10},
        {"encoding": "zstd", "level": -7}, {"encoding": "br", "level": -1}, {"encoding": "identity"}]}"#;
    let all: Vec<_> =
        compressors(all).unwrap().into_iter().map(|c| (c.encoding, c.level, c.min_length)).collect();
    assert_eq!(
        all,
        [
            (Encoding::Gzip, Level::Chosen(-1), 5),
            (Encoding::Deflate, Level::OutOfRange(10), 0),
            (Encoding::Zstd, Level::Chosen(-7), 0),
            (Encoding::Brotli, Level::OutOfRange(-1), 0),
            (Encoding::Identity, Level::Default, 0),
        ]
    );
}

#[test]
fn compression_is_checked() {
    check_http(
        r#"{"compression": {"compressors": [1, {"encoding": "gzp"}, {"level": 1}, {"encoding": "br", "min_length": -1}]}}"#,
        &[
            ("/compression/compressors/0", "The \"compressors\" array must contain only object values."),
            ("/compression/compressors/1/encoding", "\"gzp\" is not a supported compressor."),
            ("/compression/compressors/2", "Required parameter \"encoding\" is missing."),
            ("/compression/compressors/3/min_length", "The \"min_length\" number must not be negative."),
        ],
    );
    check_http(
        r#"{"compression": {"compressors": "gzip", "types": [1], "x": 1}}"#,
        &[
            (
                "/compression/compressors",
                "The \"compressors\" value must be either an array or an object, but not a string.",
            ),
            ("/compression/types/0", "The \"match\" pattern for \"types\" must be strings."),
            ("/compression/x", "Unknown parameter \"x\"."),
        ],
    );
    check_http(
        r#"{"compression": {"compressors": {"encoding": "gzip", "level": 1.5}}}"#,
        &[(
            "/compression/compressors/level",
            "The \"level\" value must be an integer number, but not a fractional number.",
        )],
    );
}

#[test]
fn web_socket_settings_replace_defaults() {
    let websocket = |text: &str| config(text).settings.http.websocket;
    let defaults = websocket("{}");
    assert_eq!((defaults.read_timeout, defaults.max_frame_size), (Duration::from_secs(60), 1_048_576));
    assert_eq!(defaults.keepalive_interval, Some(Duration::from_secs(30)));
    let set = websocket(
        r#"{"settings": {"http": {"websocket": {"read_timeout": 1, "keepalive_interval": 0, "max_frame_size": 9}}}}"#,
    );
    assert_eq!(
        (set.read_timeout, set.keepalive_interval, set.max_frame_size),
        (Duration::from_secs(1), None, 9)
    );
    check_http(
        r#"{"websocket": {"read_timeout": 0, "keepalive_interval": -1, "max_frame_size": 0, "pings": 1}}"#,
        &[
            ("/websocket/read_timeout", "The \"read_timeout\" number must be equal to or greater than 1."),
            ("/websocket/keepalive_interval", "The \"keepalive_interval\" number must not be negative."),
            (
                "/websocket/max_frame_size",
                "The \"max_frame_size\" number must be equal to or greater than 1.",
            ),
            ("/websocket/pings", "Unknown parameter \"pings\"."),
        ],
    );
}

#[test]
fn a_client_does_not_say_where_a_path_begins() {
    let check = |action: &str, expect: &[&str]| {
        let expect: Vec<_> = expect.iter().map(|detail| ("/routes/0/action", *detail)).collect();
        check_problems(&format!(r#"{{"routes": [{{"action": {action}}}]}}"#), &expect);
    };
    let share = "The \"share\" value must not begin with what the client sends: begin it with a folder, or set \
        \"chroot\".";
    let chroot = "The \"chroot\" value must not begin with what the client sends: begin it with a folder.";
    check(r#"{"share": "$arg_f"}"#, &[share]);
    check(r#"{"share": ["/a$uri", "$header_f/x"]}"#, &[share]);
    check(r#"{"share": "/w$uri", "chroot": "$cookie_r"}"#, &[chroot]);
    for action in
        [r#"{"share": "$arg_f", "chroot": "/w"}"#, r#"{"share": ["$uri", "$host/x", "/$arg_f", "x$arg_f"]}"#]
    {
        config(&format!(r#"{{"routes": [{{"action": {action}}}]}}"#));
    }
}
