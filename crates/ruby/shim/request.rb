# frozen_string_literal: true

# One request (Rack 2 and 3): gives it to the application, and turns what that returns into calls of Corral::Exchange, which
# corral_exchange.c defines.

require 'socket'
require 'stringio'
require 'tempfile'

module Corral
  # A response's body that the application writes to: what Rack calls a stream.
  class Stream
    def initialize(exchange, input)
      @exchange = exchange
      @input = input
      @mutex = Thread::Mutex.new
      @ended = Thread::ConditionVariable.new
      @closed = false
    end

    def write(*pieces)
      pieces.sum do |piece|
        piece = piece.to_s
        raise IOError, 'the response is closed' if @closed
        raise Errno::EPIPE, 'the client is gone' unless @exchange.write(piece)

        @exchange.flush
        piece.bytesize
      end
    end

    def <<(piece)
      write(piece)
      self
    end

    def read(*arguments)
      @input.read(*arguments)
    end

    def flush
      self
    end

    def close_read; end

    def close(*)
      @mutex.synchronize do
        @closed = true
        @ended.broadcast
      end
      nil
    end
    alias close_write close

    def closed?
      @closed
    end

    # Other threads may write after the application has returned.
    def await_end
      @mutex.synchronize { @ended.wait(@mutex, 1) until @closed || @exchange.gone? }
      @closed = true
    end
  end

  # rack.errors: standard error, on which each text becomes a line.
  class Errors
    def write(*texts)
      texts.sum do |text|
        # As IO does, also for an object whose to_s is not text.
        text = format('%s', text)
        Corral.complain(text)
        text.bytesize
      end
    end

    def print(*texts)
      write(*texts)
      nil
    end

    def <<(text)
      write(text)
      self
    end

    def puts(*texts)
      $stderr.puts(*texts)
    end

    def flush
      self
    end

    private

    def respond_to_missing?(name, include_all = false)
      $stderr.respond_to?(name, include_all)
    end

    def method_missing(name, ...)
      $stderr.public_send(name, ...)
    end
  end

  # A request while it is answered.
  class Request
    # Bytes of a body that are kept in memory; a longer one goes to a file.
    LARGEST_IN_MEMORY = 1 << 20

    # Bytes that are read of a file at once.
    PIECE = 1 << 16

    ERRORS = Errors.new
    private_constant :ERRORS

    # The version of the specification, for applications from Rack 1 and 2. Rack 3.1 has none, 3.2 has its release there.
    def self.rack_version
      @rack_version ||= Rack.const_defined?(:VERSION) && Rack::VERSION.is_a?(Array) ? Rack::VERSION : [1, 6].freeze
    end

    def initialize(exchange, env)
      @exchange = exchange
      @env = env
      @state = :silent
      @hijacked = nil
    end

    # Returns whether the worker leaves.
    def answer(app, length, https)
      body = nil
      leaves = false
      begin
        complete(length, https)
        response = app.call(@env)
        unless response.respond_to?(:to_ary) || @hijacked
          raise TypeError, "the response is not an array of three: #{response.inspect}"
        end

        status, fields, body = *response
        respond(status, fields, body) unless @hijacked
      rescue Exception => e # rubocop:disable Lint/RescueException
        raise if Corral.stranger?

        leaves = e.is_a?(SystemExit) || e.is_a?(SignalException)
        error = e
        report(e)
      end
      after(status, fields, body, error)
      leaves
    end

    private

    def complete(length, https)
      @env['SCRIPT_NAME'] = ''
      @env['rack.version'] = Request.rack_version
      @env['rack.url_scheme'] = https ? 'https' : 'http'
      @env['rack.input'] = input(length)
      @env['rack.errors'] = ERRORS
      @env['rack.multiprocess'] = true
      @env['rack.run_once'] = false
      @env['rack.hijack?'] = true
      @env['rack.hijack'] = method(:hijack)
      @env['rack.early_hints'] = method(:hint) if takes_hints?
      @env['rack.response_finished'] = []
      @env['rack.after_reply'] = []
    end

    # Browsers do, which say what they fetch something for. Others may take a hint for the response (RFC 8297 section 3), and
    # Rails sends hints to every client that can have them.
    def takes_hints?
      @env['SERVER_PROTOCOL'] != 'HTTP/1.0' && @env.key?('HTTP_SEC_FETCH_MODE')
    end

    def input(length)
      return StringIO.new(length.zero? ? String.new : @exchange.read(length)) if length <= LARGEST_IN_MEMORY

      file = Tempfile.new('corral')
      file.binmode
      file.unlink
      until (piece = @exchange.read(PIECE)).empty?
        file.write(piece)
      end
      file.rewind
      file
    end

    # Resources that the client may load while it waits (RFC 8297).
    def hint(fields)
      list, = list_of(fields)
      @exchange.inform(103, list) unless list.empty?
      nil
    end

    # Gives the application the client's connection: a socket that the server passes everything through.
    def hijack
      @env['rack.hijack_io'] = @hijacked ||= take_over
    end

    def take_over
      raise IOError, 'the response has begun' unless @state == :silent

      socket = UNIXSocket.for_fd(@exchange.hijack)
      @state = :hijacked
      socket
    end

    def respond(status, fields, body)
      unless body.respond_to?(:each) || body.respond_to?(:call)
        raise TypeError, 'the body of the response has neither each nor call'
      end
      list, hijack = list_of(fields)
      @exchange.head(number_of(status), list)
      @state = :open
      if hijack then stream(hijack)
      elsif body.respond_to?(:to_path) && File.file?(body.to_path) then copy(body.to_path)
      elsif body.respond_to?(:each) then each(body)
      else stream(body)
      end
      @state = :ended
    end

    def number_of(status)
      return status if status.is_a?(Integer)

      Corral.remark('the status of a response is no Integer')
      status.to_i
    end

    # Names and values in turn, without those that are for the server.
    def list_of(fields)
      list = []
      hijack = nil
      fields.each do |name, value|
        if name == 'rack.hijack' then hijack = value
        elsif name.start_with?('rack.') then next
        else values_of(value).each { |one| list << name.to_s << one.to_s }
        end
      end
      [list, hijack]
    end

    # Several of one name are an array in Rack 3, and lines in Rack 2.
    def values_of(value)
      return value.empty? ? [''] : value if value.is_a?(Array)

      value = value.to_s
      value.include?("\n") ? value.split("\n") : [value]
    end

    def copy(path)
      File.open(path, 'rb') do |file|
        break if @exchange.send_file(file.fileno)

        piece = String.new(capacity: PIECE)
        break unless @exchange.write(piece) while file.read(PIECE, piece)
      end
    end

    def each(body)
      # The pieces of a list come at once; of anything else each piece is sent before the next one is made.
      comes_at_once = body.respond_to?(:to_ary)
      body.each do |piece|
        break unless @exchange.write(piece)

        @exchange.flush unless comes_at_once
      end
    end

    def stream(callable)
      stream = Stream.new(@exchange, @env['rack.input'])
      callable.call(stream)
      stream.await_end
    end

    # The visitor gets 500, or a response that is cut off.
    def report(error)
      Corral.complain("#{@env['REQUEST_METHOD']} #{@env['REQUEST_URI']}: #{Corral.explain(error)}")
      @exchange.head(500, []) if @state == :silent
      @exchange.abort if @state == :open
    end

    def after(status, fields, body, error)
      finished = Array(@env['rack.response_finished'])
      replied = Array(@env['rack.after_reply'])
      @exchange.finish unless finished.empty? && replied.empty?
      attempt { body.close if body.respond_to?(:close) }
      finished.reverse_each { |callable| attempt { callable.call(@env, status, fields, error) } }
      replied.each { |callable| attempt { callable.call } }
    end

    def attempt(&block)
      Corral.attempt("#{@env['REQUEST_METHOD']} #{@env['REQUEST_URI']}: after the response", &block)
    end
  end
end
