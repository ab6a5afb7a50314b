# The contest's application for Rack.
HELLO = 'Hello, World!'.freeze
JSON_TEXT = %({"text":"#{'x' * (16_384 - 11)}"}).freeze

run lambda { |env|
  kind = 'text/plain'
  case env['PATH_INFO']
  when '/hello' then body = HELLO
  when '/json'
    body = JSON_TEXT
    kind = 'application/json'
  else body = env['rack.input'].read.bytesize.to_s
  end
  [200, { 'content-type' => kind, 'content-length' => body.bytesize.to_s }, [body]]
}
