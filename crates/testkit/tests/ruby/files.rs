//! Bodies with a path: the server sends the file, and the application goes on.

use corral_testkit::{MemoryFile, Request};

use super::serve;

fn content() -> Vec<u8> {
    (0..300_000_u32).map(|i| (i % 253) as u8).collect()
}

/// An application whose body has the path that the query says.
fn with_path(fields: &str) -> String {
    format!(
        "body = Object.new
         path = env['QUERY_STRING']
         body.define_singleton_method(:to_path) {{ path }}
         body.define_singleton_method(:each) {{ |&block| block.call('each') }}
         body.define_singleton_method(:close) {{ warn 'it was closed' }}
         [200, {{{fields}}}, body]"
    )
}

/// The client does not wait for code that runs at the end, and that code does not wait for the client.
#[test]
fn the_application_goes_on_while_its_file_is_sent() {
    let (server, _site) = serve(&format!(
        "next [200, {{}}, [$$.to_s]] if env['QUERY_STRING'].empty?
         env['rack.response_finished'] << ->(*) {{ warn 'finished' }}
         {}",
        with_path("")
    ));
    let file = MemoryFile::sparse(50_000_000);
    let mut client = server.connect();
    client.write(Request::get(&format!("/?{}", file.text())).encode());
    server.expect_log("it was closed");
    server.expect_log("finished");
    let pid: u32 = server.get("/").expect(200).text().parse().expect("a number");
    let router = server.expect_processes("router", 1)[0];
    assert!(file.is_open_in(router) && !file.is_open_in(pid));
    assert_eq!(client.read_response().expect(200).body.len(), 50_000_000);
}

/// A file is not cut to its parts by this server: what an application says of its length is kept to.
#[test]
fn a_file_has_the_length_that_the_application_says() {
    let (server, _site) = serve(&with_path("'content-length' => '100000'"));
    let file = MemoryFile::of(content());
    let mut client = server.connect();
    for _ in 0..2 {
        let response = client.get(&format!("/?{}", file.text())).expect(200);
        assert!(response.body == content()[..100_000], "{} bytes", response.body.len());
    }
}

#[test]
fn what_is_no_file_is_asked_for_its_pieces() {
    let (server, _site) = serve(&with_path(""));
    for path in ["/tmp", "/dev/null", "/no/such/file"] {
        server.get(&format!("/?{path}")).expect(200).expect_body("each");
    }
    server.get("/?/proc/self/status").expect(200).expect_text("Name:");
}
