//! Requests as a Rack application sees them.

use corral_testkit::{Request, daemon, site};
use serde_json::{Value, json};

use super::{app_of, serve};

#[test]
fn the_environment_is_what_rack_says() {
    let (server, _site) = serve(
        "require 'json'
         plain = env.select { |_, value| value.is_a?(String) || value == true || value == false || value.is_a?(Array) }
         [200, { 'content-type' => 'application/json' }, [JSON.generate(plain)]]",
    );
    let request = Request::get("/a%20b/c?x=1&y")
        .field("Host", "example.com:99")
        .field("X-One", "1")
        .field("x-one", "2");
    let found = server.send(&request.field("Cookie", "a=b")).expect(200).json();
    for (name, expect) in [
        ("REQUEST_METHOD", json!("GET")),
        ("SCRIPT_NAME", json!("")),
        ("PATH_INFO", json!("/a b/c")),
        ("REQUEST_URI", json!("/a%20b/c?x=1&y")),
        ("QUERY_STRING", json!("x=1&y")),
        ("SERVER_NAME", json!("example.com")),
        ("SERVER_PROTOCOL", json!("HTTP/1.1")),
        ("REMOTE_ADDR", json!("127.0.0.1")),
        ("HTTP_HOST", json!("example.com:99")),
        ("HTTP_X_ONE", json!("1, 2")),
        ("HTTP_COOKIE", json!("a=b")),
        ("rack.url_scheme", json!("http")),
        ("rack.multithread", json!(false)),
        ("rack.multiprocess", json!(true)),
        ("rack.run_once", json!(false)),
        ("rack.hijack?", json!(true)),
    ] {
        assert_eq!(found[name], expect, "{name} of {found:#}");
    }
    for absent in ["HTTPS", "CONTENT_TYPE", "HTTP_CONTENT_LENGTH"] {
        assert_eq!(found[absent], Value::Null, "{absent}");
    }
}

/// Rack's own examination of both sides.
#[test]
fn rack_s_lint_finds_nothing() {
    let script = "require 'uri'
        require 'rack/lint'
        use Rack::Lint
        run ->(env) { [200, { 'content-type' => 'text/plain' }, [env['rack.input'].read.size.to_s]] }";
    let (server, _site) = super::serve_script(script);
    server.get("/").expect(200).expect_body("0");
    server.send(&Request::post("/x").body(vec![b'x'; 100_000])).expect(200).expect_body("100000");
    server.send(&Request::new("HEAD", "/")).expect(200);
}

#[test]
fn a_body_can_be_read_in_all_ways_and_again() {
    let (server, _site) = serve(
        "input = env['rack.input']
         first = input.read(5)
         line = input.gets
         rest = input.read
         input.rewind
         lines = 0
         input.each { |_| lines += 1 }
         empty = input.read(1)
         [200, {}, [[env['CONTENT_LENGTH'], env['CONTENT_TYPE'], first, line.size, rest.size, lines, empty.inspect, rest.encoding].join('|')]]",
    );
    let line = b"0123456789abcde\n";
    for n in [2, 10, 5_000, 60_000] {
        let body: Vec<u8> = line.repeat(n);
        let request = Request::post("/").field("Content-Type", "text/x").body(body);
        let (total, rest) = (16 * n, 16 * n - 16);
        let expect = format!("{total}|text/x|01234|11|{rest}|{n}|nil|ASCII-8BIT");
        server.send(&request).expect(200).expect_body(expect);
    }
}

/// More than is kept in memory: the input is a file.
#[test]
fn a_long_body_is_stored() {
    let body = "input = env['rack.input']
        n = 0
        sum = 0
        while (piece = input.read(65_536))
          n += piece.bytesize
          sum += piece.sum(64)
        end
        [200, {}, [\"#{n} #{sum} #{input.class}\"]]";
    let site = site().file("config.ru", format!("run ->(env) do\n{body}\nend"));
    let config = json!({ "applications": { "app": app_of(&site) },
        "settings": { "http": { "max_body_size": 50_000_000 } } });
    let server = daemon().config(config).start();
    let body: Vec<u8> = (0..20_000_000_u32).map(|i| (i % 251) as u8).collect();
    let sum: u64 = body.iter().map(|byte| u64::from(*byte)).sum();
    server.send(&Request::post("/").body(&body)).expect(200).expect_body(format!("20000000 {sum} Tempfile"));
}

#[test]
fn errors_go_to_the_log() {
    let (server, _site) = serve("env['rack.errors'].puts('something to note'); [204, {}, []]");
    server.get("/").expect(204);
    server.expect_log("something to note");
}

/// The encodings that `ruby` itself has in an environment.
fn encodings_of_ruby(environment: &Value) -> String {
    let mut ruby = std::process::Command::new("ruby");
    ruby.env_clear().env("PATH", std::env::var_os("PATH").expect("there is one"));
    let members = environment.as_object().expect("it is an object");
    ruby.envs(members.iter().map(|(name, value)| (name, value.as_str().expect("values are strings"))));
    let script = "print [Encoding.default_external, Encoding.default_internal.inspect].join(' ')";
    let output = ruby.args(["-e", script]).output().expect("ruby is installed: scripts/setup test");
    String::from_utf8(output.stdout).expect("names are ASCII")
}

#[test]
fn encodings_are_those_that_ruby_has_in_this_environment() {
    let mut seen = std::collections::BTreeSet::new();
    for environment in [
        json!({}),
        json!({ "LANG": "C" }),
        json!({ "LANG": "C.UTF-8" }),
        json!({ "LC_ALL": "C.UTF-8", "LANG": "C" }),
        json!({ "LANG": "no_SUCH.locale" }),
        json!({ "RUBYOPT": "-E ISO-8859-1:UTF-8" }),
    ] {
        let script = "run ->(_) { [200, {}, [[Encoding.default_external, Encoding.default_internal.inspect].join(' \
            ')]] }";
        let site = site().file("config.ru", script);
        let mut app = app_of(&site);
        app["environment"] = environment.clone();
        app["inherit_environment"] = json!(false);
        let mut daemon = daemon();
        for name in ["LANG", "LC_ALL"] {
            daemon = daemon.environment(name, "");
        }
        let server = daemon.config(json!({ "applications": { "app": app } })).start();
        let expected = encodings_of_ruby(&environment);
        server.get("/").expect(200).expect_body(expected.as_bytes());
        seen.insert(expected);
    }
    assert!(seen.len() > 2, "{seen:?}");
}

/// Rack 2 has the version of its specification there, 3.1 has nothing, and 3.2 has its own version as a text.
#[test]
fn rack_has_a_version_or_none() {
    let remove = "Rack.send(:remove_const, :VERSION) if Rack.const_defined?(:VERSION)";
    let run = "run ->(env) { [200, {}, [env['rack.version'].inspect]] }";
    for (set, expect) in
        [("Rack::VERSION = [1, 3]", "[1, 3]"), ("", "[1, 6]"), ("Rack::VERSION = '3.2.0'", "[1, 6]")]
    {
        let (server, _site) = super::serve_script(&format!("{remove}\n{set}\n{run}"));
        server.get("/").expect(200).expect_body(expect);
    }
}
