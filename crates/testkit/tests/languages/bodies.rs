//! Bodies of requests: any size, any bytes, with a length or in chunks, wanted or not.

use corral_testkit::{Client, Request};

use crate::runtime::Runtime;

fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|at| (at * 7 % 256) as u8 ^ (at >> 8) as u8).collect()
}

pub(crate) fn sizes_both_ways(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    for n in [0, 1, 1000, 65_536, 5_000_000] {
        let response = client.send(&Request::post("/echo").body(bytes(n))).expect(200);
        assert!(response.body == bytes(n), "{n} bytes come back as {}", response.body.len());
    }
    client.send(&Request::new("PUT", "/length").body(bytes(70_000))).expect(200).expect_body("70000");
}

pub(crate) fn chunked(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    for n in [5, 100_000, 1_500_000] {
        let mut body = Vec::new();
        for chunk in bytes(n).chunks(60_001) {
            body.extend(format!("{:x};extension\r\n", chunk.len()).bytes());
            body.extend(chunk);
            body.extend(b"\r\n");
        }
        body.extend(b"0\r\n\r\n");
        let request = Request::post("/echo").field("Transfer-Encoding", "chunked").body(body);
        let response = client.send(&request).expect(200);
        assert!(response.body == bytes(n), "{n} bytes come back as {}", response.body.len());
    }
}

pub(crate) fn ignored(runtime: &Runtime) {
    let server = runtime.serve();
    for n in [10, 3_000_000] {
        let mut client = server.connect();
        client.send(&Request::post("/ignored").body(bytes(n))).expect(200).expect_body("ignored");
        server.get("/length").expect(200).expect_body("0");
    }
}

/// A client that has sent a large body is read in larger steps.
pub(crate) fn after_large_ones(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    let large = Request::post("/echo").body(bytes(65_536));
    let expect = |client: &mut Client, body: &[u8]| {
        let response = client.read_response().expect(200);
        assert!(response.body == body, "{} bytes come back as {}", body.len(), response.body.len());
    };
    for _ in 0..3 {
        client.write(large.encode());
        expect(&mut client, &bytes(65_536));
    }
    // With a long head, and with another request behind it.
    let long = Request::post("/echo").field("X-Long", &"x".repeat(7000)).body(bytes(60_000));
    client.write([long.encode(), Request::get("/length").encode(), large.encode()].concat());
    expect(&mut client, &bytes(60_000));
    expect(&mut client, b"0");
    expect(&mut client, &bytes(65_536));
    // In parts, which end within the head, between the two, and within the body.
    let whole = large.encode();
    for cut in [10, whole.len() - 65_536, 5000, 60_000, whole.len() - 1] {
        client.write(&whole[..cut]);
        server.get("/length").expect(200);
        client.write(&whole[cut..]);
        expect(&mut client, &bytes(65_536));
    }
    client.send(&Request::post("/ignored").body(bytes(50_000))).expect(200).expect_body("ignored");
    client.get("/length").expect(200).expect_body("0");
    client.send(&Request::post("/echo").body("short")).expect(200).expect_body("short");
    client.write(whole);
    expect(&mut client, &bytes(65_536));
}

pub(crate) fn none(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    for request in [Request::get("/length"), Request::post("/length"), Request::new("DELETE", "/length")] {
        client.send(&request).expect(200).expect_body("0");
    }
    client.get("/echo").expect(200).expect_body("");
}
