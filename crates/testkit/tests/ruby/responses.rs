//! All forms that a response can have.

use corral_testkit::{Request, eventually};

use super::{serve, serve_script};

#[test]
fn fields_are_lines_or_arrays() {
    let (server, _site) = serve(
        "['201', { 'X-Lines' => \"1\\n2\", 'x-array' => ['3', '4'], 'x-number' => 5, 'rack.x' => 6 }, ['a', '', 'b']]",
    );
    let response = server.get("/").expect(201).expect_body("ab").expect_field("x-number", "5");
    assert_eq!(response.all("X-Lines").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(response.all("x-array").collect::<Vec<_>>(), ["3", "4"]);
    response.expect_no_field("rack.x");
    server.send(&Request::new("HEAD", "/")).expect(201).expect_body("");
}

#[test]
fn fields_without_a_value_are_empty() {
    let (server, _site) = serve("[200, { 'x-none' => [], 'x-nil' => [nil], 'x-some' => ['', 'a'] }, []]");
    let response = server.get("/").expect(200);
    assert_eq!(response.all("x-none").collect::<Vec<_>>(), [""]);
    assert_eq!(response.all("x-nil").collect::<Vec<_>>(), [""]);
    assert_eq!(response.all("x-some").collect::<Vec<_>>(), ["", "a"]);
}

#[test]
fn a_body_that_is_a_file() {
    let (server, site) = serve(
        "body = Object.new
         def body.to_path = 'large.bin'
         def body.each = raise('it has a path')
         def body.close = warn('it was closed')
         [200, {}, body]",
    );
    let content: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 253) as u8).collect();
    site.write("large.bin", &content);
    server.get("/").expect(200).expect_body(content);
    server.expect_log("it was closed");
}

#[test]
fn a_streaming_body_is_called_with_a_stream() {
    let (server, _site) =
        serve("[200, {}, ->(stream) { stream.write('said: ', stream.read); stream << '!'; stream.close }]");
    server.send(&Request::post("/").body("hello")).expect(200).expect_body("said: hello!");
}

/// The thread that writes outlives the call.
#[test]
fn a_hijacked_response_may_be_written_by_another_thread() {
    let (server, _site) = serve(
        "[200, { 'x-kept' => 'yes', 'rack.hijack' => ->(stream) {
            Thread.new { 3.times { |n| sleep 0.01; stream.write(n.to_s) }; stream.close } } }, []]",
    );
    server
        .get("/")
        .expect(200)
        .expect_body("012")
        .expect_field("x-kept", "yes")
        .expect_no_field("rack.hijack");
}

/// Four times what may be on the way: the worker waits for its client, and other threads of Ruby go on.
#[test]
fn a_large_body_of_many_pieces() {
    let (server, _site) = serve("[200, {}, (0...4000).map { |n| (65 + n % 26).chr * 1000 }]");
    let body = server.get("/").expect(200).text();
    assert_eq!(body.len(), 4_000_000);
    assert!(body.starts_with("AAA"), "{}", &body[..10]);
}

#[test]
fn what_is_to_be_done_afterwards_does_not_keep_the_client() {
    let (server, site) = serve(
        "env['rack.response_finished'] << ->(_env, status, fields, error) {
           sleep 0.01 until File.exist?('go on')
           warn \"finished #{status} #{fields['x-a']} #{error.inspect}\" }
         [200, { 'x-a' => 'b' }, ['done']]",
    );
    server.get("/").expect(200).expect_body("done");
    site.write("go on", "");
    server.expect_log("finished 200 b nil");
}

/// The interpreter's lock is free while the worker waits for requests.
#[test]
fn threads_go_on_between_requests() {
    let script = "ticks = 0
        Thread.new { loop { sleep 0.005; ticks += 1 } }
        run ->(_env) { [200, {}, [ticks.to_s]] }";
    let (server, _site) = serve_script(script);
    let first: u32 = server.get("/").expect(200).text().parse().expect("a number");
    eventually("the thread has ticked", || {
        let now: u32 = server.get("/").expect(200).text().parse().expect("a number");
        (now > first + 20).then_some(())
    });
}
