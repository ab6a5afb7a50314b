//! `maps` (beyond Unit): a value is looked up wherever a variable can stand, and is whose text it is.

use corral_testkit::{Daemon, Request, assert_says, daemon, site};
use serde_json::{Value, json};

const REFUSED: &str = "Invalid configuration.";

/// Answers with the value of the map `m`.
fn answering(server: &Daemon, map: &Value) {
    let action = json!({ "return": 200, "response_headers": { "X-Value": "<$map_m>" } });
    let config = json!({ "maps": { "m": map }, "routes": [{ "action": action }] });
    server.control().put("/config", &server.with_listener(config)).expect_done();
}

/// Asks for `/` with an argument `k`.
fn value_of(server: &Daemon, key: &str) -> String {
    let response = server.get(&format!("/?k={key}")).expect(200);
    response.field("X-Value").unwrap_or_default().trim_matches(['<', '>']).to_owned()
}

#[track_caller]
fn check(map: &Value, cases: &[(&str, &str)]) {
    let server = daemon().start_unconfigured();
    answering(&server, map);
    for (key, expect) in cases {
        assert_eq!(value_of(&server, key), *expect, "{key} in {map}");
    }
}

/// Options: maps.{N}.from, maps.{N}.table, maps.{N}.default
#[test]
fn values_are_found_by_names_and_patterns() {
    let table = json!({
        "a": "one", "*.b": "two", "*.long.b": "three", "img/*": "four",
        "~^[0-9]+$": "five", "~(?i)^x": "six", "": "none"
    });
    let cases = [
        ("a", "one"),
        ("A", "other"),
        ("x.b", "two"),
        ("x.long.b", "three"),
        ("img/1", "four"),
        ("42", "five"),
        ("42x", "other"),
        ("XYZ", "six"),
        ("", "none"),
    ];
    check(&json!({ "from": "$arg_k", "table": table, "default": "other" }), &cases);
    check(&json!({ "from": "$arg_k", "table": { "a": "1" } }), &[("a", "1"), ("b", "")]);
    check(&json!({ "from": "$method-$arg_k", "table": { "GET-a": "${arg_k}!" } }), &[("a", "a!")]);
}

/// Options: maps.{N}.geo
#[test]
fn values_are_found_by_networks() {
    let networks =
        json!({ "10.0.0.0/8": "office", "10.1.0.0/16": "lab", "2001:db8::/32": "v6", "127.0.0.1": "own" });
    let cases = [
        ("10.9.9.9", "office"),
        ("10.1.2.3", "lab"),
        ("2001:db8::1", "v6"),
        ("::ffff:10.1.2.3", "lab"),
        ("11.0.0.1", "world"),
        ("unix:", "world"),
        ("10.0.0.0/8", "world"),
        ("%00", "world"),
    ];
    check(&json!({ "from": "$arg_k", "geo": networks, "default": "world" }), &cases);
    check(&json!({ "geo": networks }), &[("", "own")]);
}

/// Files are read when a configuration is put in force, and one that cannot be used refuses it.
#[test]
fn networks_are_read_from_files() {
    let site =
        site().file("cdn", "# a list\n10.0.0.0/8\n10.1.0.0/16 lab;\n").file("wrong", "10.0.0.0/8\nall x\n");
    let [cdn, wrong, none] = ["cdn", "wrong", "none"].map(|name| site.path(name).display().to_string());
    let server = daemon().start_unconfigured();
    let map = |file: &str| json!({ "from": "$arg_k", "geo": { file: "cdn", "10.0.0.1": "own" }, "default": "none" });
    answering(&server, &map(&cdn));
    for (address, expect) in
        [("10.9.9.9", "cdn"), ("10.1.2.3", "lab"), ("10.0.0.1", "own"), ("11.0.0.1", "none")]
    {
        assert_eq!(value_of(&server, address), expect, "{address}");
    }
    for (file, reason) in [
        (&wrong, "line 2: \"all\" is not a network"),
        (&none, "open: No such file or directory (os error 2)"),
    ] {
        let reply = server.control().put("/config/maps", &json!({ "m": map(file) }));
        let detail = reply.expect_refused(500, "Failed to apply new configuration.");
        assert_says(&detail, &format!("The file \"{file}\" cannot be used: {reason}."));
    }
    assert_eq!(value_of(&server, "10.1.2.3"), "lab", "what is in force stays");
    site.write("cdn", "10.1.0.0/16 office\n");
    answering(&server, &map(&cdn));
    assert_eq!(value_of(&server, "10.1.2.3"), "office");
    assert_eq!(value_of(&server, "10.9.9.9"), "none");
}

/// Options: maps.{N}.split
#[test]
fn texts_are_split_and_stay_where_they_are() {
    let server = daemon().start_unconfigured();
    answering(&server, &json!({ "from": "$arg_k", "split": { "25%": ["a", "b"], "*": "rest" } }));
    let values: Vec<_> = (0..200).map(|n| value_of(&server, &n.to_string())).collect();
    for (value, range) in [("a", 25..76), ("b", 25..76), ("rest", 65..136)] {
        let n = values.iter().filter(|found| *found == value).count();
        assert!(range.contains(&n), "{value}: {n}");
    }
    // A change of something else, and other event loops, leave all of them where they are.
    answering(
        &server,
        &json!({ "from": "$arg_k", "split": { "25%": ["a", "b"], "*": "rest" }, "default": "x" }),
    );
    for (n, value) in values.iter().enumerate() {
        assert_eq!(value_of(&server, &n.to_string()), *value, "{n}");
    }
}

#[test]
fn hosts_are_read_as_hosts() {
    let server = daemon().start_unconfigured();
    let table = json!({ "Example.ORG": "org", ".example.com": "com", "*.example.net": "net" });
    answering(&server, &json!({ "from": "$host", "table": table, "default": "other" }));
    for (host, expect) in [
        ("EXAMPLE.org:80", "<org>"),
        ("example.com", "<com>"),
        ("a.b.example.com.", "<com>"),
        ("www.example.net", "<net>"),
        ("example.net", "<other>"),
        ("xexample.com", "<other>"),
    ] {
        let response = server.send(&Request::get("/").field("Host", host)).expect(200);
        assert_eq!(response.field("X-Value"), Some(expect), "{host}");
    }
}

/// A map within a map, in scripts, in conditions and in the keys of others.
#[test]
fn maps_stand_wherever_variables_can() {
    let server = daemon().start_unconfigured();
    let maps = json!({
        "inner": { "from": "$arg_k", "table": { "a": "yes" }, "default": "0" },
        "outer2": { "from": "$map_inner", "table": { "yes": "$map_inner and $arg_k" }, "default": "no" }
    });
    let action = json!({ "return": 200, "response_headers": {
        "X-Braces": "${map_outer2}", "X-Script": "`${vars.map_outer2}|${vars.map_inner}|${vars.map_none}`" } });
    let steps =
        json!([{ "match": { "if": "$map_inner" }, "action": action }, { "action": { "return": 204 } }]);
    let config = json!({ "maps": maps, "routes": steps });
    server.control().put("/config", &server.with_listener(config)).expect_done();
    let response = server.get("/?k=a").expect(200);
    assert_eq!(response.field("X-Braces"), Some("yes and a"));
    assert_eq!(response.field("X-Script"), Some("yes and a|yes|undefined"));
    server.get("/?k=b").expect(204);
}

/// A script that is a part of its own map comes to an end.
#[test]
fn scripts_lead_in_no_circle() {
    let server = daemon().start_unconfigured();
    answering(&server, &json!({ "from": "`${vars.map_m}`", "table": { "": "end" } }));
    server.get("/").expect(200);
    answering(&server, &json!({ "from": "`${vars.none.x}`", "table": {} }));
    server.get("/").expect(500);
    server.expect_log("js exception: ");
}

#[test]
fn a_search_without_an_end_ends_the_request() {
    let server = daemon().start_unconfigured();
    answering(&server, &json!({ "from": "$arg_k", "table": { "~^(a+)+$": "x" } }));
    server.get(&format!("/?k={}!", "a".repeat(64))).expect(500);
    server.expect_log("gave up the regular expression");
    assert_eq!(value_of(&server, "aaa"), "x");
}

/// Text of the configuration counts as its own; text of a client stays in its place.
#[test]
fn values_are_whose_text_they_are() {
    let site = site().file("secret", "beside").file("w/a/x.txt", "in a").file("w/b/x.txt", "in b");
    let server = daemon().routes(json!([])).start();
    let put = |map: Value, action: Value| {
        let routes = json!({
            "r": [{ "action": action }],
            "a&b": [{ "action": { "return": 202 } }],
            "main": [{ "action": { "return": 203 } }]
        });
        let config = json!({ "maps": { "m": map }, "routes": routes });
        let mut config = server.with_listener(config);
        for listener in config["listeners"].as_object_mut().expect("there is one").values_mut() {
            listener["pass"] = json!("routes/r");
        }
        server.control().put("/config", &config).expect_done();
    };
    let root = site.root();
    let from = |table: Value| json!({ "from": "$arg_k", "table": table, "default": "" });

    // The configuration may name any folder, a client none but those below.
    let share = json!({ "share": format!("{root}/w/$map_m/x.txt") });
    put(from(json!({ "one": "a", "two": "../w/b", "up": "../../etc" })), share.clone());
    server.get("/?k=one").expect(200).expect_body("in a");
    server.get("/?k=two").expect(200).expect_body("in b");
    server.get("/?k=none").expect(404);
    put(json!({ "from": "$arg_k", "table": { "~.": "$arg_k" } }), share);
    server.get("/?k=a").expect(200).expect_body("in a");
    for value in ["..", ".", "../w/a", "a/../b", "%2e%2e", "", "a%00"] {
        server.get(&format!("/?k={value}")).expect(404);
    }
    // One that begins a path, and has nothing for the client, opens nothing.
    let share = json!({ "share": "$map_m$uri" });
    put(from(json!({ "one": format!("{root}/w/a") })), share);
    server.get("/x.txt?k=one").expect(200).expect_body("in a");
    server.get("/etc/passwd?k=two").expect(404);
    server.get(&format!("{root}/secret")).expect(404);

    // A `Location`.
    let location = json!({ "return": 302, "location": "/x?to=$map_m" });
    put(json!({ "from": "$arg_k", "table": { "lit": "1&b=2" }, "default": "$arg_k" }), location);
    assert_eq!(server.get("/?k=lit").expect(302).field("Location"), Some("/x?to=1&b=2"));
    assert_eq!(server.get("/?k=1%26b=2").expect(302).field("Location"), Some("/x?to=1%26b%3D2"));
    let location = json!({ "return": 302, "location": "https://example.org$map_m" });
    put(json!({ "from": "$arg_k", "table": { "lit": ".evil" }, "default": "$arg_k" }), location);
    assert_eq!(server.get("/?k=lit").expect(302).field("Location"), Some("https://example.org.evil"));
    assert_eq!(server.get("/?k=.evil").expect(302).field("Location"), Some("https://example.org/.evil"));
    assert_eq!(server.get("/?k=%0d%0aX:1").expect(302).field("X"), None);

    // A page.
    let page = json!({ "return": 200, "content_type": "text/html", "body": "$map_m" });
    put(json!({ "from": "$arg_k", "table": { "lit": "<b>" }, "default": "$arg_k" }), page);
    server.get("/?k=lit").expect(200).expect_body("<b>");
    server.get("/?k=%3Cb%3E").expect(200).expect_body("&lt;b&gt;");

    // A `pass`.
    let pass = json!({ "pass": "$map_m" });
    put(json!({ "from": "$arg_k", "table": { "lit": "routes/a&b" }, "default": "$arg_k" }), pass);
    server.get("/?k=lit").expect(202);
    server.get("/?k=routes/main").expect(404);
}

#[test]
fn a_share_begins_with_nothing_of_a_client() {
    let server = daemon().routes(json!([])).start();
    let put = |map: Value| {
        let config = json!({ "maps": { "m": map }, "routes": [{ "action": { "share": "$map_m$uri" } }] });
        server.control().put("/config", &config)
    };
    put(json!({ "from": "$arg_k", "table": { "a": "/srv" } })).expect_done();
    let table = json!({ "a": "/srv", "b": "$arg_k" });
    let detail = put(json!({ "from": "$arg_k", "table": table })).expect_refused(400, REFUSED);
    assert!(detail.contains("must not begin with what the client sends"), "{detail}");
}

/// Options: maps, maps.{N}
#[test]
fn wrong_maps_are_refused() {
    let server = daemon().routes(json!([])).start();
    let refuse = |map: Value, detail: &str| {
        let reply = server.control().put("/config/maps", &json!({ "m": map, "n": { "geo": {} } }));
        let found = reply.expect_refused(400, REFUSED);
        assert!(found.contains(detail), "{map}: {found}");
    };
    refuse(json!({ "from": "$uri" }), "A map must have one of \"table\", \"geo\" and \"split\".");
    refuse(json!({ "from": "$uri", "table": {}, "geo": {} }), "must have one of");
    refuse(json!({ "table": {} }), "Required parameter \"from\" is missing.");
    refuse(json!({ "from": "$nope", "table": {} }), "Unknown variable \"nope\" in the \"from\" value.");
    refuse(
        json!({ "from": "$uri", "table": { "a": "$map_x" } }),
        "Unknown variable \"map_x\" in the \"a\" value.",
    );
    refuse(json!({ "from": "$uri", "table": { "a": 1 } }), "must be a string");
    refuse(json!({ "from": "$uri", "table": { "a*b*": "1" } }), "\"*\" at the beginning or at the end");
    refuse(json!({ "from": "$uri", "table": { "~(": "1" } }), "Invalid regular expression");
    refuse(json!({ "from": "$uri", "table": { "~*x": "1" } }), "~(?i)EXPRESSION");
    refuse(json!({ "from": "$uri", "table": { "default": "1" } }), "beside the table");
    refuse(json!({ "geo": { "10.0.0.0/33": "1" } }), "is not a network");
    refuse(json!({ "geo": { "10.0.0.1:80": "1" } }), "is not a network");
    refuse(
        json!({ "from": "$uri", "split": { "60%": "a", "50%": "b" } }),
        "100 % together at most, and are 110.00 %",
    );
    refuse(json!({ "from": "$uri", "split": { "5": "a" } }), "is not a share");
    refuse(json!({ "from": "$map_m", "table": {} }), "The map is made of itself: \"m\", then \"m\".");
    refuse(json!({ "from": "$map_n", "tabel": {} }), "Unknown parameter \"tabel\".");
    let reply = server.control().put("/config/maps", &json!({ "a-b": { "geo": {} } }));
    let detail = reply.expect_refused(400, REFUSED);
    assert!(detail.contains("must consist of letters, digits and \"_\""), "{detail}");
    let long: Value = (0..10)
        .map(|n| (format!("m{n}"), json!({ "from": format!("${{map_m{}}}", n + 1), "table": {} })))
        .chain([("m10".to_owned(), json!({ "geo": {} }))])
        .collect::<serde_json::Map<_, _>>()
        .into();
    let detail = server.control().put("/config/maps", &long).expect_refused(400, REFUSED);
    assert!(detail.contains("through more than 8 maps"), "{detail}");
}

/// A large table is read, put in force, and asked in the time of a small one.
#[test]
fn a_large_table_is_asked_as_fast_as_a_small_one() {
    let server = daemon().start_unconfigured();
    let table: serde_json::Map<_, _> =
        (0..100_000).map(|n| (format!("k{n}"), json!(format!("v{n}")))).collect();
    answering(&server, &json!({ "from": "$arg_k", "table": table }));
    assert_eq!(value_of(&server, "k99999"), "v99999");
    assert_eq!(value_of(&server, "k100000"), "");
}
