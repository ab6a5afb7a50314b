//! The costs of long input are linear: wherever a client may send more, twice the bytes take about twice the time of a
//! processor, wherever the router looks into them. A product of two lengths that a client chooses would take four
//! times.

use std::fmt::Write as _;
use std::time::Duration;

use corral_testkit::{Client, Daemon, Origin, Site, daemon, processor_time, site};
use serde_json::json;

/// Bytes of what is long; and twice that.
const LENGTH: usize = 24 * 1024;

/// How much longer twice as much may take. Less than twice is usual, as some of the work is the same for every request.
const MOST: f64 = 3.0;

/// Requests of one measurement, and how often it is made. Whatever else the machine does makes one longer, and none
/// shorter.
const N_REQUESTS: u32 = 12;
const N_ROUNDS: usize = 6;

/// How often the two are measured at most. What takes four times as long does so each time.
const N_ATTEMPTS: usize = 8;

/// Costs that are too small to be told apart from chance, for one request.
const NEGLIGIBLE: Duration = Duration::from_micros(60);

struct House {
    server: Daemon,
    router: u32,
    _site: Site,
    _origin: Origin,
}

impl House {
    fn new() -> Self {
        let site = site().file("files/a.txt", "some text ".repeat(1000));
        let origin = Origin::start(|peer| {
            while let Some(request) = peer.read_request() {
                if !peer.write(answer(&String::from_utf8_lossy(&request)).as_bytes()) {
                    return;
                }
            }
        });
        let is_none =
            |condition: serde_json::Value| json!({ "match": condition, "action": { "return": 500 } });
        let server = daemon().http(json!({
            "large_header_buffer_size": 4 * LENGTH,
            "chunked_transform": true,
            "compression": { "types": ["text/*"], "compressors": [{ "encoding": "gzip", "min_length": 1 }] },
        }));
        let server = server.routes(json!([
            is_none(json!({ "uri": ["/*a*a*a*b", "/*.*/*.php"] })),
            is_none(json!({ "cookies": [{ "zz": "no" }, { "zy": "*n*o" }] })),
            is_none(json!({ "arguments": [{ "zz": "no" }, { "zy": "*n*o" }] })),
            is_none(json!({ "headers": [{ "x-zz": "no" }, { "x-zy": "*n*o" }] })),
            is_none(json!({ "query": ["*a*a*a*b"] })),
            is_none(json!({ "source": "192.0.2.0/24" })),
            { "match": { "uri": "/template*" }, "action": {
                "return": 302, "location": "/$arg_zz$arg_zy$cookie_zz$cookie_zy$header_x_none" } },
            { "match": { "uri": "/script*" }, "action": {
                "return": 302, "location": "`/${args.zx}${cookies.zx}${headers.zx}${Object.keys(args).length}`" } },
            { "match": { "uri": "/square*" }, "action": {
                "return": 302, "location": "`/${args.n.split('').map(() => args.n.split('').join('')).length}`" } },
            { "match": { "uri": "/files/*" }, "action": { "share": format!("{}$uri", site.root()) } },
            { "match": { "uri": "/named*" }, "action": {
                "share": format!("{}/files/$arg_f", site.root()), "fallback": { "return": 204 } } },
            { "match": { "uri": "/proxy*" }, "action": { "proxy": origin.url() } },
            { "action": { "return": 204 } },
        ]));
        let server = server.start();
        let listeners = json!({ server.address().to_string(): {
            "pass": "routes",
            "forwarded": { "source": ["127.0.0.0/8", "10.0.0.0/8"], "client_ip": "X-Forwarded-For", "recursive": true },
        } });
        server.control().put("/config/listeners", &listeners).expect_done();
        // Others have the processors, too, and a script's time goes on.
        server.control().put("/config/settings/js_limits", &json!({ "timeout_ms": 30_000 })).expect_done();
        server.control().put("/config/settings/listen_threads", &json!(1)).expect_done();
        let router = server.expect_processes("router", 1)[0];
        Self { server, router, _site: site, _origin: origin }
    }

    /// The least time that so many requests take, each with `n_answers`.
    fn cost(&self, request: &str, expect: u16, n_answers: usize) -> Duration {
        let mut client = self.server.connect();
        (0..N_ROUNDS)
            .map(|_| {
                let before = processor_time(self.router).expect("it runs");
                (0..N_REQUESTS).for_each(|_| ask(&mut client, request, expect, n_answers));
                processor_time(self.router).expect("it runs") - before
            })
            .min()
            .expect("there are some")
            / N_REQUESTS
    }

    /// Twice as much takes about twice as long. `request` has so many bytes of what is long.
    #[track_caller]
    fn check(&self, what: &str, expect: u16, request: impl Fn(usize) -> String) {
        self.check_with(what, expect, |_| 1, request);
    }

    #[track_caller]
    fn check_with(
        &self,
        what: &str,
        expect: u16,
        n_answers: impl Fn(usize) -> usize,
        request: impl Fn(usize) -> String,
    ) {
        let measure = |length| self.cost(&request(length), expect, n_answers(length));
        let mut costs = [Duration::MAX; 2];
        for _ in 0..N_ATTEMPTS {
            // On a busy machine both are too long, each by another share, until they have been seen undisturbed.
            let [once, twice] = [LENGTH, 2 * LENGTH].map(measure);
            costs = [costs[0].min(once), costs[1].min(twice)];
            println!("{what}: {costs:?}, {:.2} times", ratio(costs));
            if ratio(costs) <= MOST {
                return;
            }
        }
        panic!("{what}: {costs:?}, {:.2} times", ratio(costs));
    }
}

fn ratio([once, twice]: [Duration; 2]) -> f64 {
    twice.as_secs_f64() / once.max(NEGLIGIBLE).as_secs_f64()
}

#[track_caller]
fn ask(client: &mut Client, request: &str, expect: u16, n_answers: usize) {
    client.write(request);
    for _ in 0..n_answers {
        let response = client.read_response();
        assert_eq!(response.status, expect, "{response}");
    }
}

/// The answer of the server behind: what the last word of the path asks for, with as many bytes of it as the query
/// says.
fn answer(request: &str) -> String {
    let target = request.split(' ').nth(1).unwrap_or_default();
    let (path, length) = target.split_once('?').unwrap_or((target, "0"));
    let length = length.parse().unwrap_or_default();
    match path.rsplit('/').next() {
        Some("fields") => {
            format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{}\r\n", many("X-A: {}\r\n", length / 8))
        }
        Some("chunks") => {
            format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
                many("1\r\nx\r\n", length)
            )
        }
        Some("interim") => {
            format!(
                "{}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                many("HTTP/1.1 102 x\r\n\r\n", length / 4)
            )
        }
        _ => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned(),
    }
}

/// A piece over and over, up to so many bytes; `{}` in it is another number each time.
fn many(piece: &str, length: usize) -> String {
    let mut text = String::new();
    for n in 0.. {
        let piece = piece.replace("{}", &n.to_string());
        if text.len() + piece.len() > length {
            break;
        }
        let _ = write!(text, "{piece}");
    }
    text
}

fn get(target: &str, fields: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n")
}

/// One field with a long value.
fn with(target: &'static str, name: &'static str, piece: &'static str) -> impl Fn(usize) -> String {
    move |length| get(target, &format!("{name}: {}\r\n", many(piece, length)))
}

/// So the measure would see it.
#[test]
fn what_is_a_square_takes_four_times() {
    let house = House::new();
    let cost = |length| house.cost(&get(&format!("/square?n={}", "x".repeat(length)), ""), 302, 1);
    let costs = [400, 800].map(cost);
    assert!(ratio(costs) > MOST, "{costs:?}");
}

#[test]
fn paths_and_arguments() {
    let house = House::new();
    for piece in ["a/../", "./", "/", "a/", "a", "%61", "a%2f", "a.b/"] {
        house.check(piece, 204, |length| get(&format!("/{}end", many(piece, length)), ""));
    }
    for (path, expect) in [("/", 204), ("/template", 302), ("/script", 302), ("/named", 204)] {
        for piece in ["a{}=1&", "zz=1&", "zy=nn&", "f=x&", "&", "=", "%7a", "a", "+"] {
            let what = format!("{path}?{piece}");
            // What an argument stands for may be what is long.
            house.check(&what, expect, |length| get(&format!("{path}?{}", many(piece, length)), ""));
        }
    }
}

#[test]
fn cookies_and_fields() {
    let house = House::new();
    for (target, expect) in [("/", 204), ("/template", 302), ("/script", 302)] {
        for piece in ["a{}=1; ", "zz=1; ", "zy=nn; ", "; ", "=", "a"] {
            house.check(&format!("{target}, Cookie: {piece}"), expect, with(target, "Cookie", piece));
        }
        for piece in
            ["X-{}: 1\r\n", "X-zz: 1\r\n", "X-zy: nn\r\n", "Cookie: a=1\r\n", "X-None: 1\r\n", "a:\r\n"]
        {
            let request = |length| get(target, &many(piece, length));
            house.check(&format!("{target}, {piece:?}"), expect, request);
        }
    }
    for piece in ["10.0.0.1, ", "10.0.0.1,", ",", " ", "x, ", "[::1]:1, "] {
        house.check(&format!("X-Forwarded-For: {piece}"), 204, with("/", "X-Forwarded-For", piece));
    }
    house.check("many X-Forwarded-For", 204, |length| {
        get("/", &many("X-Forwarded-For: 10.0.0.1\r\n", length))
    });
}

#[test]
fn files() {
    let house = House::new();
    for (name, piece) in [
        ("Accept-Encoding", "a{};q=0.5, "),
        ("Accept-Encoding", "gzip, "),
        ("Accept-Encoding", ","),
        ("Range", "0-0,"),
        ("If-None-Match", "\"{}\", "),
        ("If-None-Match", "W/\""),
        ("If-None-Match", ","),
        ("If-Match", "\"{}\", "),
        ("Accept", "a{}/b;q=0.5, "),
        ("Cache-Control", "no-cache, "),
    ] {
        let unit = if name == "Range" { "bytes=" } else { "" };
        let list = |length| many(piece, length).trim_end_matches(", ").to_owned();
        let request = |length| get("/files/a.txt", &format!("{name}: {unit}{}\r\n", list(length)));
        let mut client = house.server.connect();
        client.write(request(LENGTH));
        // Whatever the answer is, that of twice as much is the same.
        house.check(&format!("{name}: {piece}"), client.read_response().status, request);
    }
}

#[test]
fn requests_one_behind_the_other() {
    let house = House::new();
    let request = get("/", "");
    let n_answers = |length| length / request.len();
    house.check_with("pipelined requests", 204, n_answers, |length| request.repeat(n_answers(length)));
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn requests_on_their_way_to_a_server_and_answers_of_it() {
        let house = House::new();
        for (name, piece) in
            [("TE", "a{}, "), ("TE", "trailers, "), ("Via", "1.1 a, "), ("X-Forwarded-For", "10.0.0.1, ")]
        {
            house.check(&format!("{name}: {piece}"), 200, with("/proxy", name, piece));
        }
        for piece in ["X-{}: 1\r\n", "X-A: 1\r\n", "TE: a\r\n", "Upgrade: a\r\n"] {
            house.check(piece, 200, |length| get("/proxy", &many(piece, length)));
        }
        let options = "Connection: x-1, x-2, x-3, x-4, x-5, x-6, x-7, x-8, x-9, x-10, x-11, x-12\r\n";
        house.check(options, 200, |length| {
            get("/proxy", &format!("{options}{}", many("X-{}: 1\r\n", length)))
        });
        for answer in ["fields", "chunks", "interim"] {
            house.check(answer, 200, |length| get(&format!("/proxy/{answer}?{length}"), ""));
        }
        let chunked = "POST /proxy HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        house.check("chunks of a request", 200, |length| {
            format!("{chunked}{}0\r\n\r\n", many("1\r\nx\r\n", length))
        });
        // There are 4096 bytes of each at most.
        house.check("trailers", 200, |length| {
            format!("{chunked}0\r\n{}\r\n", many("X-{}: 1\r\n", length / 16))
        });
        house.check("extensions", 200, |length| {
            format!("{chunked}1{}\r\nx\r\n0\r\n\r\n", many(";a=1", length / 16))
        });
    }
}
