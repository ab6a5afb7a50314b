//! Applications that fail: what the visitor sees, what the log says, and that the next request is fine.

use corral_testkit::eventually;

use super::serve;

/// Fails as `body` says for every path but `/ok`; the same worker serves on.
#[track_caller]
fn check(body: &str, status: u16, logged: &str) {
    let (server, _site) = serve(&format!("next [200, {{}}, [$$.to_s]] if env['PATH_INFO'] == '/ok'\n{body}"));
    server.expect_failure(status, logged);
}

#[test]
fn an_application_that_raises() {
    check("raise 'went wrong'", 500, "went wrong (RuntimeError)");
    check("undefined_function()", 500, "undefined method `undefined_function'");
    check("def down(n) = down(n + 1)\ndown(0)", 500, "stack level too deep");
    check("raise NotImplementedError", 500, "NotImplementedError");
    check("throw :nothing", 500, "uncaught throw :nothing");
}

#[test]
fn responses_that_are_none() {
    check("nil", 500, "(TypeError)");
    check("['hello', {}, []]", 500, "the response's status must be a number from 100 to 999, not 0");
    check("[20, {}, []]", 500, "the response's status must be a number from 100 to 999, not 20");
    check("[200, {}, 5]", 500, "the body of the response has neither each nor call");
    check("[200, 5, []]", 500, "undefined method");
}

#[test]
fn exit_replaces_the_worker() {
    let (server, _site) = serve("exit 3 if env['PATH_INFO'] == '/exit'\n[200, {}, [$$.to_s]]");
    let before = server.get("/").expect(200).text();
    server.get("/exit").expect(500);
    server.expect_log("GET /exit: exit(3) was called");
    eventually("another worker answers", || (server.get("/").expect(200).text() != before).then_some(()));
}

#[test]
fn a_stream_that_is_kept_does_not_reach_another_response() {
    let (server, _site) = serve(
        "if env['PATH_INFO'] == '/first'
           next [200, {}, ->(stream) { $kept = stream; stream.write('first'); stream.close }]
         end
         begin
           $kept.write('late')
         rescue IOError => e
           [200, {}, [e.message]]
         end",
    );
    server.get("/first").expect(200).expect_body("first");
    server.get("/second").expect(200).expect_body("the response is closed");
}

#[test]
fn a_hook_after_the_response_that_fails_is_logged() {
    check(
        "env['rack.response_finished'] << ->(*) { raise 'too late' }\n[200, {}, []]",
        200,
        "too late (RuntimeError)",
    );
}

#[test]
fn an_object_without_a_text_goes_to_the_error_stream_by_its_class() {
    let (server, _site) = serve(
        "mute = Object.new
         def mute.to_s = nil
         env['rack.errors'].write(mute)
         [200, {}, ['fine']]",
    );
    server.get("/").expect(200).expect_body("fine");
    server.expect_log("\"app\": #<Object");
}

/// Each text that is written is a line, and an error.
#[test]
fn what_goes_to_the_error_stream_is_logged_as_errors() {
    let (mut server, _site) = serve(
        "errors = env['rack.errors']
         at_exit { errors.write('written at exit') }
         errors.write('written', ' in parts')
         errors.puts('put')
         errors << 'appended' << 'twice'
         errors.print('printed')
         errors.flush
         warn 'warned'
         [200, {}, [errors.respond_to?(:puts), errors.fileno].join(' ')].tap { |it| it[2] = [it[2]] }",
    );
    server.get("/").expect(200).expect_body("true 2");
    server.stop();
    for text in ["written", " in parts", "put", "appended", "twice", "printed", "warned", "written at exit"] {
        let line = format!("\"app\": {text}");
        let log = server.log();
        let is_there = log.lines().any(|logged| logged.contains("[error]") && logged.ends_with(&line));
        assert!(is_there, "{line}: {log}");
    }
}
