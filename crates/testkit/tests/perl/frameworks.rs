//! Real frameworks from Debian's packages.

use corral_testkit::{Browser, Request, daemon, site};
use serde_json::json;

use super::app_of;

#[track_caller]
fn start(script: &str) -> (corral_testkit::Daemon, corral_testkit::Site) {
    let site = site().file("app.psgi", script);
    let server = daemon().config(json!({ "applications": { "app": app_of(&site) } })).start();
    (server, site)
}

#[test]
fn mojolicious() {
    let (server, _site) = start(
        r"use Mojolicious::Lite -signatures;
          app->secrets(['a secret of the test']);
          get '/hello/:name' => sub ($c) { $c->render(text => 'Hello ' . $c->param('name')) };
          get '/count' => sub ($c) { $c->session->{n}++; $c->render(json => { n => $c->session->{n} }) };
          post '/form' => sub ($c) { $c->render(text => join '|', map { $c->param($_) } qw(a b)) };
          app->start;",
    );
    let mut visitor = Browser::new(server.address().socket());
    visitor.open("/hello/world").expect(200).expect_body("Hello world");
    assert_eq!(visitor.open("/count").expect(200).json(), json!({ "n": 1 }));
    assert_eq!(
        visitor.open("/count").expect(200).json(),
        json!({ "n": 2 }),
        "the session is kept in a cookie"
    );
    visitor.submit("/form", &[("a", "ü & x"), ("b", "2")]).expect(200).expect_body("ü & x|2");
    visitor.open("/missing").expect(404);
}

#[test]
fn dancer() {
    let (server, _site) = start(
        r"package Site; use Dancer2; set logger => 'null'; set session => 'Simple';
          get '/hello/:name' => sub { 'Hello ' . route_parameters->get('name') };
          get '/count' => sub { my $n = 1 + (session('n') // 0); session(n => $n); $n };
          post '/form' => sub { join '|', map { body_parameters->get($_) } qw(a b) };
          Site->to_app;",
    );
    let mut visitor = Browser::new(server.address().socket());
    visitor.open("/hello/world").expect(200).expect_body("Hello world");
    visitor.open("/count").expect(200).expect_body("1");
    visitor.open("/count").expect(200).expect_body("2");
    visitor.submit("/form", &[("a", "x & y"), ("b", "2")]).expect(200).expect_body("x & y|2");
    visitor.open("/missing").expect(404);
}

#[test]
fn plack_and_its_middleware() {
    let (server, site) = start(
        r"use Plack::Builder; use Plack::Request; use Plack::App::File;
          builder {
              enable 'ContentLength';
              enable 'Runtime';
              mount '/files' => Plack::App::File->new(root => '.')->to_app;
              mount '/' => sub { my $r = Plack::Request->new($_[0]); $r->new_response(200, ['X-P' => $r->path], $r->method)->finalize };
          };",
    );
    site.write("note.txt", "a note");
    server.get("/files/note.txt").expect(200).expect_body("a note").expect_field("Content-Length", "6");
    server.get("/x").expect(200).expect_body("GET").expect_field("X-P", "/x");
    assert!(server.get("/x").field("X-Runtime").is_some());
}

/// Mojolicious puts what it writes in pieces into chunks, whichever server it runs under.
#[test]
fn mojolicious_that_writes_chunks() {
    let (server, _site) = start(
        r"use Mojolicious::Lite -signatures;
          get '/chunks' => sub ($c) {
              $c->write_chunk('Hello ' => sub ($c, @) { $c->write_chunk('world' => sub ($c, @) { $c->write_chunk('') }) });
          };
          get '/pieces' => sub ($c) {
              $c->res->headers->content_length(10);
              $c->write('first' => sub ($c, @) { $c->write('other') });
          };
          get '/never' => sub ($c) { $c->render_later };
          app->start;",
    );
    let mut client = server.connect();
    client.get("/chunks").expect(200).expect_body("Hello world");
    client.get("/pieces").expect(200).expect_body("first".to_owned() + "other");
    client.get("/chunks").expect(200).expect_body("Hello world");
    // It says nothing again and again until its client has gone.
    let mut leaving = server.begin(&Request::get("/never"));
    leaving.read_until_text("\r\n\r\n");
    drop(leaving);
    client.get("/chunks").expect(200);
}
