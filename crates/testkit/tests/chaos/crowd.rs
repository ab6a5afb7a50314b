//! Thousands of clients that send or read a few bytes at a time: what they cost, and what a request beside them
//! notices.
//!
//! `CORRAL_CHAOS_CLIENTS=10000` has as many that trickle their heads, and half as many that read slowly.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use corral_testkit::{
    Daemon, Origin, Site, Width, daemon, dial, eventually, proportional_memory, raise_descriptor_limit, site,
};
use serde_json::json;

use super::{is_long, n_clients};

/// The size of the response that a slow reader asks for.
const LARGE: usize = 1 << 20;

/// How long it takes until each client has sent or read something again.
const ROUND: Duration = Duration::from_secs(5);

/// Clients of one source address: there are about 28,000 ports for each.
const PER_SOURCE: usize = 5000;

/// Memory that the router may take: bodies that wait (`settings.limits.buffered_bytes`), and for each client.
const FOR_BODIES: u64 = 32 << 20;
const FOR_A_HEAD: u64 = 12 << 10;
const FOR_A_READER: u64 = 96 << 10;

/// Memory that the router takes without a crowd, too: buffers that event loops keep.
const FOR_ALL: u64 = 4 << 20;

/// Slow readers ask for a file, for what another server says and for the output of a script.
const SLOW: [&str; 3] = ["/large.bin", "/proxied/large", "/large.php"];
const QUICK: [&str; 3] = ["/small.bin", "/proxied/small", "/small.php"];

/// Requests that are timed.
const N_FRESH: usize = 1000;

fn start() -> (Daemon, Site, [Origin; 2]) {
    let site = site()
        .file("small.php", "<?php echo 'x';")
        .file(
            "large.php",
            format!("<?php for ($i = 0; $i < {LARGE} / 65536; $i++) {{ echo str_repeat('x', 65536); }}"),
        )
        .file("small.bin", "x")
        .file("large.bin", vec![b'x'; LARGE]);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\n\r\n");
    let large = Origin::answering([head.into_bytes(), vec![b'x'; LARGE]].concat());
    let small = Origin::saying("x");
    let routes = json!([
        { "match": { "uri": "/proxied/large" }, "action": { "proxy": large.url() } },
        { "match": { "uri": "/proxied/small" }, "action": { "proxy": small.url() } },
        { "match": { "uri": "*.bin" }, "action": { "share": format!("{}$uri", site.root()) } },
        { "action": { "pass": "applications/php" } },
    ]);
    // The crowd stays for as long as the test wants.
    let http = json!({ "header_read_timeout": 600, "send_timeout": 600 });
    let app = json!({ "type": "php", "root": site.root(), "processes": 2 });
    let config = json!({ "routes": routes, "applications": { "php": app }, "settings": { "http": http } });
    (daemon().config(config).start(), site, [large, small])
}

/// Clients that are looked after by a thread of their own, until they are wanted back.
struct Crowd {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Members>,
}

struct Members {
    heads: Vec<TcpStream>,
    readers: Vec<Reader>,
}

struct Reader {
    stream: TcpStream,
    n_read: usize,
}

impl Members {
    fn connect(address: SocketAddr, n_heads: usize, n_readers: usize) -> Self {
        let heads =
            (0..n_heads).map(|n| say(address, n, Width::Usual, "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "));
        let heads = heads.collect();
        let readers = (0..n_readers).map(|n| {
            let request =
                format!("GET {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", SLOW[n % SLOW.len()]);
            Reader { stream: say(address, n_heads + n, Width::Narrow, &request), n_read: 0 }
        });
        Self { heads, readers: readers.collect() }
    }

    fn keep_trickling(self) -> Crowd {
        let ends = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ends);
        let mut members = self;
        let thread = std::thread::spawn(move || {
            let pace = ROUND / (members.heads.len() + members.readers.len()) as u32;
            while !seen.load(Ordering::Relaxed) {
                members.one_round(pace, &seen);
            }
            members
        });
        Crowd { ends, thread }
    }

    fn one_round(&mut self, pace: Duration, ends: &AtomicBool) {
        // One reader after two heads.
        let (mut heads, mut readers) = (self.heads.iter_mut(), self.readers.iter_mut());
        let mut n = 0;
        loop {
            n += 1;
            let turn = if n % 3 == 0 { readers.next().map(Reader::sip) } else { heads.next().map(drip) };
            if ends.load(Ordering::Relaxed) || (turn.is_none() && n % 3 != 0) {
                return;
            }
            std::thread::sleep(pace);
        }
    }
}

impl Reader {
    fn sip(&mut self) {
        match self.stream.read(&mut [0; 512]) {
            Ok(n) => self.n_read += n,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
    }

    fn read_all(mut self) -> usize {
        self.stream.set_nonblocking(false).expect("a socket");
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).expect("nothing was lost by waiting");
        self.n_read + rest.len()
    }
}

fn drip(head: &mut TcpStream) {
    head.write_all(b"x").expect("nobody is turned away");
}

impl Crowd {
    fn end(self) -> Members {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().expect("the crowd goes on as long as it may")
    }
}

fn say(address: SocketAddr, n: usize, width: Width, text: &str) -> TcpStream {
    let source = IpAddr::V4(Ipv4Addr::new(127, 0, 77, 1 + (n / PER_SOURCE) as u8));
    let mut stream = dial(source, address, width).expect("connect");
    stream.write_all(text.as_bytes()).expect("write a request");
    stream.set_nonblocking(true).expect("a socket");
    stream
}

/// Times requests on connections of their own, and looks at the memory meanwhile; both sorted.
fn measure(server: &Daemon, router: u32) -> (Vec<Duration>, u64) {
    let mut times = Vec::new();
    let mut most = 0;
    for n in 0..if is_long() { N_FRESH } else { N_FRESH / 10 } {
        let started = Instant::now();
        server.get(QUICK[n % QUICK.len()]).expect(200).expect_text("x");
        times.push(started.elapsed());
        if n % 50 == 0 {
            most = most.max(proportional_memory(router).expect("it runs"));
        }
    }
    times.sort_unstable();
    (times, most)
}

/// How many processes want each processor.
fn pressure() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").expect("Linux tells its load");
    let load: f64 = text.split(' ').next().and_then(|load| load.parse().ok()).expect("a number");
    load / std::thread::available_parallelism().expect("there are some").get() as f64
}

#[test]
fn a_crowd_of_slow_clients_is_affordable_and_nobody_waits_for_it() {
    // A slow reader takes two descriptors of the router, itself and a file or a server.
    let n_heads = n_clients().min((raise_descriptor_limit() as usize).saturating_sub(600) / 2);
    let n_readers = n_heads / 2;
    let (server, _site, _origins) = start();
    let router = server.expect_processes("router", 1)[0];
    let (alone, before) = measure(&server, router);
    let started = Instant::now();
    let members = Members::connect(server.address().socket(), n_heads, n_readers);
    let n_all = (n_heads + n_readers) as u64;
    eventually("all are being served", || {
        (server.control().get("/status/connections/active").json().as_u64() == Some(n_all)).then_some(())
    });
    eprintln!("{n_heads} heads and {n_readers} readers came in {:?}", started.elapsed());
    let crowd = members.keep_trickling();
    let (beside, most) = measure(&server, router);
    let Members { mut heads, readers } = crowd.end();
    let cost = most.saturating_sub(before);
    let at = |times: &[Duration], percent: usize| times[times.len() * percent / 100];
    eprintln!(
        "memory {:.1} MB more than {:.1} MB; alone p50 {:?} p99 {:?}, beside them p50 {:?} p99 {:?}; load {:.1}",
        cost as f64 / 1e6,
        before as f64 / 1e6,
        at(&alone, 50),
        at(&alone, 99),
        at(&beside, 50),
        at(&beside, 99),
        pressure(),
    );
    let budget = FOR_ALL + FOR_BODIES + FOR_A_HEAD * n_heads as u64 + FOR_A_READER * n_readers as u64;
    assert!(cost < budget, "{cost} bytes, but {budget} are allowed");
    if is_long() {
        let bound = Duration::from_millis(20).mul_f64(pressure().max(1.0));
        assert!(at(&beside, 99) < bound, "more than {bound:?}");
    }
    for reader in readers.into_iter().step_by(n_readers.div_ceil(60)) {
        assert!(reader.read_all() > LARGE);
    }
    for head in heads.iter_mut().step_by(n_heads.div_ceil(20)) {
        head.set_nonblocking(false).expect("a socket");
        head.write_all(b"\r\nConnection: close\r\n\r\n").expect("write the end of a head");
        let mut reply = String::new();
        head.read_to_string(&mut reply).expect("a reply");
        assert!(reply.starts_with("HTTP/1.1 404 "), "{reply}");
    }
}
