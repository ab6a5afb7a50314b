//! Connections that a Rack application takes over: `rack.hijack`.

use std::thread;
use std::time::Duration;

use corral_testkit::{
    Authority, Client, Daemon, Request, Site, TlsClient, WebSocket, daemon, eventually, is_alive, site,
};
use serde_json::{Value, json};

use super::{app_of, serve, serve_script};

/// Says `text` as a response that ends with the connection, where `env` is that of a request.
fn say(text: &str) -> String {
    format!(
        "io = env['rack.hijack'].call
         io.write(\"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\n{text}\")
         io.close
         [500, {{}}, ['nobody sees this']]"
    )
}

/// Answers everything with its process id, but `/echo`: what comes is sent back in capital letters, by a thread of its
/// own.
const ECHO: &str = "
def echo(io)
  io.write(\"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: echo\\r\\n\\r\\n#{$$} \")
  loop { io.write(io.readpartial(10_000).upcase) }
rescue EOFError
  warn 'the client has ended'
  io.close
end

run ->(env) do
  next [200, {}, [$$.to_s]] unless env['PATH_INFO'] == '/echo'
  io = env['rack.hijack'].call
  Thread.new { echo(io) }
  [-1, {}, []]
end";

fn echoing(options: Value) -> (Daemon, Site) {
    let site = site().file("config.ru", ECHO);
    let mut app = app_of(&site);
    let Value::Object(options) = options else { panic!("options are an object") };
    app.as_object_mut().expect("an object").extend(options);
    (daemon().config(json!({ "applications": { "app": app } })).start(), site)
}

/// A connection that was taken over, and the process that has it.
#[track_caller]
fn take_over(server: &Daemon) -> (Client, u32) {
    let mut client = server.begin(&Request::get("/echo"));
    let head = client.read_until_text("\r\n\r\n");
    assert_eq!(head, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n");
    let pid = client.read_until_text(" ").trim().parse().expect("a process id");
    (client, pid)
}

#[track_caller]
fn expect_echo(client: &mut Client) {
    client.write("hello");
    client.read_until_text("HELLO");
}

#[track_caller]
fn expect_end(server: &Daemon, pid: u32) {
    eventually("the process has ended", || (!is_alive(pid)).then_some(()));
    server.get("/").expect(200);
}

#[test]
fn what_is_written_is_the_response() {
    let (server, _site) = serve(&say("all of it"));
    for _ in 0..5 {
        let mut client = server.begin(&Request::get("/"));
        assert_eq!(client.read_to_end(), b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it");
    }
}

/// Neither the process nor its one thread is held by connections that were taken over.
#[test]
fn the_worker_is_free() {
    let (server, _site) = echoing(json!({}));
    let mut taken: Vec<_> = (0..100).map(|_| take_over(&server)).collect();
    let pid = server.get("/").expect(200).text();
    for (client, server_of) in taken.iter_mut().rev() {
        assert_eq!(server_of.to_string(), pid);
        expect_echo(client);
    }
    let status = server.control().get("/status").json();
    assert_eq!(status["applications"]["app"]["requests"]["active"], 0);
    assert_eq!(status["connections"]["active"], 100);
    drop(taken);
    eventually("all have ended", || {
        (server.log().matches("the client has ended").count() == 100).then_some(())
    });
    server.get("/").expect(200).expect_body(pid);
}

#[test]
fn threads_take_connections_over_at_the_same_time() {
    let (server, _site) = echoing(json!({ "threads": 4 }));
    let clients = server.begin_all("/echo", 40);
    for mut client in clients {
        client.read_until_text(" ");
        client.write(vec![b'x'; 300_000]);
        let mut n = 0;
        while n < 300_000 {
            n += client.read_some().iter().filter(|byte| **byte == b'X').count();
        }
    }
}

/// Bytes behind the request are there to be read, and are not taken for another request.
#[test]
fn bytes_behind_the_request_are_the_applications() {
    let (server, _site) = serve(
        "body = env['rack.input'].read
         io = env['rack.hijack'].call
         raise 'another one' unless io.equal?(env['rack.hijack'].call) && io.equal?(env['rack.hijack_io'])
         io.write(\"HTTP/1.1 200 OK\\r\\n\\r\\n#{body}|#{io.read(10)}|\")
         io.write(io.gets)
         io.close",
    );
    for more in [true, false] {
        let mut client = server.connect();
        let late = if more { "" } else { "GET /x HTT" };
        client.write(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody{late}"));
        if more {
            client.write("GET /x HTT");
        }
        client.read_until_text("\r\n\r\nbody|GET /x HTT|");
        client.write("P/1.1\r\n\r\n");
        assert_eq!(client.read_to_end(), b"P/1.1\r\n");
    }
}

#[test]
fn websockets_by_a_gem() {
    let script = "require 'websocket/driver'
        # What WebSocket::Driver.rack wants.
        class Connection
          attr_reader :env, :url

          def initialize(env)
            @env = env
            @url = \"ws://#{env['HTTP_HOST']}#{env['REQUEST_URI']}\"
            @io = env['rack.hijack'].call
            @driver = WebSocket::Driver.rack(self)
            @driver.on(:message) { |event| event.data.is_a?(String) ? @driver.text(event.data) : @driver.binary(event.data) }
            @driver.on(:close) { @io.close }
            @driver.start
          end

          def write(bytes) = @io.write(bytes)

          def run
            @driver.parse(@io.readpartial(16_384)) until @io.closed?
          rescue EOFError
            @io.close
          end
        end
        run ->(env) { connection = Connection.new(env); Thread.new { connection.run }; [-1, {}, []] }";
    let (server, _site) = serve_script(script);
    let mut socket = WebSocket::open(server.connect(), &WebSocket::request("/chat"));
    assert!(!socket.accepted.contains("Server: "), "{}", socket.accepted);
    for text in ["hello", "", &"é".repeat(100_000)] {
        socket.send_text(text);
        socket.expect_text(text);
    }
    socket.send(WebSocket::LAST | WebSocket::BINARY, &[0, 255, 128]);
    assert_eq!(socket.receive(), (WebSocket::BINARY, vec![0, 255, 128]));
    socket.send(WebSocket::LAST | WebSocket::PING, b"are you there");
    assert_eq!(socket.receive(), (WebSocket::PONG, b"are you there".to_vec()));
    socket.send(WebSocket::LAST | WebSocket::CLOSE, &1000_u16.to_be_bytes());
    socket.expect_close(1000);
    assert!(socket.client.is_closed());
}

#[test]
fn connections_that_speak_tls_are_taken_over_too() {
    let site = site().file("config.ru", ECHO);
    let server = daemon().start_unconfigured();
    let authority = Authority::new("authority");
    let bundle = authority.server("localhost", &["localhost"]).pem();
    server.control().put_text("/certificates/own", &bundle).0.expect(200);
    let listener = json!({ "pass": "applications/app", "tls": { "certificate": "own" } });
    let config = json!({
        "listeners": { server.address().to_string(): listener }, "applications": { "app": app_of(&site) }
    });
    server.control().put("/config", &config).expect_done();
    let connect = || Client::connect_tls(server.address().socket(), &TlsClient::new(&authority), "localhost");
    let mut client = connect();
    client.write("GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\nmore");
    client.read_until_text(" MORE");
    for _ in 0..3 {
        expect_echo(&mut client);
    }
    client.write(vec![b'y'; 200_000]);
    let mut n = 0;
    while n < 200_000 {
        n += client.read_some().len();
    }
    client.finish_writing();
    assert_eq!(client.read_to_end(), b"");
    server.expect_log("the client has ended");
}

/// Rack's own examination of both sides.
#[test]
fn rack_s_lint_finds_nothing() {
    let (server, _site) = serve_script(
        "require 'uri'
         require 'rack/lint'
         use Rack::Lint
         run ->(env) do
           io = env['rack.hijack'].call
           io.write(\"HTTP/1.1 200 OK\\r\\n\\r\\n\")
           io.write_nonblock('fine')
           io.flush
           io.close
           [200, { 'Content-Type' => 'text/plain' }, []]
         end",
    );
    let mut client = server.begin(&Request::get("/"));
    assert_eq!(client.read_to_end(), b"HTTP/1.1 200 OK\r\n\r\nfine");
}

#[test]
fn a_client_that_leaves_is_the_end_of_what_is_read() {
    let (server, _site) = echoing(json!({}));
    let (client, _) = take_over(&server);
    drop(client);
    server.expect_log("the client has ended");
    // A client that has only said all still listens.
    let (mut client, _) = take_over(&server);
    client.write("the last");
    client.finish_writing();
    assert_eq!(client.read_to_end(), b"THE LAST");
}

/// The response is there, whatever the client has sent that was not read.
#[test]
fn a_client_that_still_sends_gets_all_of_it() {
    let (server, _site) = serve(
        "io = env['rack.hijack'].call
         io.write(\"HTTP/1.1 200 OK\\r\\n\\r\\n\" + 'x' * 500_000)
         io.close",
    );
    for _ in 0..10 {
        let mut client = server.connect();
        client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        client.write(vec![b'z'; 50_000]);
        assert_eq!(client.read_to_end().len(), 19 + 500_000);
    }
}

#[test]
fn a_connection_that_is_closed_at_once_has_no_response() {
    for body in [
        "env['rack.hijack'].call.close; [200, {}, []]",
        "env['rack.hijack'].call.close; raise 'behind it'",
        "env['rack.hijack'].call; Thread.new { sleep 0.1; Process.kill(:KILL, $$) }; [200, {}, ['not this']]",
    ] {
        let (server, _site) = serve(&format!("next [200, {{}}, []] if env['PATH_INFO'] == '/ok'\n{body}"));
        let mut client = server.begin(&Request::get("/"));
        assert_eq!(client.read_to_end(), b"", "{body}");
        eventually("the next request is served", || (server.get("/ok").status == 200).then_some(()));
    }
}

/// Bytes other than HTTP go to the client as they are.
#[test]
fn nonsense_is_passed_on() {
    let (server, _site) =
        serve("io = env['rack.hijack'].call; io.write(\"\\0\\xff\\r\\n\\r\\nnonsense\"); io.close");
    let mut client = server.begin(&Request::get("/"));
    assert_eq!(client.read_to_end(), b"\0\xff\r\n\r\nnonsense");
}

#[test]
fn a_response_that_has_begun_cannot_be_taken_over() {
    let (server, _site) = serve(
        "next [200, {}, ['fine']] if env['PATH_INFO'] == '/ok'
         hijack = env['rack.hijack']
         if env['PATH_INFO'] == '/later'
           env['rack.after_reply'] << -> { Thread.new {
             begin
               loop { hijack.call; sleep 0.005 }
             rescue IOError => e
               warn \"refused: #{e.message}\"
             end } }
           next [200, {}, ['fine']]
         end
         [200, {}, Enumerator.new { |out| out << 'begun'; hijack.call }]",
    );
    let mut client = server.begin(&Request::get("/"));
    let rest = String::from_utf8_lossy(&client.read_to_end()).into_owned();
    assert!(rest.contains("begun") && !rest.ends_with("0\r\n\r\n"), "{rest}");
    server.expect_log("the response has begun (IOError)");
    server.get("/later").expect(200).expect_body("fine");
    server.expect_log("refused: the response has begun");
    server.get("/ok").expect(200).expect_body("fine");
}

/// The body of the response that is ignored is closed all the same: middleware waits for that.
#[test]
fn what_comes_behind_the_response_is_done() {
    let (server, _site) = serve(
        "body = Object.new
         def body.each = raise('nobody asks for it')
         def body.close = warn('the body is closed')
         env['rack.response_finished'] << ->(*) { warn 'it is finished' }
         env['rack.hijack'].call.close
         [200, {}, body]",
    );
    assert_eq!(server.begin(&Request::get("/")).read_to_end(), b"");
    server.expect_log("the body is closed");
    server.expect_log("it is finished");
}

/// Limits are for requests, and such a connection is none, whether it is served in the request or behind it.
#[test]
fn limits_of_time_are_not_for_it() {
    let script = ECHO.replace("Thread.new { echo(io) }", "echo(io)");
    for script in [ECHO, &script] {
        let site = site().file("config.ru", script);
        let mut app = app_of(&site);
        app["limits"] = json!({ "timeout": 1, "kill_after": 1 });
        let config = json!({
            "applications": { "app": app },
            "settings": { "http": { "idle_timeout": 1, "send_timeout": 1, "body_read_timeout": 1 } }
        });
        let server = daemon().config(config).start();
        let (mut client, _) = take_over(&server);
        thread::sleep(Duration::from_millis(2500));
        expect_echo(&mut client);
    }
}

#[track_caller]
fn expect_alive(server: &Daemon, mut client: Client, pid: u32) {
    for _ in 0..3 {
        expect_echo(&mut client);
    }
    assert!(is_alive(pid));
    drop(client);
    expect_end(server, pid);
}

/// A process that has had its requests stays for them.
#[test]
fn a_process_stays_until_they_have_ended() {
    for threads in [1, 3] {
        let (server, _site) = echoing(json!({ "limits": { "requests": 1 }, "threads": threads }));
        let (client, pid) = take_over(&server);
        for _ in 0..3 {
            assert_ne!(server.get("/").expect(200).text(), pid.to_string());
        }
        expect_alive(&server, client, pid);
    }
}

/// So does one that is not needed any more.
#[test]
fn a_process_that_retires_stays_until_they_have_ended() {
    for threads in [1, 3] {
        let processes = json!({ "max": 2, "spare": 0, "idle_timeout": 1 });
        let (server, _site) = echoing(json!({ "processes": processes, "threads": threads }));
        let (client, pid) = take_over(&server);
        let running = || server.control().get("/status/applications/app/processes/running").json();
        eventually("it is not needed", || (running() == 0).then_some(()));
        expect_alive(&server, client, pid);
    }
}

/// As it is with WebSockets: the old process serves them to their end.
#[test]
fn a_restart_does_not_cut_them() {
    for threads in [1, 3] {
        let (server, _site) = echoing(json!({ "threads": threads }));
        let (client, pid) = take_over(&server);
        server.control().get("/control/applications/app/restart").0.expect(200);
        eventually("the new one answers", || (server.get("/").text() != pid.to_string()).then_some(()));
        expect_alive(&server, client, pid);
    }
}

#[test]
fn a_drain_timeout_cuts_them() {
    let (server, _site) = echoing(json!({ "restart": { "drain_timeout": 1 } }));
    let (mut client, pid) = take_over(&server);
    server.control().get("/control/applications/app/restart").0.expect(200);
    assert!(client.is_closed());
    expect_end(&server, pid);
}

/// Nor does an upgrade: the old server ends when they have.
#[test]
fn an_upgrade_does_not_cut_them() {
    let (mut server, _site) = echoing(json!({}));
    let (client, pid) = take_over(&server);
    let old = server.upgrade();
    // Both servers accept for a moment.
    eventually("the new server answers", || {
        (server.get("/").expect(200).text() != pid.to_string()).then_some(())
    });
    expect_alive(&server, client, pid);
    eventually("the old server has ended", || (!is_alive(old)).then_some(()));
}

/// Connections that were taken over do not keep a server from stopping.
#[test]
fn a_server_that_stops_cuts_them() {
    let (mut server, _site) = echoing(json!({}));
    let (mut client, pid) = take_over(&server);
    assert!(server.stop().success());
    assert!(client.is_closed() && !is_alive(pid));
}

/// The status is that of the first line; an invalid response has none.
#[test]
fn they_are_logged_when_they_end() {
    let site = site().file(
        "config.ru",
        "run ->(env) { io = env['rack.hijack'].call; io.write(env['QUERY_STRING'].tr('+', ' ')); io.close }",
    );
    let log = site.path("access.log");
    let config = json!({
        "applications": { "app": app_of(&site) },
        "access_log": { "path": log, "format": "$status $body_bytes_sent" }
    });
    let server = daemon().config(config).start();
    let mut expect = String::new();
    for (said, line) in [("HTTP/1.1+101+Switching", "101 22\n"), ("SSH-2.0-x", "- 9\n"), ("", "- 0\n")] {
        assert_eq!(server.begin(&Request::get(&format!("/?{said}"))).read_to_end().len(), said.len());
        expect += line;
        let read = || std::fs::read_to_string(&log).ok().filter(|text| *text == expect);
        eventually(line, read);
    }
}
