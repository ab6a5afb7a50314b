"""An HTTP server that answers each request after the same time, however many there are: prints its port and serves.

    python3 -m lab.tank.delayed MILLISECONDS
"""

import asyncio
import sys

BODY = b"x" * 1000
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


class Delayed(asyncio.Protocol):
    """A connection whose requests have no bodies and come one after the other, as nginx sends them."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.received = b""

    def connection_made(self, transport: asyncio.Transport):
        self.transport = transport

    def data_received(self, data: bytes):
        self.received += data
        if self.received.endswith(b"\r\n\r\n"):
            self.received = b""
            asyncio.get_running_loop().call_later(self.seconds, self.transport.write, ANSWER)


async def main(seconds: float):
    server = await asyncio.get_running_loop().create_server(lambda: Delayed(seconds), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) / 1000))
