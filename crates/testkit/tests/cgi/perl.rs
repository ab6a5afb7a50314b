//! Perl's `FCGI` and `CGI::Fast` as applications.

use corral_testkit::{Daemon, Load, Request, Site, eventually, site};
use serde_json::{Value, json};

use crate::{executable, merge, with_app};

/// A loop of the module itself.
const FCGI: &str = r#"#!/usr/bin/perl
use strict; use warnings; use FCGI;
my (%env, $n);
my $request = FCGI::Request(\*STDIN, \*STDOUT, \*STDERR, \%env);
print STDERR "before the first one\n";
while ($request->Accept() >= 0) {
    $n++;
    my $body = "";
    read(STDIN, $body, $env{CONTENT_LENGTH} || 0) unless $env{PATH_INFO} eq "/unread";
    print STDERR "request number $n\n" if $env{PATH_INFO} eq "/log";
    if ($env{PATH_INFO} eq "/last") {
        print "Content-Type: text/plain\r\n\r\nlast";
        $request->Finish();
        exit 0;
    }
    if ($env{PATH_INFO} eq "/linger") {
        print "Content-Type: text/plain\r\n\r\nlast";
        $request->Finish();
        select(undef, undef, undef, 0.5);
        exit 0;
    }
    exit 3 if $env{PATH_INFO} eq "/exit";
    print "Status: 404 Not Found\r\n" if $env{PATH_INFO} eq "/none";
    print "Content-Type: text/plain\r\nX-Process: $$\r\n\r\n";
    print "$env{REQUEST_METHOD} $env{PATH_INFO} [$env{SCRIPT_NAME}] ", length($body), " ", $env{OWN} // "";
}
"#;

/// A script of old whose loop is the only thing that is new.
const FAST: &str = r#"#!/usr/bin/perl
use strict; use warnings; use CGI::Fast;
my $count = 0;
while (my $q = CGI::Fast->new) {
    $count++;
    print $q->header(-type => 'text/plain', -cookie => $q->cookie(-name => 'n', -value => $count));
    print "count $count, name ", scalar($q->param('name')) // 'nobody';
}
"#;

fn perl(site: &Site, members: Value) -> Value {
    let mut app = json!({ "type": "fastcgi", "executable": site.path("app.pl") });
    merge(&mut app, members);
    app
}

fn start(script: &str, members: Value) -> (Daemon, Site) {
    let site = site().file("app.pl", script);
    executable(&site, "app.pl");
    (with_app(&perl(&site, members)).start(), site)
}

#[test]
fn a_program_of_fcgi_answers_every_path() {
    let (server, _site) = start(FCGI, json!({ "params": { "OWN": "$host" } }));
    server.get("/a.php/b").expect(200).expect_body("GET /a.php/b [] 0 localhost");
    server.send(&Request::post("/x").body(vec![b'x'; 100_000])).expect(200).expect_text("POST /x [] 100000");
    server.get("/none").expect(404).expect_text("GET /none");
    server.expect_log("before the first one");
    server.get("/log?a").expect(200);
    server.expect_log("request number 4, request \"/log?a\"");
}

#[test]
fn a_script_of_cgi_fast_answers() {
    let (server, _site) = start(FAST, json!({}));
    server
        .get("/?name=you")
        .expect(200)
        .expect_body("count 1, name you")
        .expect_field("Set-Cookie", "n=1; path=/");
    let form =
        Request::post("/").field("Content-Type", "application/x-www-form-urlencoded").body("name=form");
    server.send(&form).expect(200).expect_body("count 2, name form");
}

/// Ends of a program between two requests and in one.
#[test]
fn a_program_that_leaves_its_loop_is_replaced() {
    let (server, _site) = start(FCGI, json!({}));
    for _ in 0..5 {
        server.get("/last").expect(200).expect_body("last");
        server.send(&Request::post("/").body("x")).expect(200);
    }
    let reply = server.send(&Request::post("/exit").body("x"));
    server.expect_log("exited with code 3");
    // The module ends the request when Perl exits.
    reply.expect(502);
    eventually("another one answers", || (server.get("/").status == 200).then_some(()));
}

/// A program that was seen to read the end of a body late may have read the end of its last request all the same.
#[test]
fn a_request_that_must_not_be_repeated_waits_for_a_program_that_takes_its_time_to_leave() {
    let (server, _site) = start(FCGI, json!({}));
    // More than the module reads at once, and the script reads none of it.
    let unread = Request::new("PUT", "/unread").body(vec![b'x'; 60_000]);
    for _ in 0..3 {
        server.send(&unread).expect(200);
        server.get("/linger").expect(200).expect_body("last");
        server.send(&Request::post("/").body("x")).expect(200);
    }
}

#[test]
fn it_is_restarted_and_limited_like_any_other() {
    let (server, _site) = start(FCGI, json!({ "processes": 2, "limits": { "requests": 20 } }));
    let load = Load::start(server.address().socket(), "/", 4);
    for _ in 0..3 {
        load.await_more(50);
        server.control().get("/control/applications/app/restart").0.expect(200);
    }
    load.await_more(50);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{:?}\n{}", tally.failures, server.log());
}
