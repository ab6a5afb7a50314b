# frozen_string_literal: true

# The threads of a worker that has several.

module Corral
  # Threads that answer requests, as many as the configuration says. The one that has loaded the application only waits for
  # them: there Ruby runs the handlers of signals, which may raise anything.
  #
  # While a thread waits for a request or sends what is left of a response there are frames of Rust below, which nothing
  # may be raised through. What other threads raise in it (Timeout, Thread#raise, Thread#kill) therefore waits, except
  # while code of the application runs.
  class Crew
    LATER = { Object => :never }.freeze
    AT_ONCE = { Object => :immediate }.freeze

    # With a limit, this does not count as an endless sleep, by which Ruby finds deadlocks.
    A_LONG_TIME = 3600

    private_constant :LATER, :AT_ONCE, :A_LONG_TIME

    # Raises what a hook raises.
    def initialize(n_threads)
      @serves = false
      @begin = Thread::Queue.new
      @booted = Thread::Queue.new
      @threads = []
      Thread.handle_interrupt(LATER) { n_threads.times { @threads << Thread.new { live } } }
      n_threads.times { (error = @booted.pop) && raise(error) }
    rescue Exception # rubocop:disable Lint/RescueException
      # At its end, Ruby would wait for ever for threads that nothing is raised in.
      await_all
      raise
    end

    # Returns when all have ended. May be called again if something is raised in it.
    def run
      heed_termination unless @serves
      @serves = true
      await_all
    end

    # Runs code of the application in one of the threads.
    def self.application
      forget_interrupts
      Thread.handle_interrupt(AT_ONCE) { yield }
    end

    # An exception that another thread raises too late is for a request that has ended.
    def self.forget_interrupts
      Thread.handle_interrupt(AT_ONCE) { Thread.pass } while Thread.pending_interrupt?
    rescue Exception # rubocop:disable Lint/RescueException
      retry
    end
    private_class_method :forget_interrupts

    private

    def live
      begin
        Crew.application { Corral.call_hooks(:on_thread_boot) }
      rescue Exception => e # rubocop:disable Lint/RescueException
        return @booted << e
      end
      @booted << nil
      @begin.pop
      Corral.live if @serves
      Corral.attempt('a hook failed') { Crew.application { Corral.call_hooks(:on_thread_shutdown) } }
    end

    # Has the worker leave in order at SIGTERM.
    def heed_termination
      worker = $$
      trap('TERM') { $$ == worker ? Corral.leave : end_by_signal }
    end

    # In a process that the application has forked.
    def end_by_signal
      trap('TERM', 'SYSTEM_DEFAULT')
      Process.kill('TERM', $$)
    end

    def await_all
      @begin.close
      @threads.each { |thread| thread.join(A_LONG_TIME) while thread.alive? }
    end
  end
end
