"""The event loop of a worker with an ASGI 3 application. What is between it and the channel is in src/asgi."""

import asyncio
import contextlib
import inspect
import os
import signal
import sys
import threading
import traceback

# How often to look whether there is still a server, in seconds.
LOOK_AROUND = 600
# How long what still runs has at the end when the server does not wait: it kills what takes a second.
HURRY = 0.3
# How long the application may take to shut down in good order, in seconds.
SHUTDOWN = 30
# Bytes of a file that are sent at a time.
FILE_STEP = 256 * 1024


class ClientDisconnected(OSError):
    """The client has left: what is sent is lost."""


def new_loop():
    """uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        loop = asyncio.new_event_loop()
    else:
        loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    os.register_at_fork(after_in_child=lambda: separate(loop))
    return loop


def separate(loop):
    """Gives a copied loop a selector of its own: what is taken from that of the parent, the parent does not hear of any more.
    One without a selector of Python's, such as uvloop's, has to be left as it is until the child ends."""
    selector = getattr(loop, "_selector", None)
    keys = selector and selector.get_map()
    if keys:
        loop._selector = type(selector)()
        for key in list(keys.values()):
            loop._selector.register(key.fileobj, key.events, key.data)


def single(app):
    """Applications of ASGI 2 are called twice."""
    call = getattr(app, "__call__", None)
    is_single = inspect.iscoroutinefunction(app) or inspect.iscoroutinefunction(call)
    if is_single and not inspect.isclass(app):
        return app

    async def call_twice(scope, receive, send):
        await app(scope)(receive, send)

    return call_twice


class Lifespan:
    """The application's startup and shutdown (the lifespan protocol, 2.0)."""

    def __init__(self, loop, app):
        self.app = app
        self.state = {}
        self.is_supported = True
        # Whether the application has asked what there is.
        self.is_known = False
        self.events = asyncio.Queue()
        self.started = loop.create_future()
        self.stopped = loop.create_future()
        self.events.put_nowait({"type": "lifespan.startup"})
        self.task = loop.create_task(self.run())

    async def run(self):
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        try:
            await self.app(scope, self.receive, self.send)
        except BaseException as error:
            # An application that raises before the startup is complete mostly does not know the protocol: served without.
            self.is_supported = self.started.done()
            if (self.is_supported or self.is_known) and not isinstance(error, asyncio.CancelledError):
                traceback.print_exc()
        finally:
            for future in (self.started, self.stopped):
                if not future.done():
                    future.set_result(None)

    async def receive(self):
        self.is_known = True
        return await self.events.get()

    async def send(self, event):
        kind = event["type"]
        if kind == "lifespan.startup.complete":
            self.started.set_result(None)
        elif kind == "lifespan.startup.failed":
            self.started.set_result(event.get("message") or "the application's startup has failed")
        elif kind == "lifespan.shutdown.complete":
            self.stopped.set_result(None)
        elif kind == "lifespan.shutdown.failed":
            print(event.get("message") or "the application's shutdown has failed", file=sys.stderr, flush=True)
            self.stopped.set_result(None)
        else:
            raise RuntimeError(f'"{kind}" is no event of the lifespan protocol')

    async def start(self):
        failure = await self.started
        if failure is not None:
            raise RuntimeError(failure)

    async def stop(self):
        if not self.task.done():
            self.events.put_nowait({"type": "lifespan.shutdown"})
            await self.stopped


class Server:
    """One loop, and the applications whose requests run in it."""

    def __init__(self, apps, watch=None):
        self.loop = new_loop()
        self.watch = watch or Watch(self.loop, self)
        self.lifespans = []
        self.loop.run_until_complete(self.start([single(app) for app in apps]))

    async def start(self, apps):
        for app in apps:
            lifespan = Lifespan(self.loop, app)
            self.lifespans.append(lifespan)
            await lifespan.start()

    def states(self):
        return [lifespan.state if lifespan.is_supported else None for lifespan in self.lifespans]

    def look(self):
        """Has the worker check now whether it leaves."""
        self.watch.loop.call_soon_threadsafe(self.watch.poll)

    def end(self, is_hurried):
        self.loop.run_until_complete(self.leave(is_hurried))
        self.loop.close()

    async def leave(self, is_hurried):
        tasks = asyncio.all_tasks() - {asyncio.current_task()} - {lifespan.task for lifespan in self.lifespans}
        if is_hurried:
            for task in tasks:
                task.cancel()
            await self.within(HURRY, asyncio.gather(*tasks, return_exceptions=True))
        for lifespan in self.lifespans:
            await self.within(HURRY if is_hurried else SHUTDOWN, lifespan.stop())
        await self.loop.shutdown_asyncgens()

    @staticmethod
    async def within(seconds, work):
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(work, seconds)

    def begin(self, request, target):
        return self.loop.create_task(self.serve(self.lifespans[target].app, request))

    async def serve(self, app, request):
        async def receive():
            event = request.receive()
            return event if type(event) is dict else await event

        async def send(event):
            if event.get("type") == "http.response.pathsend":
                await send_file(request, event["path"], send)
            else:
                pending = request.send(event)
                if pending is not None:
                    await pending
                elif event.get("more_body") and not event.get("body"):
                    # One that says nothing for ever must hear of the end of its client.
                    await asyncio.sleep(0)

        try:
            await app(request.scope, receive, send)
        except BaseException as error:
            if self.watch.is_child:
                request.end_process(error)
            is_leaving = request.fail(error)
            if not isinstance(error, (Exception, asyncio.CancelledError)):
                raise
        else:
            if self.watch.is_child:
                request.end_process(None)
            is_leaving = request.finish()
        if is_leaving:
            self.look()


def hold_signals(held):
    """A child that a signal reaches before it has left its parent would take it as its parent does, and tell that one's loop."""
    held.mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def release_signals(held):
    signal.pthread_sigmask(signal.SIG_SETMASK, held.mask)


class Watch:
    """Looks at the channel until the worker leaves, in the main thread's loop. `crew` runs the requests that come."""

    def __init__(self, loop, crew):
        self.loop, self.crew = loop, crew
        self.is_serving = self.is_hurried = self.is_child = False
        self.failure = None

    def run(self, board):
        self.board = board
        self.loop.add_reader(board.fileno(), self.on_bell)
        self.loop.add_signal_handler(signal.SIGTERM, self.hurry)
        self.on_term = signal.getsignal(signal.SIGTERM)
        self.loop.call_soon(self.poll)
        self.loop.call_later(LOOK_AROUND, self.look_around)
        held = threading.local()
        os.register_at_fork(
            before=lambda: hold_signals(held),
            after_in_parent=lambda: release_signals(held),
            after_in_child=lambda: self.leave_parent(held),
        )
        self.is_serving = True
        try:
            self.loop.run_forever()
        finally:
            self.is_serving = False
            if not self.is_child:
                self.loop.remove_reader(board.fileno())
                self.crew.end(self.is_hurried)
        if self.failure is not None:
            raise self.failure

    def leave_parent(self, held):
        """The application has forked this process, which has no channel and ends when the application returns."""
        self.is_child = True
        # A signal to the child would wake the loop of the parent, and not end the child.
        signal.set_wakeup_fd(-1)
        if signal.getsignal(signal.SIGTERM) == self.on_term:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if hasattr(self.loop, "_selector"):
            self.loop.remove_reader(self.board.fileno())
        release_signals(held)

    def on_bell(self):
        self.board.silence()
        self.poll()

    def poll(self):
        """Takes what has come. While something does, it comes back after every other task had a turn."""
        if not self.is_serving:
            return
        if self.board.poll(self.crew) or not self.board.may_sleep():
            self.loop.call_soon(self.poll)
        elif self.board.is_over():
            self.stop()

    def look_around(self):
        if self.is_serving:
            self.poll()
            self.loop.call_later(LOOK_AROUND, self.look_around)

    def hurry(self):
        self.is_hurried = True
        self.stop()

    def fail(self, failure):
        """The worker cannot go on."""
        self.failure = failure
        self.stop()

    def stop(self):
        # A second stop would end the loop in which the end is waited for.
        if self.is_serving:
            self.is_serving = False
            self.loop.stop()


class Alone:
    """One loop for everything."""

    def __init__(self, apps):
        self.server = Server(apps)

    def states(self):
        return [self.server.states()]

    def run(self, board):
        self.server.watch.run(board)


async def send_file(request, path, send):
    loop = asyncio.get_running_loop()
    with open(path, "rb") as file:
        if request.send_file(file.fileno()):
            return
        while piece := await loop.run_in_executor(None, file.read, FILE_STEP):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
