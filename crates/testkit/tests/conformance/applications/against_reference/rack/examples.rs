//! Examples of Rack's specification (versions 2 and 3), and each thing that it lets applications do.

use super::super::habit::{Asked, Habit, STATUSES};

pub(super) const HABITS: &[Habit] = &[
    Habit::new(
        "function",
        "->(env) { [200, { 'Content-Type' => 'text/plain' }, ['Hello ', 'Rack', '', '!']] }",
    ),
    Habit::new(
        "object",
        "
Class.new do
  def call(env)
    dup._call(env)
  end

  def _call(env)
    [201, { 'content-type' => 'text/plain' }.freeze, ['A Frozen Response'.freeze].freeze].freeze
  end
end.new
",
    ),
    Habit::new(
        "response",
        "->(_) { Rack::Response.new(['body'], 202, 'X-A' => 'b').tap { |r| r.set_cookie('a', \
        'b'); r.set_cookie('c', 'd') }.finish }",
    ),
    Habit::new("enumerator", "->(_) { [200, {}, Enumerator.new { |out| out << 'one ' << '' << 'two' }] }"),
    Habit::new("no_body", "->(_) { [200, {}, []] }"),
    Habit::new(
        "closed_body",
        "
closed = 0
body = Class.new do
  define_method(:each) { |&block| block.call('closed before: ').then { block.call(closed.to_s) } }
  define_method(:close) { closed += 1 }
end
->(_) { [200, {}, body.new] }
",
    ),
    Habit::new(
        "file",
        "
body = Class.new do
  def to_path = File.join(__dir__ || '.', 'config.ru').sub('habits/', '')
  def each = yield('not read')
end
->(_) { [200, { 'X-Size' => File.size('config.ru').to_s }, File.open('config.ru', 'rb')] }
",
    ),
    Habit::new(
        "lines",
        "->(_) { [200, { 'Set-Cookie' => \"a=1\\nb=2\", 'Vary' => 'A', 'X-Empty' => '', 'rack.own' \
        => 'mine' }, ['x']] }",
    ),
    Habit::new("length", "->(_) { [200, { 'Content-Length' => '11' }, ['hello ', 'world']] }"),
    Habit::new("statuses", "->(env) { [env['QUERY_STRING'].to_i, { 'X-Status' => 'mine' }, []] }")
        .asked(STATUSES),
    Habit::new(
        "input",
        "
lambda do |env|
  input = env['rack.input']
  parts = [input.read(2), input.gets, input.read(3, +''), input.read(0), input.each.to_a]
  input.rewind
  parts << input.read << input.read << input.read(1) << input.gets
  [200, {}, [parts.inspect]]
end
",
    )
    .asked(&[
        Asked::plainly(
            "POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 22\r\n\r\nline\nanother\nand\nmore\n",
        ),
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"),
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]),
    Habit::new(
        "environment",
        "
lambda do |env|
  names = %w[REQUEST_METHOD SCRIPT_NAME PATH_INFO QUERY_STRING CONTENT_TYPE CONTENT_LENGTH SERVER_PROTOCOL
             rack.url_scheme rack.run_once rack.hijack?]
  names += env.keys.grep(/^HTTP_/).sort - %w[HTTP_VERSION]
  [200, {}, names.map { |name| \"#{name}=#{env[name].inspect}\\n\" }]
end
",
    )
    .asked(&[
        Asked::plainly("GET /{}?c=%41&d HTTP/1.1\r\nHost: example.org:80\r\nX-One: 1\r\nx-two: b\r\n\r\n"),
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: a\r\nX-Twice: 1\r\nX-Twice: 2\r\n\r\n"),
        Asked::plainly(
            "PUT /{}/a%20b HTTP/1.1\r\nHost: a\r\nContent-Type: x/y\r\nContent-Length: 3\r\n\r\nabc",
        ),
    ]),
    Habit::new(
        "errors",
        "
lambda do |env|
  errors = env['rack.errors']
  errors.puts 'put into the log'
  errors.write('written', \"\\n\")
  errors.flush
  [200, {}, ['said']]
end
",
    )
    .asked(&[Asked::plainly("GET /{} HTTP/1.0\r\n\r\n")])
    .logged("put into the log"),
    Habit::new(
        "hijack",
        "
lambda do |env|
  io = env['rack.hijack'].call
  io.write(\"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\nConnection: close\\r\\n\\r\\nmine!\")
  io.close
  [200, {}, []]
end
",
    )
    .asked(&[Asked::plainly("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n")]),
    Habit::new(
        "partial_hijack",
        "->(_) { [200, { 'X-A' => 'b', 'Content-Length' => '5', 'rack.hijack' => ->(io) { \
        io.write('mine!'); io.close } }, []] }",
    )
    .asked(&[Asked::plainly("GET /{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")]),
    Habit::new(
        "chunked",
        "Rack::Builder.new { use Rack::Chunked; run ->(_) { [200, {}, %w[one two].each] } }.to_app",
    ),
    Habit::new(
        "deflated",
        "Rack::Builder.new { use Rack::Deflater; run ->(_) { [200, { 'Content-Type' => \
        'text/plain' }, ['text ' * 500]] } }.to_app",
    )
    .asked(&[Asked::plainly("GET /{} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\n\r\n")]),
    Habit::new(
        "head",
        "Rack::Builder.new { use Rack::Head; use Rack::ContentLength; run ->(_) { [200, {}, \
        ['12345']] } }.to_app",
    ),
];
