//! State that grows with each request.

use corral_testkit::eventually;
use serde_json::json;

use super::{guarded, left_state, lines};

/// The line comes with the third request, as caches are filled with the first.
#[test]
fn what_grows_is_named_the_third_time() {
    let before = "class Registry { public static array $seen = []; private static $fixed = [1]; } $log = [];";
    let cases = [
        ("static", "Registry::$seen[] = 1;"),
        ("global", "$GLOBALS['log'][] = 1;"),
        ("globals", "$GLOBALS['new' . count($GLOBALS)] = 1;"),
        ("stream", "$GLOBALS['files'][] = fopen(__FILE__, 'r');"),
        ("temporary", "$GLOBALS['files'][] = tmpfile();"),
    ];
    let (_site, server) = guarded(&json!("report"), before, &cases);
    for (name, _) in cases.iter().take(3) {
        server.get(&format!("/{name}")).expect(200);
        server.get(&format!("/{name}")).expect(200);
    }
    assert_eq!(lines(&server), Vec::<String>::new());
    for (name, _) in &cases {
        (0..3).for_each(|_| drop(server.get(&format!("/{name}")).expect(200)));
    }
    server.expect_log("GET /static left Registry::$seen with 3 elements; it has grown in 3 requests");
    server
        .expect_log("GET /global left the global variable $log with 3 elements; it has grown in 3 requests");
    server.expect_log("GET /globals left one more global variable, as requests before it did: $new");
    server.expect_log("GET /stream left 1 stream open, as requests before it did: \"");
    server.expect_log("stream.php\" (STDIO, mode \"r\")");
    server.expect_log("GET /temporary left 1 stream open");
}

/// A cache may grow as well; whether it goes on for ever, memory tells.
#[test]
fn what_may_be_a_cache_ends_no_worker_and_streams_do() {
    let cases = [
        ("cache", "$GLOBALS['cache'][] = 1; echo getmypid();"),
        ("stream", "$GLOBALS['files'][] = fopen(__FILE__, 'r'); echo getmypid();"),
    ];
    let (_site, server) = guarded(&json!("recycle"), "$cache = []; $files = [];", &cases);
    let first = server.get("/cache").expect(200).text();
    (0..4).for_each(|_| drop(server.get("/cache").expect(200).expect_body(&first)));
    (0..3).for_each(|_| drop(server.get("/stream").expect(200).expect_body(&first)));
    assert_ne!(server.get("/stream").expect(200).text(), first);
}

#[test]
fn memory_that_grows_through_many_requests_is_reported() {
    let code = "static $kept = []; $kept[] = str_repeat($_SERVER['REQUEST_URI'], 400);";
    let before = format!("$handler = function () {{ {code} }}; while (corral_handle_request($handler)) {{}}");
    let (_site, server) = guarded(&json!("report"), &before, &[]);
    let mut client = server.connect();
    (0..400).for_each(|_| drop(client.get("/page").expect(200)));
    server.expect_log("guard: GET /page is one of 256 requests in which memory has grown from ");
    eventually("the last kind has its name", || left_state(&server)["kinds"]["memory"].as_u64());
}

/// Objects that refer to each other are garbage that PHP collects when there is enough of it.
#[test]
fn garbage_is_no_leak() {
    let code = "$a = new stdClass; $a->a = $a; $a->text = str_repeat($_SERVER['REQUEST_URI'], 100);";
    let before = format!("$handler = function () {{ {code} }}; while (corral_handle_request($handler)) {{}}");
    let (_site, server) = guarded(&json!("report"), &before, &[]);
    let mut client = server.connect();
    (0..700).for_each(|_| drop(client.get("/page").expect(200)));
    assert_eq!(lines(&server), Vec::<String>::new());
}

#[test]
fn passwords_in_addresses_of_streams_are_not_said() {
    let code = "$GLOBALS['files'][] = fopen('data://text/plain,user:secret@host', 'r');";
    let (_site, server) = guarded(&json!("report"), "$files = [];", &[("data", code)]);
    (0..3).for_each(|_| drop(server.get("/data").expect(200)));
    server.expect_log("GET /data left 1 stream open, as requests before it did: \"data://...\"");
    assert!(!server.log().contains("secret"));
}
