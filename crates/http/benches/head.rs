//! Nanoseconds per request head and per reply head, with `httparse` beside our parser.
//! Run it with `cargo bench -p corral-http`; each figure is the best of several rounds.

use std::hint::black_box;
use std::time::Instant;

use corral_http::request::{HeadRules, ParsedHead, parse_head};
use corral_http::response::{ConnectionField, DateCache, ReplyFraming, Trailer, append_head};

const TINY: &[u8] = b"GET /hello.php HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

const SIX_FIELDS: &[u8] = b"GET /blog/2024/05/a-post/?page=2 HTTP/1.1\r\n\
    Host: www.example.com\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\n\
    Connection: keep-alive\r\n\
    Cookie: PHPSESSID=r2t5uvjq435r4q7ib3vtdjq120; theme=dark\r\n\r\n";

const BROWSER: &[u8] = b"GET /assets/app.css?v=1.2.3 HTTP/1.1\r\n\
    Host: www.example.com\r\n\
    Connection: keep-alive\r\n\
    sec-ch-ua: \"Chromium\";v=\"124\", \"Google Chrome\";v=\"124\", \"Not-A.Brand\";v=\"99\"\r\n\
    sec-ch-ua-mobile: ?0\r\n\
    sec-ch-ua-platform: \"Linux\"\r\n\
    Upgrade-Insecure-Requests: 1\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8\r\n\
    Sec-Fetch-Site: same-origin\r\n\
    Sec-Fetch-Mode: navigate\r\n\
    Sec-Fetch-User: ?1\r\n\
    Sec-Fetch-Dest: document\r\n\
    Referer: https://www.example.com/index.php?a=1&b=2\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\n\
    Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n\
    If-None-Match: \"6650a0e2-1f40\"\r\n\r\n";

fn main() {
    for (name, bytes) in [("tiny", TINY), ("six fields", SIX_FIELDS), ("browser", BROWSER)] {
        let rules = HeadRules::from_buffers(8192, 4);
        let mut head = ParsedHead::default();
        measure(&format!("corral, {name}, {} bytes", bytes.len()), || {
            parse_head(&mut head, black_box(bytes), &rules).is_ok()
        });
        measure(&format!("httparse, {name} (no known fields, path or framing)"), || {
            let mut fields = [httparse::EMPTY_HEADER; 64];
            httparse::Request::new(&mut fields).parse(black_box(bytes)).is_ok()
        });
    }
    let mut dates = DateCache::new();
    let mut out = Vec::new();
    measure("reply head of three fields", || {
        out.clear();
        let fields: [(&[u8], &[u8]); 3] = [
            (b"Content-Type", b"text/html; charset=UTF-8"),
            (b"X-Powered-By", b"PHP/8.2.29"),
            (b"Set-Cookie", b"PHPSESSID=r2t5uvjq435r4q7ib3vtdjq120; path=/"),
        ];
        let trailer = Trailer {
            server: Some(b"Corral/0.1.0"),
            date: Some(dates.at(1_700_000_000)),
            framing: ReplyFraming::Length(17_890),
            connection: ConnectionField::Unsaid,
        };
        append_head(&mut out, 200, black_box(fields), &trailer);
        !out.is_empty()
    });
}

/// Prints the nanoseconds of one call, the best of 20 rounds.
fn measure(name: &str, mut work: impl FnMut() -> bool) {
    const CALLS: u32 = 20_000;
    let best = (0..20)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                assert!(work(), "{name} failed");
            }
            start.elapsed() / CALLS
        })
        .min()
        .expect("there are rounds");
    println!("{:>6} ns  {name}", best.as_nanos());
}
