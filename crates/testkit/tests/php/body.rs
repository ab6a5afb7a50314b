//! Request bodies: forms, uploads, and anything else of any size.

use corral_testkit::{Browser, Part, Request, daemon, php_app, site};
use serde_json::json;

#[test]
fn uploads_arrive() {
    let site = site().file(
        "index.php",
        "<?php
$file = $_FILES['file'];
$to = tempnam(sys_get_temp_dir(), 'up');
$moved = move_uploaded_file($file['tmp_name'], $to);
echo json_encode([$_POST, $file['name'], $file['type'], $file['size'], $file['error'], $moved, md5_file($to)]);
unlink($to);",
    );
    let server = daemon().application(php_app(&site)).http(json!({ "max_body_size": 10_000_000 })).start();
    let mut visitor = Browser::new(server.address().socket());
    let content: Vec<u8> = (0..1_500_000_u32).map(|i| (i % 249) as u8).collect();
    let parts = [
        Part::Text("title", "A \"title\""),
        Part::File { name: "file", file_name: "a b.bin", media_type: "image/png", content: &content },
    ];
    let found = visitor.upload("/", &parts).expect(200).json();
    assert_eq!(found[0], json!({ "title": "A \"title\"" }));
    assert_eq!(found[1], "a b.bin");
    assert_eq!(found[2], "image/png");
    assert_eq!(found[3], 1_500_000);
    assert_eq!(found[4], 0);
    assert_eq!(found[5], true);
    assert_eq!(found[6].as_str().map(str::len), Some(32));
}

#[test]
fn the_temporary_file_of_an_upload_is_removed() {
    let site = site().file("index.php", "<?php echo $_FILES['file']['tmp_name'];");
    let server = daemon().application(php_app(&site)).start();
    let part = Part::File { name: "file", file_name: "x", media_type: "text/plain", content: b"hello" };
    let path = Browser::new(server.address().socket()).upload("/", &[part]).expect(200).text();
    assert!(path.starts_with('/'), "{path}");
    corral_testkit::eventually("the temporary file is removed", || {
        (!std::path::Path::new(&path).exists()).then_some(())
    });
}

#[test]
fn input_can_be_read_in_pieces_and_twice() {
    let site = site().file(
        "index.php",
        "<?php
$in = fopen('php://input', 'rb');
$n = 0; $hash = hash_init('md5');
while (!feof($in)) { $piece = fread($in, 8192); $n += strlen($piece); hash_update($hash, $piece); }
$again = file_get_contents('php://input');
echo json_encode([$n, hash_final($hash) === md5($again), strlen($again), memory_get_peak_usage() < 60 << 20]);",
    );
    let app = php_app(&site).admin("memory_limit", "128M");
    let server = daemon().application(app).http(json!({ "max_body_size": 50_000_000 })).start();
    for n in [0, 10, 70_000, 20_000_000] {
        let found = server.send(&Request::post("/").body(vec![b'z'; n])).expect(200).json();
        assert_eq!(found, json!([n, true, n, true]));
    }
}

/// Larger than memory allows: PHP keeps what does not fit in a temporary file.
#[test]
fn input_of_any_size_is_streamed() {
    let site = site().file(
        "index.php",
        "<?php
$in = fopen('php://input', 'rb');
$n = 0;
while (!feof($in)) { $n += strlen(fread($in, 65536)); }
echo $n, ' ', memory_get_peak_usage() < 16 << 20 ? 'small' : 'large';",
    );
    let app = php_app(&site).admin("memory_limit", "32M").admin("post_max_size", "0");
    let server = daemon().application(app).http(json!({ "max_body_size": 200_000_000 })).start();
    server.send(&Request::post("/").body(vec![b'z'; 100_000_000])).expect(200).expect_body("100000000 small");
}

#[test]
fn json_and_put_bodies() {
    let site = site().file(
        "index.php",
        "<?php echo $_SERVER['CONTENT_TYPE'], \
        json_decode(file_get_contents('php://input'))->a, count($_POST);",
    );
    let server = daemon().application(php_app(&site)).start();
    for method in ["POST", "PUT", "PATCH"] {
        let request = Request::new(method, "/").field("Content-Type", "application/json").body("{\"a\": 5}");
        server.send(&request).expect(200).expect_body("application/json50");
    }
}

#[test]
fn a_client_that_leaves_in_its_body_harms_nobody() {
    let site = site().file("index.php", "<?php echo strlen(file_get_contents('php://input'));");
    let server = daemon().application(php_app(&site)).start();
    for _ in 0..10 {
        let mut client = server.connect();
        client.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nabc");
    }
    server.get("/").expect(200).expect_body("0");
}
