//! A small server that behaves as a test says, rightly or not: a thread for each connection, a reply for each request.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use socket2::SockRef;

/// The server's answer to a request, or its lack of one.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// 200 with this body.
    Good(&'static str),
    /// These bytes.
    Raw(String),
    /// These bytes, and the end of the connection.
    Last(String),
    /// The end of the connection by a reset.
    Reset,
    /// Nothing, while the connection stays.
    Silence,
    /// The same as the other, but later.
    After(Duration, Box<Self>),
    /// A head that never ends.
    EndlessHead,
}

pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<String>>,
}

impl Server {
    /// `reply` gets the number of the request among all, from 0, and its head and body.
    pub(crate) fn start(reply: impl Fn(usize, &str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it has an address");
        let (seen, reply) = (Arc::new(Seen::default()), Arc::new(reply));
        let server = Self { address, seen: Arc::clone(&seen) };
        // Ends with the process: tests do not wait for connections.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                seen.connections.fetch_add(1, Ordering::Relaxed);
                let (seen, reply) = (Arc::clone(&seen), Arc::clone(&reply));
                thread::spawn(move || serve(stream, &seen, &*reply));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub(crate) fn n_connections(&self) -> usize {
        self.seen.connections.load(Ordering::Relaxed)
    }

    /// All requests so far, in their order.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().expect("no thread panicked").clone()
    }
}

/// The URL of a port at which nothing listens.
pub(crate) fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    format!("http://{}/", listener.local_addr().expect("it has an address"))
}

/// 200 with a body, as HTTP/1.1 has it.
pub(crate) fn good(body: &str) -> String {
    answer(200, body)
}

pub(crate) fn answer(status: u16, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn serve(mut stream: TcpStream, seen: &Seen, reply: &dyn Fn(usize, &str) -> Reply) {
    let mut input = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut input) {
        let number = {
            let mut requests = seen.requests.lock().expect("no thread panicked");
            requests.push(request.clone());
            requests.len() - 1
        };
        if !send(&mut stream, reply(number, &request)) {
            return;
        }
    }
}

/// Carries a reply out; false if the connection is over.
fn send(stream: &mut TcpStream, reply: Reply) -> bool {
    match reply {
        Reply::Good(body) => stream.write_all(good(body).as_bytes()).is_ok(),
        Reply::Raw(bytes) => stream.write_all(bytes.as_bytes()).is_ok(),
        Reply::Last(bytes) => {
            drop(stream.write_all(bytes.as_bytes()));
            drop(stream.shutdown(Shutdown::Write));
            // Whatever comes has to be read, or else the end would be a reset.
            drop(stream.read_to_end(&mut Vec::new()));
            false
        }
        Reply::Reset => {
            SockRef::from(&*stream).set_linger(Some(Duration::ZERO)).expect("sockets can linger");
            false
        }
        Reply::Silence => true,
        Reply::After(time, then) => {
            thread::sleep(time);
            send(stream, *then)
        }
        Reply::EndlessHead => {
            let begun = stream.write_all(b"HTTP/1.1 200 OK\r\n").is_ok();
            while begun && stream.write_all(b"X-Endless: yes\r\n").is_ok() {}
            false
        }
    }
}

/// One head, with the body that its length says.
fn read_request(stream: &mut TcpStream, input: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(length) = request_length(input) {
            let request = input.drain(..length).collect();
            return Some(String::from_utf8(request).expect("requests are text"));
        }
        let mut buffer = [0; 4096];
        let n_read = stream.read(&mut buffer).ok().filter(|n_read| *n_read > 0)?;
        input.extend_from_slice(&buffer[..n_read]);
    }
}

fn request_length(input: &[u8]) -> Option<usize> {
    let n_head = input.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&input[..n_head]).to_lowercase();
    let n_body = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
    Some(n_head + n_body.unwrap_or(0)).filter(|length| *length <= input.len())
}
