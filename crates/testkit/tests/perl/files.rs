//! Handles of files: the server sends what they lead to, unless Perl has a say in it.

use corral_testkit::{MemoryFile, Request, eventually};

use super::{serve, serve_script};

fn content() -> Vec<u8> {
    (0..300_000_u32).map(|i| (i % 253) as u8).collect()
}

/// An application with a handle of the file that the query says, and the process's number without a query.
fn handle(code: &str) -> String {
    format!(
        "return [200, [], [$$]] if !length $env->{{QUERY_STRING}};
         open my $fh, '<', $env->{{QUERY_STRING}} or die $!; {code} [200, [], $fh]"
    )
}

fn target(file: &MemoryFile) -> String {
    format!("/?{}", file.text())
}

#[test]
fn the_application_goes_on_while_its_file_is_sent() {
    let (server, _site) =
        serve(&handle("push @{$env->{'psgix.cleanup.handlers'}}, sub { warn 'cleaned up' };"));
    let file = MemoryFile::sparse(50_000_000);
    let mut client = server.connect();
    client.write(Request::get(&target(&file)).encode());
    server.expect_log("cleaned up");
    let pid: u32 = server.get("/").expect(200).text().parse().expect("a number");
    let router = server.expect_processes("router", 1)[0];
    assert!(file.is_open_in(router));
    eventually("it is closed", || (!file.is_open_in(pid)).then_some(()));
    assert_eq!(client.read_response().expect(200).body.len(), 50_000_000);
}

#[test]
fn a_file_is_sent_from_where_it_is() {
    let file = MemoryFile::of([b"first line\n", &content()[..]].concat());
    for code in [
        "seek $fh, 11, 0;",
        "<$fh>;",
        "read $fh, my $begin, 11;",
        "sysseek $fh, 11, 0;",
        "sysread $fh, my $begin, 11;",
    ] {
        let (server, _site) = serve(&handle(code));
        let response = server.get(&target(&file)).expect(200).expect_field("Content-Length", "300000");
        assert!(response.body == content(), "{code}: {} bytes", response.body.len());
    }
}

/// A layer of the handle changes the bytes, so the file must not be sent as it lies.
#[test]
fn a_handle_that_changes_what_is_read_is_read() {
    let file = MemoryFile::of("ab\r\n".repeat(20_000));
    let text = "ab\n".repeat(20_000);
    let doubled = "ab\r\nab\r\n".repeat(20_000);
    let script = |code: &str| {
        format!(
            "{{ package Twice; use parent -norequire, 'IO::Handle';
                sub getline {{ my $line = readline $_[0]; defined $line ? $line x 2 : undef }} }}
             {{ package Tied; sub TIEHANDLE {{ bless [$_[1]] }} sub CLOSE {{ 1 }} sub FILENO {{ fileno $_[0][0] }}
                sub TELL {{ 0 }} sub READLINE {{ my $line = readline $_[0][0]; defined $line ? $line x 2 : undef }} }}
             use strict; use warnings; use IO::Handle; sub {{ my ($env) = @_; local $/ = \"\\n\"; {} }};",
            handle(code)
        )
    };
    for (code, expected) in [
        ("binmode $fh, ':crlf';", &text),
        ("bless $fh, 'Twice';", &doubled),
        ("my $tied = IO::Handle->new; tie *$tied, 'Tied', $fh; $fh = $tied;", &doubled),
    ] {
        let (server, _site) = serve_script(&script(code));
        let response = server.get(&target(&file)).expect(200);
        assert!(response.text() == *expected, "{code}: {} bytes", response.body.len());
    }
}

#[test]
fn handles_of_other_things_are_read() {
    let file = MemoryFile::of("not this");
    for (code, expected) in [
        ("my $text = 'in memory'; open $fh, '<', \\$text or die $!;", "in memory"),
        ("open $fh, '-|', 'echo through a pipe' or die $!;", "through a pipe\n"),
        ("open $fh, '<', '/dev/null' or die $!;", ""),
        ("seek $fh, 1_000_000, 0;", ""),
    ] {
        let (server, _site) = serve(&handle(code));
        server.get(&target(&file)).expect(200).expect_body(expected);
    }
}

/// As Plack's middleware makes them: a handle that knows its path, of a class of its own.
#[test]
fn handles_with_a_class_are_files_too() {
    let script = "{ package WithPath; use parent -norequire, 'IO::Handle'; sub path { 'x' } }
         use strict; use warnings; use IO::Handle; sub { my ($env) = @_; "
        .to_owned()
        + &handle("bless $fh, 'WithPath';")
        + " };";
    let (server, _site) = serve_script(&script);
    let file = MemoryFile::sparse(50_000_000);
    let mut client = server.connect();
    client.write(Request::get(&target(&file)).encode());
    let router = server.expect_processes("router", 1)[0];
    eventually("it is sent as a file", || file.is_open_in(router).then_some(()));
    assert_eq!(client.read_response().expect(200).body.len(), 50_000_000);
}
