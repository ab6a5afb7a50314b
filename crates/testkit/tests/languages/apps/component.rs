//! The suite's application as a component of WebAssembly: README.md says what is at which path.

use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs, thread};

use wasip2::filesystem::preopens::get_directories;
use wasip2::http::types::{IncomingRequest, Method, ResponseOutparam, Scheme};
use ways::request::body_of;
use ways::respond::{respond, say, stream};

wasip2::http::proxy::export!(Suite);

struct Suite;

impl wasip2::exports::http::incoming_handler::Guest for Suite {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let target = request.path_with_query().unwrap_or_default();
        let (path, argument) = target.split_once('?').unwrap_or((&target, ""));
        let number = || argument.parse::<u32>().unwrap();
        match path {
            "/request" | "/a%20b/%C3%BC" => say(out, &told(&request, &target, argument)),
            "/echo" => respond(out, 200, &[], &whole(&request)),
            "/length" => say(out, &whole(&request).len().to_string()),
            "/ignored" => say(out, "ignored"),
            "/large" => {
                stream(out, &[], |body| (0..number()).for_each(|_| body.write_all(&block()).unwrap()))
            }
            "/status" => {
                respond(out, argument.parse().unwrap(), &[], format!("status {argument}").as_bytes())
            }
            "/fields" => fields(out),
            "/many" => many(out, number()),
            "/stream" => halves(out),
            "/fail" => panic!("failed on purpose"),
            "/fail-late" => stream(out, &[], |body| {
                body.write_all(b"begun").unwrap();
                panic!("failed too late");
            }),
            "/endless" => endless(out),
            "/meet" => meet(out, number()),
            "/slow" => {
                thread::sleep(Duration::from_millis(number().into()));
                say(out, PROCESS);
            }
            "/pid" => say(out, PROCESS),
            "/environment" => say(out, &env::var(argument).unwrap_or_default()),
            "/log" => {
                println!("said to standard output");
                eprintln!("said to standard error");
                say(out, "");
            }
            _ => respond(out, 404, &[], b"missing"),
        }
    }
}

/// A component does not learn in which process it runs.
const PROCESS: &str = "unknown";

fn block() -> Vec<u8> {
    (0..=250).collect::<Vec<u8>>().repeat(100)
}

fn whole(request: &IncomingRequest) -> Vec<u8> {
    let mut body = Vec::new();
    body_of(request, |piece| body.extend_from_slice(piece));
    body
}

fn told(request: &IncomingRequest, target: &str, query: &str) -> String {
    let scheme = match request.scheme() {
        Some(Scheme::Https) => "https",
        Some(Scheme::Http) => "http",
        _ => "another",
    };
    let members = [
        ("method", json(&method(request.method()))),
        ("target", json(target)),
        ("path", "null".to_owned()),
        ("query", json(query)),
        ("scheme", json(scheme)),
        ("client", "null".to_owned()),
        ("headers", headers(request)),
    ];
    object(members.iter().map(|(name, value)| (*name, value.clone())))
}

fn method(method: Method) -> String {
    match method {
        Method::Other(name) => name,
        known => format!("{known:?}").trim_start_matches("Method::").to_uppercase(),
    }
}

/// The headers; repeated ones are joined, as other interfaces have them. The host is the request's authority.
fn headers(request: &IncomingRequest) -> String {
    let mut joined = vec![("host".to_owned(), request.authority().unwrap_or_default())];
    for (name, value) in request.headers().entries() {
        let value = String::from_utf8_lossy(&value).into_owned();
        let separator = if name == "cookie" { "; " } else { ", " };
        match joined.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => *values += &(separator.to_owned() + &value),
            None => joined.push((name, value)),
        }
    }
    object(joined.iter().map(|(name, value)| (&**name, json(value))))
}

fn object<'a>(members: impl Iterator<Item = (&'a str, String)>) -> String {
    let members: Vec<_> = members.map(|(name, value)| format!("{}: {value}", json(name))).collect();
    format!("{{{}}}", members.join(", "))
}

fn json(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn fields(out: ResponseOutparam) {
    let fields: [(&str, &[u8]); 5] = [
        ("x-twice", b"1"),
        ("x-twice", b"2"),
        ("set-cookie", b"a=1"),
        ("set-cookie", b"b=2"),
        ("x-empty", b""),
    ];
    respond(out, 200, &fields, b"fields");
}

fn many(out: ResponseOutparam, n: u32) {
    let fields: Vec<_> = (1..=n).map(|i| (format!("x-field-{i}"), format!("value {i}"))).collect();
    let fields: Vec<_> = fields.iter().map(|(name, value)| (&**name, value.as_bytes())).collect();
    respond(out, 200, &fields, b"many");
}

fn halves(out: ResponseOutparam) {
    let go = folder().join("go");
    stream(out, &[], |body| {
        body.write_all(b"first").unwrap();
        wait_for(|| go.exists());
        body.write_all(b"second").unwrap();
    });
}

fn endless(out: ResponseOutparam) {
    stream(out, &[], |body| {
        while body.write_all(&[b'x'; 65536]).is_ok() {}
        eprintln!("the client is gone");
    });
}

fn meet(out: ResponseOutparam, n: u32) {
    let folder = folder().join("meet");
    let own = wasip2::random::random::get_random_u64();
    fs::write(folder.join(own.to_string()), "").unwrap();
    wait_for(|| fs::read_dir(&folder).unwrap().count() >= n as usize);
    say(out, PROCESS);
}

/// The only one that it may use.
fn folder() -> PathBuf {
    get_directories().pop().expect("a folder").1.into()
}

fn wait_for(condition: impl Fn() -> bool) {
    while !condition() {
        thread::sleep(Duration::from_millis(5));
    }
}
