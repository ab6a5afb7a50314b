//! Bodies of requests: any size, any bytes, with a length or in chunks, wanted or not.

use corral_testkit::Request;

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

pub(crate) fn none(runtime: &Runtime) {
    let server = runtime.serve();
    let mut client = server.connect();
    for request in [Request::get("/length"), Request::post("/length"), Request::new("DELETE", "/length")] {
        client.send(&request).expect(200).expect_body("0");
    }
    client.get("/echo").expect(200).expect_body("");
}
