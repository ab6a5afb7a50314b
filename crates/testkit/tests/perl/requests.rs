//! Requests as a PSGI application sees them.

use corral_testkit::{Request, daemon, eventually, site};
use serde_json::{Value, json};

use super::{app_of, serve, serve_script};

/// Answers with all that can be said in JSON of its environment.
const DUMP: &str = r"
use strict; use warnings; use JSON::PP;
sub {
    my ($env) = @_;
    my %plain = map { ref $env->{$_} ? () : ($_ => $env->{$_}) } keys %$env;
    $plain{refs} = { map { ref $env->{$_} ? ($_ => ref $env->{$_}) : () } keys %$env };
    $plain{version} = $env->{'psgi.version'};
    [200, ['Content-Type' => 'application/json'], [JSON::PP->new->allow_nonref->encode(\%plain)]];
};";

#[test]
fn the_environment_is_what_psgi_says() {
    let (server, _site) = serve_script(DUMP);
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
        ("psgi.url_scheme", json!("http")),
        ("version", json!([1, 1])),
    ] {
        assert_eq!(found[name], expect, "{name} of {found:#}");
    }
    assert_eq!(found["SERVER_PORT"], json!(server.address().socket().port().to_string()));
    for absent in ["HTTPS", "CONTENT_TYPE", "HTTP_CONTENT_LENGTH"] {
        assert_eq!(found[absent], Value::Null, "{absent}");
    }
}

#[test]
fn a_body_is_described_and_can_be_read_again() {
    let (server, _site) = serve(
        r"my $in = $env->{'psgi.input'};
          my $n = $in->read(my $first, 5);
          my $offset = $in->read($first, 3, 5);
          my $rest = do { local $/; <$in> } // '';
          seek $in, 0, 0;
          my $total = 0;
          while (my $n = $in->read(my $piece, 10_000)) { $total += $n }
          [200, [], [join '|', $env->{CONTENT_LENGTH}, $env->{CONTENT_TYPE}, $n, $offset, $first, length $rest, $total]]",
    );
    for n in [8, 1_000, 70_000, 900_000] {
        let body: Vec<u8> = b"0123456789".iter().copied().cycle().take(n).collect();
        let request = Request::post("/").field("Content-Type", "text/x").body(body);
        let rest = n - 8;
        server.send(&request).expect(200).expect_body(format!("{n}|text/x|5|3|01234567|{rest}|{n}"));
    }
}

/// More than is kept in memory: the handle is a file's.
#[test]
fn a_long_body_is_stored() {
    let site = site().file(
        "app.psgi",
        r"sub { my $in = $_[0]{'psgi.input'}; my ($n, $sum) = (0, 0);
            while (my $got = $in->read(my $piece, 65536)) { $n += $got; $sum += unpack '%32C*', $piece }
            [200, [], [join ' ', $n, $sum, (-f $in ? 'file' : 'memory')]] };",
    );
    let config = json!({ "applications": { "app": app_of(&site) },
        "settings": { "http": { "max_body_size": 50_000_000 } } });
    let server = daemon().config(config).start();
    let body: Vec<u8> = (0..20_000_000_u32).map(|i| (i % 251) as u8).collect();
    let sum: u64 = body.iter().map(|byte| u64::from(*byte)).sum();
    server.send(&Request::post("/").body(&body)).expect(200).expect_body(format!("20000000 {sum} file"));
}

#[test]
fn workers_draw_numbers_of_their_own() {
    let site = site().file("app.psgi", "rand; sub { [200, [], [\"$$ \" . int rand 1e9]] };");
    let mut app = app_of(&site);
    app["processes"] = json!(4);
    let server = daemon().config(json!({ "applications": { "app": app } })).start();
    let mut drawn = std::collections::HashMap::new();
    eventually("three workers have answered", || {
        let text = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| server.get("/").expect(200).text())).collect();
            threads.into_iter().map(|thread| thread.join().expect("it answers")).collect::<Vec<_>>()
        });
        for text in text {
            let (pid, number) = text.split_once(' ').expect("two words");
            drawn.entry(pid.to_owned()).or_insert_with(|| number.to_owned());
        }
        (drawn.len() >= 3).then_some(())
    });
    let numbers: std::collections::HashSet<_> = drawn.values().collect();
    assert_eq!(numbers.len(), drawn.len(), "{drawn:?}");
}

#[test]
fn errors_go_to_the_log() {
    let (server, _site) = serve("$env->{'psgi.errors'}->print(\"something to note\\n\"); [204, [], []]");
    server.get("/").expect(204);
    server.expect_log("something to note");
}
