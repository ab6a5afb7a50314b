//! Clients that leave a stream of small pieces: the next piece ends it, so that a few of them do not stop an
//! application.

use corral_testkit::{Daemon, Http2, Request, Site, daemon, site};
use serde_json::{Value, json};

/// Serves an application of one process, which says something at `/` and has a stream at each of `streams`: clients
/// leave it, and the process hears of each.
fn check(file: &str, text: &str, streams: &[&str], app: impl FnOnce(&Site) -> Value) {
    let site = site();
    site.write(file, text);
    let mut app = app(&site);
    app["processes"] = json!(1);
    let config = json!({ "applications": { "app": app } });
    let server = daemon().start_unconfigured();
    let mut config = server.with_listener(config);
    config["listeners"][server.address().to_string()]["http2"] = json!("prior_knowledge");
    server.control().put("/config", &config).expect_done();
    for stream in streams {
        leave_http1(&server, stream);
        server.expect_log(&format!("closed {stream} 1"));
        leave_http2(&server, stream);
        server.expect_log(&format!("closed {stream} 2"));
        server.get("/").expect(200).expect_body("free");
    }
}

fn leave_http1(server: &Daemon, stream: &str) {
    let mut client = server.begin(&Request::get(stream));
    client.read_until_text("ping");
}

fn leave_http2(server: &Daemon, stream: &str) {
    let mut client = Http2::connect(server.address().socket());
    let mut stream = client.begin_get(stream);
    stream.head();
    assert!(!stream.read_some().is_empty());
}

const WSGI: &str = r"
import time
n = {}
class Pings:
    def __init__(self, path): self.path = path
    def __iter__(self): return self
    def __next__(self):
        time.sleep(0.01)
        return b'ping\n'
    def close(self):
        n[self.path] = n.get(self.path, 0) + 1
        print('closed', self.path, n[self.path])

def application(environ, start_response):
    path = environ['PATH_INFO']
    write = start_response('200 OK', [])
    if path == '/':
        return [b'free']
    if path == '/iterator':
        return Pings(path)
    pings = Pings(path)
    try:
        while True:
            write(next(pings))
    finally:
        pings.close()
";

#[test]
fn wsgi() {
    let app = |site: &Site| json!({ "type": "python", "path": site.root(), "module": "wsgi" });
    check("wsgi.py", WSGI, &["/iterator", "/write"], app);
}

const RACK: &str = r#"
N = Hash.new(0)
Pings = Struct.new(:path) do
  def each
    loop do
      sleep 0.01
      yield "ping\n"
    end
  end

  def close
    puts "closed #{path} #{N[path] += 1}"
    $stdout.flush
  end

  def write_to(stream)
    each { |piece| stream.write(piece) }
  ensure
    close
  end
end

run lambda { |env|
  path = env['PATH_INFO']
  pings = Pings.new(path)
  case path
  when '/' then [200, {}, ['free']]
  when '/each' then [200, {}, pings]
  when '/call' then [200, {}, ->(stream) { pings.write_to(stream) }]
  when '/hijack' then [200, { 'rack.hijack' => ->(stream) { pings.write_to(stream) } }, []]
  end
}
"#;

#[test]
fn rack() {
    let app = |site: &Site| json!({ "type": "ruby", "script": site.path("config.ru") });
    check("config.ru", RACK, &["/each", "/call", "/hijack"], app);
}

const PSGI: &str = r#"
use strict;
$| = 1;
my %n;
package Pings {
    sub getline { select undef, undef, undef, 0.01; return "ping\n" }
    sub close { my ($self) = @_; print "closed $self->{path} ", ++$n{$self->{path}}, "\n" }
}
sub {
    my $path = $_[0]{PATH_INFO};
    return [200, [], ['free']] if $path eq '/';
    my $pings = bless {path => $path}, 'Pings';
    return [200, [], $pings] if $path eq '/getline';
    return sub {
        my $writer = $_[0]->([200, []]);
        eval { $writer->write($pings->getline) while 1 };
        $pings->close;
        die $@;
    };
}
"#;

#[test]
fn psgi() {
    let app = |site: &Site| json!({ "type": "perl", "script": site.path("app.psgi") });
    check("app.psgi", PSGI, &["/getline", "/writer"], app);
}
