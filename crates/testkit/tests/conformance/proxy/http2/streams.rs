//! Both directions at the same time, slow sides, and sides that leave.

use std::sync::mpsc;
use std::time::Duration;

use bytes::Bytes;
use corral_testkit::{Http2, Http2Origin, PATIENCE, Request, eventually, proportional_memory};
use h2::Reason;

use super::{proxy, streamed};

/// In bytes.
fn memory(router: u32) -> u64 {
    proportional_memory(router).expect("it runs")
}

#[test]
fn both_directions_stream_at_the_same_time() {
    let origin = Http2Origin::start(|mut asked| async move {
        let mut sending = asked.begin(200, &[]);
        while let Some(piece) = asked.read().await {
            sending.send_data(piece, false).expect("room");
        }
        sending.send_data(Bytes::new(), true).expect("room");
    });
    let server = proxy(&origin);
    let mut client = Http2::connect(server.address().socket());
    let mut stream = client.open(&streamed("/"));
    stream.head().expect(200);
    for word in ["a", "bc", "def"] {
        stream.write(word);
        assert_eq!(stream.read_some(), word.as_bytes());
    }
    stream.finish();
    assert!(stream.read_some().is_empty());
}

#[test]
fn the_server_learns_that_the_client_is_gone() {
    let (told, news) = mpsc::channel();
    let origin = Http2Origin::start(move |mut asked| {
        let told = told.clone();
        async move {
            let _ = told.send(None);
            let _ = told.send(Some(asked.given_up().await));
        }
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(news.recv_timeout(PATIENCE), Ok(None), "the request arrives");
    drop(client);
    assert_eq!(news.recv_timeout(PATIENCE), Ok(Some(Some(Reason::CANCEL))));
    let mut client = Http2::connect(server.address().socket());
    let mut stream = client.open(&streamed("/"));
    stream.write("some");
    assert_eq!(news.recv_timeout(PATIENCE), Ok(None), "the request arrives");
    stream.reset(Reason::CANCEL);
    assert_eq!(news.recv_timeout(PATIENCE), Ok(Some(Some(Reason::CANCEL))));
    assert_eq!(origin.n_connections(), 1, "others would go on using the connection");
}

#[test]
fn a_server_may_answer_before_it_has_everything() {
    let origin = Http2Origin::start(|mut asked| async move {
        asked.answer(413, &[], "too large").await;
        // What waits to be sent would go with the stream.
        tokio::time::sleep(Duration::from_millis(100)).await;
        asked.reset(Reason::NO_ERROR);
    });
    let server = proxy(&origin);
    server.send(&Request::new("POST", "/").body(vec![b'x'; 1_000_000])).expect(413).expect_body("too large");
    assert_eq!(server.get("/").expect(413).text(), "too large");
}

/// A client that takes nothing holds no more than a window of the response, and no other client up.
#[test]
fn slow_clients_hold_nobody_up() {
    const LENGTH: usize = 50_000_000;
    let origin = Http2Origin::start(|mut asked| async move {
        let is_small = asked.request.uri().path() == "/small";
        asked.answer(200, &[], vec![b'x'; if is_small { 5 } else { LENGTH }]).await;
    });
    let server = proxy(&origin);
    server.get("/small").expect(200);
    let router = server.expect_processes("router", 1)[0];
    let before = memory(router);
    let mut slow: Vec<_> = (0..40)
        .map(|_| {
            let mut client = server.connect();
            client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            client
        })
        .collect();
    slow.iter_mut().for_each(|client| drop(client.read_until_text("\r\n\r\n")));
    for _ in 0..20 {
        server.get("/small").expect(200).expect_body("xxxxx");
    }
    let growth = memory(router).saturating_sub(before);
    assert!(growth < 20 << 20, "{} KiB", growth >> 10);
    assert_eq!(origin.n_connections(), 1);
}

/// A part of a body that the server does not take is not read from the client.
#[test]
fn slow_servers_slow_clients_down() {
    let (go_on, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let origin = Http2Origin::start(move |mut asked| {
        // Its other connections wait as long.
        wait.lock().expect("nobody panics").recv_timeout(PATIENCE).expect("a word");
        async move {
            let length = asked.read_all().await.len();
            asked.answer(200, &[], length.to_string()).await;
        }
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    const LENGTH: usize = 30_000_000;
    client.write(format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {LENGTH}\r\n\r\n"));
    let router = server.expect_processes("router", 1)[0];
    let before = memory(router);
    let sending = std::thread::spawn(move || {
        client.write(vec![b'x'; LENGTH]);
        client
    });
    eventually("it has begun", || (memory(router) > before).then_some(()));
    std::thread::sleep(Duration::from_millis(300));
    let growth = memory(router).saturating_sub(before);
    assert!(growth < 5 << 20, "{} KiB", growth >> 10);
    go_on.send(()).expect("the server waits");
    let mut client = sending.join().expect("all of it is sent");
    client.read_response().expect(200).expect_body(LENGTH.to_string());
}
