//! Bodies of requests and responses: whole, large, slow, refused, given up.

use std::time::Duration;

use corral_testkit::{PhpFpm, Request, daemon, eventually, resident_memory, site};
use serde_json::json;

use crate::{STATIC, serve};

/// Says how much of a body came, and its checksum.
const COUNT: &str = "<?php $h = hash_init('crc32b'); $n = 0; $in = fopen('php://input', 'r');\
    while (!feof($in)) { $piece = fread($in, 65536); $n += strlen($piece); hash_update($h, $piece); }\
    echo $n, ' ', hash_final($h), ' ', $_SERVER['CONTENT_LENGTH'] ?? 'none';";

#[test]
fn bodies_arrive_whole() {
    let site = site().file("index.php", COUNT);
    for fpm in [PhpFpm::at_socket(STATIC), PhpFpm::at_port(STATIC)] {
        let server = serve(&fpm, &site, json!({}));
        for n in [0, 1, 65_527, 65_528, 65_529, 3_000_000] {
            let body = vec![b'x'; n];
            let text = server.send(&Request::post("/").body(&body)).expect(200).text();
            assert!(text.starts_with(&format!("{n} ")) && text.ends_with(&format!(" {n}")), "{n}: {text}");
        }
        server.get("/").expect(200).expect_body("0 00000000 none");
    }
}

#[test]
fn a_body_in_chunks_gets_its_length() {
    let site = site().file("index.php", COUNT);
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({}));
    let mut client = server.connect();
    client.write(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    );
    client.read_response().expect(200).expect_body("5 8587d865 5");
}

/// A process of the server is not kept waiting by a client.
#[test]
fn a_slow_client_holds_no_process() {
    let site = site().file("index.php", "<?php echo 'hello';").file("count.php", COUNT);
    let fpm = PhpFpm::at_socket("pm = static\npm.max_children = 1");
    let server = serve(&fpm, &site, json!({}));
    let mut slow = server.connect();
    slow.write("POST /count.php HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf ");
    server.get("/").expect(200).expect_body("hello");
    slow.write("other");
    slow.read_response().expect(200);
}

/// Neither by one that does not read.
#[test]
fn a_client_that_does_not_read_holds_no_process() {
    let large = "<?php for ($i = 0; $i < 800; $i++) echo str_repeat(chr(97 + $i % 26), 65536);";
    let site = site().file("large.php", large).file("index.php", "<?php echo 'hello';");
    let fpm = PhpFpm::at_socket("pm = static\npm.max_children = 1");
    let server = serve(&fpm, &site, json!({}));
    let mut slow = server.begin(&Request::get("/large.php"));
    slow.read_until_text("HTTP/1.1 200");
    server.get("/").expect(200).expect_body("hello");
    let whole = server.get("/large.php").expect(200);
    assert_eq!(whole.body.len(), 800 * 65536);
    let rest = String::from_utf8_lossy(&slow.read_until_text("\r\n0\r\n\r\n").into_bytes()).len();
    assert!(rest > 800 * 65536 - 1_000_000, "{rest} bytes are left for who reads later");
}

#[test]
fn a_body_that_is_refused_never_reaches_the_server() {
    let site =
        site().file("index.php", "<?php file_put_contents(__DIR__ . '/w/ran', 'x');").writable_folder("w");
    let fpm = PhpFpm::at_socket(STATIC);
    let action = json!({ "fastcgi": fpm.address(), "root": site.root() });
    let server = daemon()
        .http(json!({ "max_body_size": 1000, "body_read_timeout": 1 }))
        .routes(json!([{ "action": action }]))
        .start();
    server.send(&Request::post("/").body(vec![b'x'; 1001])).expect(413);
    let mut slow = server.connect();
    slow.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    slow.read_response().expect(408);
    let mut gone = server.connect();
    gone.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    drop(gone);
    assert!(!site.path("w/ran").exists());
}

#[test]
fn a_client_that_leaves_ends_its_script() {
    let site = site().writable_folder("w").file(
        "index.php",
        "<?php touch(__DIR__ . '/w/began'); ignore_user_abort(true); for ($i = 0; $i < 5000 && \
        !connection_aborted(); $i++) { echo str_repeat('x', 4096); ob_flush(); flush(); usleep(2000); } \
        touch(__DIR__ . '/w/' . (connection_aborted() ? 'aborted' : 'finished'));",
    );
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({}));
    let mut client = server.begin(&Request::get("/"));
    client.read_until_text("xxxx");
    drop(client);
    eventually("the script notices", || site.path("w/aborted").exists().then_some(()));
}

/// A client that leaves while a script thinks frees its process as soon as that says something.
#[test]
fn a_client_that_leaves_early_is_not_an_error_of_the_server() {
    let site = site().file("index.php", "<?php usleep(300000); echo 'late';");
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({}));
    drop(server.begin(&Request::get("/?gone")));
    std::thread::sleep(Duration::from_millis(1));
    server.get("/").expect(200).expect_body("late");
    assert!(!server.log().contains("?gone"), "{}", server.log());
}

/// Neither the body of a request nor that of a response is held in memory as a whole.
#[test]
fn large_bodies_take_little_memory() {
    const PIECES: usize = 1024;
    let piece = vec![b'x'; 1024 * 1024];
    let large = format!("<?php for ($i = 0; $i < {PIECES}; $i++) echo str_repeat('y', 1048576);");
    let site = site().file("count.php", COUNT).file("large.php", large);
    let fpm = PhpFpm::at_socket(&format!("{STATIC}\nphp_admin_value[post_max_size] = 0"));
    let action = json!({ "fastcgi": fpm.address(), "root": site.root() });
    let server = daemon()
        .http(json!({ "max_body_size": 2_000_000_000 }))
        .routes(json!([{ "action": action }]))
        .start();
    let memory = || server.named("router").into_iter().filter_map(resident_memory).sum::<u64>();
    let before = memory();
    let mut client = server.connect();
    let length = PIECES * piece.len();
    client.write(format!("POST /count.php HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"));
    for _ in 0..PIECES {
        client.write(&piece);
    }
    let text = client.read_response().expect(200).text();
    assert!(text.starts_with(&format!("{length} ")), "{text}");
    let mut client = server.begin(&Request::get("/large.php"));
    let mut n_read = 0;
    while n_read < length {
        n_read += client.read_some().len();
    }
    let grown = memory().saturating_sub(before);
    assert!(grown < 48 * 1024 * 1024, "{grown} bytes more");
}
