//! Applications that fail: what the visitor sees, what the log says, and that the next request is fine.

use super::serve;

/// Fails as `body` says for every path but `/ok`; the same worker serves on.
#[track_caller]
fn check(body: &str, status: u16, logged: &str) {
    let (server, _site) = serve(&format!("return [200, [], [$$]] if $env->{{PATH_INFO}} eq '/ok'; {body}"));
    server.expect_failure(status, logged);
}

#[test]
fn an_application_that_dies() {
    check("die 'went wrong'", 500, "went wrong at ");
    check("die { code => 7 }", 500, "HASH(");
    check("undefined_function()", 500, "Undefined subroutine &main::undefined_function called");
    check("my $x = 'a' . undef; 1 / 0", 500, "Illegal division by zero");
}

#[test]
fn exit_ends_the_request_alone() {
    check("exit 3", 500, "the application called exit(3) before it responded");
    check("sub { $_[0]->([200, [], ['said']]); exit }", 200, "");
}

#[test]
fn responses_that_are_none() {
    check("undef", 500, "the application's response is not an array");
    check("[200]", 500, "the application's response is not an array");
    check("['hello', [], []]", 500, "the response's status must be a number from 100 to 999, not \"hello\"");
    check("[200, [undef, 'Odd'], []]", 500, "a header of the response has no name");
    check("[200, {}, []]", 500, "the response's headers must be an array");
    check("sub { 1 }", 500, "the application returned before it responded");
    check("[200, [], [\"\\x{263a}\"]]", 500, "the response's body has characters that are no bytes");
}

#[test]
fn a_field_that_would_be_two_is_refused() {
    check("[200, ['X-A' => \"1\\r\\nX-B: 2\"], []]", 503, "");
}

#[test]
fn a_closed_response_takes_no_more() {
    let body = "sub { my $writer = $_[0]->([200, []]); $writer->write('all'); $writer->close; $writer->write('more') }";
    check(body, 200, "the response is closed");
}

#[test]
fn a_writer_that_is_kept_does_not_reach_another_response() {
    let (server, _site) = serve(
        "our $kept;
         return sub { $kept = $_[0]->([200, []]); $kept->write('first') } if $env->{PATH_INFO} eq '/first';
         eval { $kept->write('late') };
         [200, [], [$@]]",
    );
    server.get("/first").expect(200).expect_body("first");
    server.get("/second").expect(200).expect_body("the request is over\n");
}

/// Each text that is printed is a line, and an error.
#[test]
fn what_goes_to_the_error_stream_is_logged_as_errors() {
    let (mut server, _site) = serve(
        r#"my $errors = $env->{'psgi.errors'};
           $errors->print('printed', ' by parts');
           print {$errors} "to the handle\n";
           $errors->printf('%s %d', 'formatted', 7);
           { local ($\, $,) = ("!\n", '-'); print {$errors} 'with', 'separators'; }
           $errors->autoflush(1);
           warn 'warned';
           our $last = $errors;
           END { our $last; $last->print('printed at exit') if $last }
           [200, [], [fileno $errors]]"#,
    );
    server.get("/").expect(200).expect_body("2");
    server.stop();
    for text in [
        "printed by parts",
        "to the handle",
        "formatted 7",
        "with-separators!",
        "warned at ",
        "printed at exit",
    ] {
        let log = server.log();
        let line = format!("\"app\": {text}");
        let is_there = log.lines().any(|logged| logged.contains("[error]") && logged.contains(&line));
        assert!(is_there, "{line}: {log}");
    }
}
