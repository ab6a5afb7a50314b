//! WebSocket clients that ping and never read what they are answered: the router's memory has bounds, and others talk
//! on.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Site, WebSocket, daemon, private_memory, python_app, site};

use super::duration;

const N_FLOODERS: usize = 8;

/// For each flooder: bytes read of it and bytes that wait for it, with the allocator's share.
const MOST_MEMORY: u64 = N_FLOODERS as u64 * (2 << 20);

const ECHO: &str = "async def application(scope, receive, send):
    await receive()
    await send({'type': 'websocket.accept'})
    while (event := await receive())['type'] == 'websocket.receive':
        await send({'type': 'websocket.send', 'text': event['text']})
";

fn echo() -> (Site, Daemon) {
    let site = site().file("app.py", ECHO);
    let server = daemon().python(python_app(&site)).start();
    (site, server)
}

/// Pings until nothing more is taken, and goes on trying for as long as a case is to last. Returns how many bytes went.
fn flood(address: SocketAddr) -> usize {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(&WebSocket::request("/").encode()).expect("it reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("it answers");
        head.extend(byte);
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
    // Whole frames with a mask of zeros, 125 bytes each.
    let ping = [&[WebSocket::LAST | WebSocket::PING, 0x80 | 125, 0, 0, 0, 0][..], &[b'x'; 125]].concat();
    let pings = ping.repeat(500);
    stream.set_nonblocking(true).expect("a socket can be told not to wait");
    let end = Instant::now() + duration();
    let mut n_sent = 0;
    while Instant::now() < end {
        match stream.write(&pings[n_sent % pings.len()..]) {
            Ok(n) => n_sent += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(5));
            }
            // It may be cut off for it.
            Err(_) => break,
        }
    }
    n_sent
}

#[test]
fn a_flood_of_pings_takes_no_memory_and_nobody_s_time() {
    let (_site, server) = echo();
    let address = server.address().socket();
    let router = server.expect_processes("router", 1)[0];
    let mut other = WebSocket::open(server.connect(), &WebSocket::request("/"));
    other.send_text("first");
    other.expect_text("first");
    let memory = || private_memory(router).expect("the same process");
    let before = memory();
    let mut most = before;
    std::thread::scope(|scope| {
        let flooders: Vec<_> = (0..N_FLOODERS).map(|_| scope.spawn(|| flood(address))).collect();
        while flooders.iter().any(|flooder| !flooder.is_finished()) {
            other.send_text("meanwhile");
            other.expect_text("meanwhile");
            most = most.max(memory());
            std::thread::sleep(Duration::from_millis(20));
        }
        let sent: Vec<_> =
            flooders.into_iter().map(|flooder| flooder.join().expect("a flooder ends")).collect();
        eprintln!("{sent:?} bytes of pings; memory {before} -> {most}");
        assert!(sent.iter().all(|sent| *sent > 1 << 16), "they did flood: {sent:?}");
    });
    assert!(most < before + MOST_MEMORY, "{before} bytes, then {most}");
    assert_eq!(server.expect_processes("router", 1), [router], "it is the same");
}
