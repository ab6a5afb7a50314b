# frozen_string_literal: true

# The Rack handler (Rack 2 and 3): calls the application, and turns what it returns into the calls that corral_ruby.c offers.

require 'stringio'
require 'tempfile'

module Corral
  # Bytes of a request's body that are kept in memory; a longer one goes to a file.
  LARGEST_IN_MEMORY = 1 << 20

  # Bytes that are read of a file at once.
  PIECE = 1 << 16

  # A response's body that the application writes to: what Rack calls a stream.
  class Stream
    def initialize(input)
      @input = input
      @mutex = Thread::Mutex.new
      @ended = Thread::ConditionVariable.new
      @closed = false
    end

    def write(*pieces)
      pieces.sum do |piece|
        piece = piece.to_s
        raise IOError, 'the response is closed' if @closed
        raise Errno::EPIPE, 'the client is gone' unless Corral.write(piece)

        Corral.flush
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
      @mutex.synchronize { @ended.wait(@mutex, 1) until @closed || Corral.gone? }
      @closed = true
    end
  end

  # What an application of Unit may ask for in its hooks.
  module Hooks
    NAMES = %i[on_worker_boot on_worker_shutdown on_thread_boot on_thread_shutdown].freeze

    NAMES.each do |name|
      define_method(name) { |&block| Corral.hooks[name] << block }
    end
  end

  @hooks = Hash.new { |hooks, name| hooks[name] = [] }

  class << self
    attr_reader :hooks

    def load(script, hooks)
      $0 = script
      use_bundle(File.dirname(script))
      require 'rack'
      load_hooks(hooks) if hooks
      raise LoadError, "cannot read the script \"#{script}\"" unless File.readable?(script)

      found = Rack::Builder.parse_file(script)
      # Rack 2 returns options as well.
      @app = found.is_a?(Array) ? found.first : found
    end

    def boot
      call_hooks(:on_worker_boot)
      call_hooks(:on_thread_boot)
    end

    def shutdown
      call_hooks(:on_thread_shutdown)
      call_hooks(:on_worker_shutdown)
    rescue Exception => e # rubocop:disable Lint/RescueException
      complain("a hook failed: #{explain(e)}")
    end

    # Returns whether the worker leaves.
    def serve(env, length, https)
      @state = :silent
      body = nil
      leaves = false
      begin
        complete(env, length, https)
        response = @app.call(env)
        raise TypeError, "the response is no array of three: #{response.inspect}" unless response.respond_to?(:to_ary)

        status, fields, body = response.to_ary
        respond(env, status, fields, body)
      rescue Exception => e # rubocop:disable Lint/RescueException
        leaves = e.is_a?(SystemExit) || e.is_a?(SignalException)
        error = e
        report(env, e)
      end
      after(env, status, fields, body, error)
      leaves
    end

    # An exception as it is logged.
    def explain(error)
      return error.to_s unless error.is_a?(Exception)
      return "exit(#{error.status}) was called" if error.is_a?(SystemExit)

      error.full_message(highlight: false, order: :top).chomp.delete("\0")
    end

    private

    # The gems of a Gemfile beside the script, or of one where Bundler looks by itself.
    def use_bundle(folder)
      beside = File.join(folder, 'Gemfile')
      ENV['BUNDLE_GEMFILE'] ||= beside if File.file?(beside)
      require 'bundler/setup' if ENV['BUNDLE_GEMFILE'] || gemfile_above?
    end

    def gemfile_above?
      require 'pathname'
      Pathname.pwd.ascend.any? { |folder| folder.join('Gemfile').file? || folder.join('gems.rb').file? }
    end

    def load_hooks(path)
      Object.const_set(:Unit, Module.new) unless Object.const_defined?(:Unit)
      Unit.extend(Hooks)
      Unit.module_eval(File.read(path), path)
    end

    def call_hooks(name)
      @hooks[name].each(&:call)
    end

    def complete(env, length, https)
      env['SCRIPT_NAME'] = ''
      env['rack.version'] = Rack::VERSION.is_a?(Array) ? Rack::VERSION : [1, 6]
      env['rack.url_scheme'] = https ? 'https' : 'http'
      env['rack.input'] = input(length)
      env['rack.errors'] = $stderr
      env['rack.multithread'] = false
      env['rack.multiprocess'] = true
      env['rack.run_once'] = false
      env['rack.hijack?'] = false
      env['rack.response_finished'] = []
      env['rack.after_reply'] = []
    end

    def input(length)
      return StringIO.new(length.zero? ? String.new : Corral.read(length)) if length <= LARGEST_IN_MEMORY

      file = Tempfile.new('corral')
      file.binmode
      file.unlink
      until (piece = Corral.read(PIECE)).empty?
        file.write(piece)
      end
      file.rewind
      file
    end

    def respond(env, status, fields, body)
      unless body.respond_to?(:each) || body.respond_to?(:call)
        raise TypeError, 'the body of the response has neither each nor call'
      end
      list, hijack = list_of(fields)
      head(Integer(status), list)
      @state = :open
      if hijack then stream(env, hijack)
      elsif body.respond_to?(:to_path) && File.file?(body.to_path) then copy(body.to_path)
      elsif body.respond_to?(:each) then each(body)
      else stream(env, body)
      end
      @state = :ended
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
      return value if value.is_a?(Array)

      value = value.to_s
      value.include?("\n") ? value.split("\n") : [value]
    end

    def copy(path)
      File.open(path, 'rb') do |file|
        piece = String.new(capacity: PIECE)
        break unless Corral.write(piece) while file.read(PIECE, piece)
      end
    end

    def each(body)
      # What comes of a list comes at once; of anything else each piece is sent before the next one is made.
      comes_at_once = body.respond_to?(:to_ary)
      body.each do |piece|
        break unless Corral.write(piece)

        Corral.flush unless comes_at_once
      end
    end

    def stream(env, callable)
      stream = Stream.new(env['rack.input'])
      callable.call(stream)
      stream.await_end
    end

    # The visitor gets 500, or a response that is cut off.
    def report(env, error)
      complain("#{env['REQUEST_METHOD']} #{env['REQUEST_URI']}: #{explain(error)}")
      Corral.head(500, []) if @state == :silent
      Corral.abort if @state == :open
    end

    def after(env, status, fields, body, error)
      finished = Array(env['rack.response_finished'])
      replied = Array(env['rack.after_reply'])
      Corral.finish unless finished.empty? && replied.empty?
      attempt(env) { body.close if body.respond_to?(:close) }
      finished.reverse_each { |callable| attempt(env) { callable.call(env, status, fields, error) } }
      replied.each { |callable| attempt(env) { callable.call } }
    end

    def attempt(env)
      yield
    rescue Exception => e # rubocop:disable Lint/RescueException
      complain("#{env['REQUEST_METHOD']} #{env['REQUEST_URI']}: after the response: #{explain(e)}")
    end

    def complain(text)
      $stderr.write(text, "\n")
    end
  end
end
