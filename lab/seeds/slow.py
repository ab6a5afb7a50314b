"""Slow clients beside others, and idle connections."""

import selectors
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

from .. import idle
from ..load import LoadFailed
from .generators import Load
from .generators.process import run
from .generators.tank import Tank, read_report
from .records import Idle, Slow
from .servers import SeedServer

# The other clients: an open loop that no server is too slow for, whose requests are given up after so many seconds.
RATE, SECONDS, PATIENCE = 50, 6, 5.0
CONNECTIONS = 200
INTERVAL = 1.0

# A header that no slow client comes to the end of.
HEAD = "GET {target} HTTP/1.1\r\nHost: {host}\r\nX-Slow: " + "a" * 1000


def measure_slow(
    tank: Tank, server: SeedServer, load: Load, target: str, n_clients: int, folder: Path, seconds: float = SECONDS
) -> Slow:
    """The times that other clients see alone, and then beside clients that send a byte a second of their heads."""
    load = replace(load, seconds=seconds)
    try:
        alone = _p99_ms(tank, load, folder)
        with SlowClients(server.port, HEAD.format(target=target, host=load.host).encode(), n_clients) as clients:
            beside = _p99_ms(tank, load, folder)
            return Slow(server.name, n_clients, clients.n_open, beside, alone)
    except (LoadFailed, OSError) as error:
        return Slow(server.name, n_clients, error=str(error))


def measure_idle(server: SeedServer, n_connections: int, work: str) -> Idle:
    try:
        found = idle.measure_idle(server, n_connections, work)
    except (idle.IdleFailed, OSError) as error:
        return Idle(server.name, n_connections, error=str(error))
    return Idle(server.name, n_connections, found["private_kib"], found["fresh_without_ms"], found["fresh_with_ms"])


def _p99_ms(tank: Tank, load: Load, folder: Path) -> float:
    """Failed requests have the time until they were given up."""
    schedule = f"const({RATE},{round(load.seconds)}s)"
    command = [*tank.request(load, folder, PATIENCE), "--schedule", schedule, "--connections", str(CONNECTIONS), load.url]
    finished = run(command, load.seconds + PATIENCE + 30)
    if not tank.accepts_status(finished.status):
        raise LoadFailed(f"tank gave up: {finished.last_words}")
    return read_report(folder)["response_time"]["percentiles"]["99"] / 1000


class SlowClients:
    """Connections that send one byte each second, for as long as the context lasts."""

    def __init__(self, port: int, head: bytes, n_clients: int):
        self._address = ("127.0.0.1", port)
        self._head = head
        self._n_clients = n_clients
        self._selector = selectors.EpollSelector()
        self._open: set[socket.socket] = set()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)

    def __enter__(self) -> "SlowClients":
        try:
            for _ in range(self._n_clients):
                # A server that accepts no more has them wait in its queue.
                connection = socket.socket()
                connection.setblocking(False)
                connection.connect_ex(self._address)
                self._selector.register(connection, selectors.EVENT_READ)
                self._open.add(connection)
        except OSError:
            self._close()
            raise
        self._thread.start()
        # All have sent something when others come.
        time.sleep(2 * INTERVAL)
        return self

    def __exit__(self, *_) -> None:
        self._done.set()
        self._thread.join()
        self._close()

    @property
    def n_open(self) -> int:
        """Connections that the server has neither closed nor answered."""
        return len(self._open)

    def _go_on(self) -> None:
        for position in range(len(self._head)):
            for connection in list(self._open):
                self._send(connection, self._head[position : position + 1])
            if self._done.wait(INTERVAL):
                return
            for key, _ in self._selector.select(0):
                self._drop(key.fileobj)

    def _send(self, connection: socket.socket, byte: bytes) -> None:
        try:
            connection.send(byte)
        except BlockingIOError:
            pass
        except OSError:
            self._drop(connection)

    def _drop(self, connection: socket.socket) -> None:
        if connection in self._open:
            self._open.discard(connection)
            self._selector.unregister(connection)
            connection.close()

    def _close(self) -> None:
        for connection in list(self._open):
            self._drop(connection)
        self._selector.close()
