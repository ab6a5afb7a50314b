//! Early hints of Rack applications, before their response: `rack.early_hints`.

use corral_testkit::{Request, daemon, site};
use serde_json::json;

use super::{app_of, serve};

/// A request of a browser.
fn visit(path: &str) -> Request {
    Request::get(path).field("Sec-Fetch-Mode", "navigate")
}

#[test]
fn hints_come_before_the_response() {
    let (server, site) = serve(
        "env['rack.early_hints'].call('link' => \"</a>\\n</b>\", 'X-Array' => ['1', '2'], 'x-number' => 3)
         sleep 0.005 until File.exist?('go')
         [404, { 'x-a' => 'b' }, ['done']]",
    );
    let mut client = server.begin(&visit("/"));
    let early = client.read_response().expect(103).expect_field("x-number", "3");
    assert_eq!(early.all("Link").collect::<Vec<_>>(), ["</a>", "</b>"]);
    assert_eq!(early.all("X-Array").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!((early.reason.as_str(), early.fields.len()), ("Early Hints", 5));
    site.write("go", "");
    client.read_response().expect(404).expect_body("done").expect_no_field("Link");
}

#[test]
fn there_may_be_many_and_the_connection_goes_on() {
    let (server, _site) = serve(
        "1000.times { |n| env['rack.early_hints'].call('link' => [\"</#{n}>\"] * 20) }
         env['rack.early_hints'].call({})
         [200, {}, [env['PATH_INFO']]]",
    );
    let mut client = server.connect();
    for path in ["/first", "/second"] {
        client.write(visit(path).encode());
        for n in 0..1000 {
            let link = format!("</{n}>");
            assert_eq!(client.read_response().expect(103).all("Link").collect::<Vec<_>>(), [&*link; 20]);
        }
        client.read_response().expect(200).expect_body(path);
    }
}

#[test]
fn who_may_take_them_for_the_response_gets_none() {
    let (server, _site) = serve("[200, {}, [env['rack.early_hints'].inspect]]");
    let mut client = server.connect();
    client.write("GET / HTTP/1.0\r\nConnection: keep-alive\r\nSec-Fetch-Mode: navigate\r\n\r\n");
    client.read_response().expect(200).expect_body("nil");
    client.get("/").expect(200).expect_body("nil");
    client.send(&visit("/")).expect(200).expect_text("hint");
}

#[test]
fn an_exception_behind_a_hint_is_still_answered() {
    let (server, _site) = serve("env['rack.early_hints'].call('link' => '</a>')\nraise 'failed on purpose'");
    let mut client = server.begin(&visit("/"));
    client.read_response().expect(103);
    client.read_response().expect(500);
    server.expect_log("failed on purpose");
    client.send(&visit("/")).expect(103);
    client.read_response().expect(500);
}

#[test]
fn what_no_response_can_have_is_an_argument_error() {
    for fields in ["'link' => \"a\\rb\"", "'link' => \"a\\0b\"", "'a b' => 'c'", "'' => 'c'"] {
        let (server, _site) = serve(&format!(
            "begin
               env['rack.early_hints'].call({fields})
             rescue ArgumentError => e
               env['rack.early_hints'].call('x-error' => e.class.name)
             end
             [200, {{}}, ['fine']]"
        ));
        let mut client = server.begin(&visit("/"));
        client.read_response().expect(103).expect_field("x-error", "ArgumentError");
        client.read_response().expect(200).expect_body("fine");
    }
    let (server, _site) = serve("env['rack.early_hints'].call('link' => \"a\\r\")");
    server.begin(&visit("/")).read_response().expect(500);
    server.expect_log("no response can have such headers");
}

/// Too late: no client gets it, and nothing is broken by it.
#[test]
fn a_hint_behind_the_head_is_dropped() {
    let (server, _site) = serve(
        "body = Enumerator.new do |out|
           out << 'first'
           env['rack.early_hints'].call('link' => '</late>')
           out << 'second'
         end
         [200, {}, body]",
    );
    let mut client = server.connect();
    for _ in 0..2 {
        client.send(&visit("/")).expect(200).expect_body("firstsecond");
    }
}

#[test]
fn a_hint_behind_the_request_is_an_error() {
    let (server, _site) = serve(
        "kept = env['rack.early_hints']
         env['rack.after_reply'] << -> { Thread.new {
           begin
             loop { kept.call('link' => '</late>'); sleep 0.005 }
           rescue IOError => e
             warn \"refused: #{e.message}\"
           end } }
         [200, {}, ['done']]",
    );
    server.begin(&visit("/")).read_response().expect(200).expect_body("done");
    server.expect_log("refused: the request is over");
}

#[test]
fn a_client_that_leaves_behind_a_hint_keeps_nobody() {
    let (server, _site) = serve(
        "2000.times { env['rack.early_hints'].call('link' => 'x' * 10_000) } if env['PATH_INFO'] == '/'
         warn 'it is done'
         [200, {}, ['done']]",
    );
    let mut client = server.begin(&visit("/"));
    client.read_until_text("xxxx");
    drop(client);
    server.expect_log("it is done");
    server.get("/next").expect(200).expect_body("done");
}

/// Each thread's hints go to its own client.
#[test]
fn threads_have_their_own() {
    let script = "run ->(env) do
        100.times { |n| env['rack.early_hints'].call('link' => \"<#{env['PATH_INFO']}#{n}>\"); Thread.pass }
        [200, {}, [env['PATH_INFO']]]
    end";
    let site = site().file("config.ru", script);
    let mut app = app_of(&site);
    app["threads"] = json!(4);
    let server = daemon().config(json!({ "applications": { "app": app } })).start();
    let paths = ["/a", "/b", "/c", "/d", "/e", "/f"];
    let clients = paths.map(|path| server.begin(&visit(path)));
    for (mut client, path) in clients.into_iter().zip(paths) {
        for n in 0..100 {
            client.read_response().expect(103).expect_field("Link", &format!("<{path}{n}>"));
        }
        client.read_response().expect(200).expect_body(path);
    }
}
