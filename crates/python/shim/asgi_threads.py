"""Several event loops in a worker, each in a thread. How they get their requests is in src/asgi/loop_inbox.rs."""

import concurrent.futures
import contextlib
import threading

from corral_asgi import Server, Watch, new_loop

# How long those that were called may let a request wait before all others are called, in seconds.
PATIENCE = 0.002
# How long requests that have ended are kept at most, in seconds.
TIDY = 5
# Bytes of stack that a loop gets at least: Python takes no less than a quarter, and needs more.
SMALLEST_STACK = 128 * 1024


class Member:
    """A thread with a loop of its own, in which the applications have started."""

    def __init__(self, apps, watch, name, stack_size):
        self.watch = watch
        self.is_serving, self.is_hurried = True, False
        self.is_tidying = False
        started = concurrent.futures.Future()
        self.thread = threading.Thread(target=self.live, args=(apps, started), name=name)
        with stack_of(stack_size):
            self.thread.start()
        started.result()

    def live(self, apps, started):
        try:
            self.server = Server(apps, self.watch)
        except BaseException as error:
            started.set_exception(error)
            return
        started.set_result(None)
        try:
            self.server.loop.run_forever()
        except BaseException as error:
            self.watch.loop.call_soon_threadsafe(self.watch.fail, error)
        finally:
            self.is_serving = False
            if not self.watch.is_child:
                self.server.end(self.is_hurried)

    def serve(self, inlet):
        self.inlet = inlet

    def ask(self, what, *arguments):
        # A loop that has failed is closed.
        with contextlib.suppress(RuntimeError):
            self.server.loop.call_soon_threadsafe(what, *arguments)

    def call(self):
        self.ask(self.take)

    def take(self):
        if self.inlet.take(self.server):
            self.server.loop.call_soon(self.take)
        if not self.is_tidying:
            self.is_tidying = True
            self.server.loop.call_later(TIDY, self.tidy)

    def tidy(self):
        self.is_tidying = self.inlet.forget_ended()
        if self.is_tidying:
            self.server.loop.call_later(TIDY, self.tidy)

    def stop(self, is_hurried):
        self.ask(self.on_stop, is_hurried)

    def on_stop(self, is_hurried):
        if self.is_serving:
            self.is_serving, self.is_hurried = False, is_hurried
            self.server.loop.stop()


class Crew:
    """The threads. The main one runs no application: it looks at the channel, and calls the others."""

    def __init__(self, apps, n_threads, stack_size):
        self.loop = new_loop()
        self.watch = Watch(self.loop, self)
        self.members = []
        self.is_patient = False
        try:
            # One after the other: what a startup finds done it need not do.
            for n in range(1, n_threads + 1):
                self.members.append(Member(apps, self.watch, f"asgi-{n}", stack_size))
        except BaseException:
            self.end(is_hurried=False)
            raise

    def states(self):
        return [member.server.states() for member in self.members]

    def run(self, board):
        for member, inlet in zip(self.members, board.inlets()):
            member.serve(inlet)
        self.watch.run(board)

    def call(self, idx):
        self.members[idx].call()

    def call_others_later(self):
        if not self.is_patient:
            self.is_patient = True
            self.loop.call_later(PATIENCE, self.call_others)

    def call_others(self):
        self.is_patient = False
        for idx in self.watch.board.others():
            self.call(idx)

    def end(self, is_hurried):
        for member in self.members:
            member.stop(is_hurried)
        for member in self.members:
            member.thread.join()
        self.loop.close()


@contextlib.contextmanager
def stack_of(n_bytes):
    """Threads that are started meanwhile have a stack of this size."""
    if n_bytes is None:
        yield
        return
    usual = threading.stack_size(max(n_bytes, SMALLEST_STACK))
    try:
        yield
    finally:
        threading.stack_size(usual)
