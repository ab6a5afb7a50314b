//! Real frameworks from Debian's packages.

use std::process::Command;

use corral_testkit::{Browser, Request, daemon, site};
use serde_json::json;

use super::{app_of, serve_script};

#[test]
fn sinatra() {
    let site = site()
        .file(
            "config.ru",
            "require 'sinatra/base'
             class Site < Sinatra::Base
               set :environment, :production
               set :root, __dir__
               enable :sessions
               set :session_secret, 'x' * 64
               get('/hello/:name') { \"Hello #{params['name']}\" }
               get('/count') { session['n'] = session['n'].to_i + 1; session['n'].to_s }
               post('/form') { [params['a'], params['b']].join('|') }
               get('/page') { erb '<h1><%= 1 + 1 %></h1>' }
               get('/stream') { stream { |out| out << 'one,'; out << 'two' } }
               get('/fail') { raise 'an error of the page' }
               get('/download') { send_file 'public/note.txt', filename: 'n.txt' }
             end
             run Site",
        )
        .file("public/note.txt", "a note");
    let server = daemon().config(json!({ "applications": { "app": app_of(&site) } })).start();
    let mut visitor = Browser::new(server.address().socket());
    visitor.open("/hello/world").expect(200).expect_body("Hello world");
    visitor.open("/count").expect(200).expect_body("1");
    visitor.open("/count").expect(200).expect_body("2");
    visitor.submit("/form", &[("a", "ü & x"), ("b", "2")]).expect(200).expect_body("ü & x|2");
    visitor.open("/page").expect(200).expect_body("<h1>2</h1>");
    visitor.open("/stream").expect(200).expect_body("one,two");
    visitor.open("/note.txt").expect(200).expect_body("a note");
    visitor.open("/download").expect(200).expect_body("a note");
    visitor.open("/missing").expect(404);
    visitor.open("/fail").expect(500);
    server.expect_log("an error of the page");
}

#[test]
fn rack_and_its_middleware() {
    let (server, site) = serve_script(
        "use Rack::Runtime
         use Rack::ETag
         use Rack::ConditionalGet
         use Rack::Deflater
         map('/files') { run Rack::Files.new('.') }
         run ->(env) { [200, { 'Content-Type' => 'text/plain' }, [Rack::Request.new(env).params['x'].to_s * 1000]] }",
    );
    site.write("note.txt", "a note");
    server.get("/files/note.txt").expect(200).expect_body("a note");
    let response = server.get("/?x=ab").expect(200).expect_body("ab".repeat(1000));
    assert!(response.field("X-Runtime").is_some() && response.field("ETag").is_some());
}

#[test]
fn a_gemfile_beside_the_script_is_used() {
    let site = site()
        .file(
            "config.ru",
            "run ->(_env) { [200, {}, [ENV['BUNDLE_GEMFILE'], Gem.loaded_specs.key?('rake').to_s].map \
            { |text| text + ' ' }] }",
        )
        .file("Gemfile", "gem 'rack'\ngem 'rake'\n");
    let lock = Command::new("bundle").args(["lock", "--local"]).current_dir(site.path("")).output();
    let lock = lock.expect("Bundler is installed");
    assert!(lock.status.success(), "{lock:?}");
    let mut app = app_of(&site);
    app["working_directory"] = json!("/");
    let server = daemon().config(json!({ "applications": { "app": app } })).start();
    server.get("/").expect(200).expect_body(format!("{} true ", site.path("Gemfile").display()));
}

/// As with Rack::Chunked, which Rack has had until 3.0, and with `render stream: true` of Rails until then.
#[test]
fn a_response_that_is_framed_already() {
    let site = site().file(
        "config.ru",
        r##"pieces = %w[one, two, three].map { |piece| "#{piece.bytesize.to_s(16)}\r\n#{piece}\r\n" } + ["0\r\n\r\n"]
         run ->(env) { [200, { 'content-type' => 'text/plain', 'transfer-encoding' => 'chunked' }, pieces.each] }"##,
    );
    let compression = json!({ "compressors": [{ "encoding": "gzip" }], "types": ["text/plain"] });
    let settings = json!({ "http": { "compression": compression } });
    let config = json!({ "applications": { "app": app_of(&site) }, "settings": settings });
    let server = daemon().config(config).start();
    let mut client = server.connect();
    client.get("/").expect(200).expect_body("one,two,three");
    let packed = client.send(&Request::get("/").field("Accept-Encoding", "gzip")).expect(200);
    packed.clone().expect_field("Content-Encoding", "gzip");
    assert_eq!(&packed.body[..2], b"\x1f\x8b", "{packed}");
    client.write("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.try_read_response_to("HEAD").unwrap().expect(200);
    client.get("/").expect(200).expect_body("one,two,three");
}

/// With classic Sinatra in `config.ru` that file is the application's, which asks whether it has been called as a
/// program.
#[test]
fn classic_sinatra() {
    let (mut server, _site) = serve_script(
        "require 'sinatra'
         set :environment, :production
         get('/') { \"Hello from #{settings.run?} #{$0}\" }
         run Sinatra::Application",
    );
    server.get("/").expect(200).expect_body("Hello from false corral-ruby");
    server.stop();
    let log = server.log();
    assert!(!log.contains("Sinatra") && !log.contains("4567"), "it has started a server of its own: {log}");
}
