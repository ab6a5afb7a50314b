# frozen_string_literal: true

# Methods that corral_ruby.c calls: loads the application, calls hooks, and has requests answered.

module Corral
  # Methods that an application of Unit may ask for in its hooks.
  module Hooks
    NAMES = %i[on_worker_boot on_worker_shutdown on_thread_boot on_thread_shutdown].freeze

    NAMES.each do |name|
      define_method(name) { |&block| Corral.hooks[name] << block }
    end
  end

  @hooks = Hash.new { |hooks, name| hooks[name] = [] }
  @crew = nil

  class << self
    attr_reader :hooks

    def load(script, hooks)
      use_bundle(File.dirname(script))
      require 'rack'
      load_hooks(hooks) if hooks
      raise LoadError, "cannot read the script \"#{script}\"" unless File.readable?(script)

      found = Rack::Builder.parse_file(script)
      # Rack 2 returns options as well.
      @app = found.is_a?(Array) ? found.first : found
    end

    def boot(n_threads)
      call_hooks(:on_worker_boot)
      return call_hooks(:on_thread_boot) if n_threads == 1

      @crew = Crew.new(n_threads)
    end

    # Has the threads serve, and returns when the worker leaves.
    def run
      @crew.run
    end

    def shutdown
      attempt('a hook failed') do
        call_hooks(:on_thread_shutdown) unless @crew
        call_hooks(:on_worker_shutdown)
      end
    end

    # Returns whether the worker leaves.
    def serve(exchange, env, length, https)
      env['rack.multithread'] = !@crew.nil?
      Request.new(exchange, env).answer(@app, length, https)
    end

    # The same in a thread of the crew.
    def serve_in_thread(exchange, env, length, https)
      Crew.application { serve(exchange, env, length, https) }
    rescue Exception => e # rubocop:disable Lint/RescueException
      raise if stranger?

      # Another thread has raised this while the server's own code ran, so the progress of the response is unknown.
      complain("#{env['REQUEST_METHOD']} #{env['REQUEST_URI']}: #{explain(e)}")
      exchange.abort
      e.is_a?(SystemExit) || e.is_a?(SignalException)
    end

    def call_hooks(name)
      @hooks[name].each(&:call)
    end

    # Runs what may fail without anybody noticing but the log.
    def attempt(what)
      yield
    rescue Exception => e # rubocop:disable Lint/RescueException
      complain("#{what}: #{explain(e)}")
    end

    # An exception as it is logged.
    def explain(error)
      return error.to_s unless error.is_a?(Exception)
      return "exit(#{error.status}) was called" if error.is_a?(SystemExit)

      error.full_message(highlight: false, order: :top).chomp.delete("\0")
    end

    # A line of the log, of whatever ends like one or not.
    def complain(text)
      $stderr.write(text.end_with?("\n") ? text : "#{text}\n")
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
  end
end
