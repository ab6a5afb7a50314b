"""The cost of an idle keep-alive connection: memory, and the speed of a fresh request beside them."""

import resource
import selectors
import socket
import time
from statistics import median

from . import measure
from .servers import Server

PATIENCE = 30.0
FRESH_REQUESTS = 100
FRESH_BATCHES = 7


class IdleFailed(Exception):
    """The connections could not be opened, or did not stay."""


def measure_idle(server: Server, connections: int, work: str) -> dict:
    """Opens `connections`, makes one request on each, then looks at the server's user memory."""
    _raise_open_files(connections + 1000)
    # Whatever the server allocates for its first requests is not the connections' fault.
    _fresh_ms(server.port, work)
    before, fresh_before = measure.memory(server.roots), _fresh_ms(server.port, work)
    held = _open_all(server.port, work, connections)
    try:
        after = measure.memory(server.roots)
        fresh_with = _fresh_ms(server.port, work)
        n_closed = _count_closed(held)
        if n_closed:
            raise IdleFailed(f"{n_closed} of {connections} connections were closed by the server")
    finally:
        for connection in held:
            connection.close()
    # Once more without them: the pace of a machine that is shared is not the same a minute later.
    fresh_after = _fresh_ms(server.port, work)
    return {
        "server": server.name,
        "connections": connections,
        "private_kib": (after.private - before.private) / 1024 / connections,
        "pss_kib": (after.pss - before.pss) / 1024 / connections,
        "fresh_without_ms": (fresh_before + fresh_after) / 2,
        "fresh_with_ms": fresh_with,
    }


def _open_all(port: int, work: str, connections: int) -> list[socket.socket]:
    held = []
    try:
        for number in range(connections):
            connection = socket.socket()
            # A client address holds fewer than 30,000 ports.
            connection.bind((f"127.0.1.{1 + number // 10_000}", 0))
            connection.settimeout(PATIENCE)
            connection.connect(("127.0.0.1", port))
            held.append(connection)
            _request(connection, work)
    except OSError as error:
        for connection in held:
            connection.close()
        raise IdleFailed(f"connection {len(held)}: {error}") from error
    return held


def _fresh_ms(port: int, work: str) -> float:
    """Time of a request on a connection of its own: of several batches the best median, because what disturbs
    a batch on a shared machine only ever makes it slower."""
    return min(_batch_ms(port, work) for _ in range(FRESH_BATCHES))


def _batch_ms(port: int, work: str) -> float:
    times = []
    for _ in range(FRESH_REQUESTS):
        started = time.perf_counter()
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
            _request(connection, work)
        times.append(time.perf_counter() - started)
    return 1000 * median(times)


def _request(connection: socket.socket, work: str) -> None:
    connection.sendall(f"GET /{work} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += _receive(connection)
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise IdleFailed(head.decode(errors="replace"))
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += _receive(connection)


def _receive(connection: socket.socket) -> bytes:
    piece = connection.recv(65536)
    if not piece:
        raise IdleFailed("closed in the middle of an answer")
    return piece


def _count_closed(held: list[socket.socket]) -> int:
    with selectors.EpollSelector() as selector:
        for connection in held:
            selector.register(connection, selectors.EVENT_READ)
        return len(selector.select(0))


def _raise_open_files(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
    except (ValueError, OSError) as error:
        raise IdleFailed(f"{wanted} open files are needed, the limit is {hard}") from error
