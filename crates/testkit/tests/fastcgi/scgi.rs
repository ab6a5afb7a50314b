//! A program of SCGI that is not an application server: one in Perl, on the module `SCGI`.

use std::process::{Child, Command, Stdio};

use corral_testkit::{Load, Request, daemon, eventually, site};
use serde_json::json;

/// Answers one request after the other with what it has got.
const PROGRAM: &str = r#"
use SCGI;
use IO::Socket::UNIX;
umask 0;
my $socket = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 64) or die "$ARGV[0]: $!";
my $scgi = SCGI->new($socket, blocking => 1);
while (my $request = $scgi->accept) {
    $request->read_env;
    my ($env, $connection) = ($request->env, $request->connection);
    read $connection, my $body, $env->{CONTENT_LENGTH};
    print $connection $body ? "Status: 201 Made\r\n" : "", "Content-Type: text/plain\r\n\r\n",
        "$env->{REQUEST_METHOD} $env->{PATH_INFO} $env->{QUERY_STRING} $env->{SCGI} ", length $body;
    close $connection;
}
"#;

/// Ended when dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_program_of_scgi_answers() {
    let site = site().file("program.pl", PROGRAM).writable_folder("run");
    let socket = site.path("run/socket");
    let mut perl = Command::new("/usr/bin/perl");
    let started = perl.arg(site.path("program.pl")).arg(&socket).stdin(Stdio::null()).spawn();
    let _program = Program(started.expect("perl starts"));
    eventually("the program listens: scripts/setup test", || socket.exists().then_some(()));
    let action = json!({ "scgi": format!("unix:{}", socket.display()) });
    let server = daemon().routes(json!([{ "action": action }])).start();
    let request = Request::post("/a%20b?c=d").body(vec![b'x'; 100_000]);
    server.send(&request).expect(201).expect_body("POST /a b c=d 1 100000");
    server.get("/").expect(200).expect_body("GET /  1 0");
    let load = Load::start(server.address().socket(), "/", 4);
    load.await_more(200);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{tally:?}\n{}", server.log());
}
