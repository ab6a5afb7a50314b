"""A crowd of clients that each keep a connection: is every one of them answered?

Generators count answers, and do not see clients that wait until the end of a short run: those of a server whose
processes are held by the connections of others.
"""

import resource
import selectors
import socket
import time

CLIENTS = 1000
PATIENCE = 5.0


def n_unanswered(port: int, host: str, path: str, clients: int = CLIENTS, patience: float = PATIENCE) -> int:
    """Sends one request on each of so many connections at once; returns how many have no answer in time."""
    _allow_open_files()
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    deadline = time.monotonic() + patience
    with selectors.EpollSelector() as selector:
        waiting = [_connect(port, selector) for _ in range(clients)]
        try:
            for connection in waiting:
                connection.sendall(request)
            n_waiting = clients
            while n_waiting and (rest := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(rest):
                    selector.unregister(key.fileobj)
                    n_waiting -= _is_answered(key.fileobj)
                if not selector.get_map():
                    break
            return n_waiting
        finally:
            for connection in waiting:
                connection.close()


def _connect(port: int, selector: selectors.BaseSelector) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
    selector.register(connection, selectors.EVENT_READ)
    return connection


def _is_answered(connection: socket.socket) -> bool:
    try:
        return connection.recv(65536).partition(b"\r\n")[0].startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def _allow_open_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
