# The suite's application for Rack: README.md says what is at which path.
require 'json'
require 'tempfile'
require 'uri'

BLOCK = ((0..250).to_a.pack('C*') * 100).freeze

def plain(body, status = 200, fields = {})
  [status, { 'content-type' => 'text/plain' }.merge(fields), [body.to_s]]
end

def wait_for
  sleep 0.005 until yield
end

def told(env)
  headers = env.each_with_object({}) do |(name, value), found|
    name = name.delete_prefix('HTTP_') if name.start_with?('HTTP_')
    found[name.tr('_', '-').downcase] = value if env.key?("HTTP_#{name}") || %w[CONTENT_TYPE CONTENT_LENGTH].include?(name)
  end
  { method: env['REQUEST_METHOD'], target: env['REQUEST_URI'], path: env['PATH_INFO'].dup.force_encoding('UTF-8'),
    query: env['QUERY_STRING'], scheme: env['rack.url_scheme'], client: env['REMOTE_ADDR'],
    port: env.fetch('REMOTE_PORT', 0).to_i, headers: headers }
end

# Goes on until it is told that the client is gone.
class Endless
  def each
    loop { yield 'x' * 65_536 }
  end

  def close
    warn 'the client is gone'
  end
end

# A file, which has no need of being read here.
RackFile = Struct.new(:to_path) do
  def each
    raise 'it has a path'
  end
end

# Has nothing to say, for as long as the client listens.
class Nothing
  def each
    warn 'it has begun'
    loop { yield '' }
  end

  def close
    warn 'the client is gone'
  end
end

PAGES = {
  '/request' => ->(env, _) { plain(JSON.generate(told(env))) },
  '/a%20b/%C3%BC' => ->(env, _) { plain(JSON.generate(told(env))) },
  '/echo' => ->(env, _) { plain(env['rack.input'].read) },
  '/length' => ->(env, _) { plain(env['rack.input'].read.bytesize) },
  '/ignored' => ->(_, _) { plain('ignored') },
  '/large' => ->(_, n) { [200, {}, Enumerator.new { |out| n.to_i.times { out << BLOCK } }] },
  '/status' => ->(_, n) { plain("status #{n}", n.to_i) },
  '/fields' => lambda do |_, _|
    plain('fields', 200, 'X-Twice' => "1\n2", 'Set-Cookie' => "a=1\nb=2", 'X-Empty' => '')
  end,
  '/many' => ->(_, n) { plain('many', 200, (1..n.to_i).to_h { |i| ["X-Field-#{i}", "value #{i}"] }) },
  '/stream' => lambda do |_, _|
    [200, {}, Enumerator.new do |out|
      out << 'first'
      wait_for { File.exist?('go') }
      out << 'second'
    end]
  end,
  '/framed' => lambda do |_, text|
    pieces = text.split('~').map { |piece| URI.decode_www_form_component(piece) }
    [200, { 'transfer-encoding' => 'chunked' }, pieces.each]
  end,
  '/nothing' => ->(_, _) { [200, {}, Nothing.new] },
  '/hints' => lambda do |env, _|
    env['rack.early_hints']&.call('link' => '</style.css>; rel=preload; as=style')
    wait_for { File.exist?('go') }
    plain('hints')
  end,
  '/file' => ->(_, path) { [200, {}, RackFile.new(path)] },
  '/fail' => ->(_, _) { raise 'failed on purpose' },
  '/fail-late' => lambda do |_, _|
    [200, {}, Enumerator.new do |out|
      out << 'begun'
      raise 'failed too late'
    end]
  end,
  '/die' => ->(_, _) { Process.kill(:KILL, $$) },
  '/endless' => ->(_, _) { [200, {}, Endless.new] },
  '/meet' => lambda do |_, n|
    File.write("meet/#{$$}-#{rand(1 << 60)}", '')
    wait_for { Dir.children('meet').size >= n.to_i }
    plain($$)
  end,
  '/slow' => ->(_, n) { sleep(n.to_i / 1000.0) && plain($$) },
  '/compute' => lambda do |_, _|
    nil until File.exist?('go')
    plain($$)
  end,
  '/kept' => ->(_, _) { plain(Thread.current[:kept] = Thread.current[:kept].to_i + 1) },
  '/pid' => ->(_, _) { plain($$) },
  '/cwd' => ->(_, _) { plain(Dir.pwd) },
  '/environment' => ->(_, name) { plain(ENV[name]) },
  '/user' => ->(_, _) { plain("#{Process.euid} #{Process.egid}") },
  '/log' => lambda do |_, _|
    $stdout.puts('said to standard output')
    $stdout.flush
    warn 'said to standard error'
    plain('')
  end
}.freeze

run lambda { |env|
  path, argument = env['REQUEST_URI'].split('?', 2)
  page = PAGES[path]
  page ? page.call(env, argument.to_s) : plain('missing', 404)
}
