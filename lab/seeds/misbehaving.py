"""A small server for the lab's own tests. As its query says, it answers wrongly, late, or not at all.

`/?fail=10` answers one request of ten with 500, `/?wrong=1` always with another body, `/?late=50` after 50 ms,
`/?die=100` ends the process at the hundredth request, `/?spoil=100` changes the body from the hundredth request on.
"""

import asyncio
import os
import sys
from urllib.parse import parse_qsl, urlsplit

BODY = b"Hello, World!\n"
OTHER = b"Something went wrong, with status 200.\n"


class Service(asyncio.Protocol):
    n_requests = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.received = b""
        self.missing = 0

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = self.received[:end].decode("latin-1")
            fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:])
            whole = end + 4 + int(fields.get("content-length", 0))
            if len(self.received) < whole:
                return
            self.received = self.received[whole:]
            method_and_target, _, version = head.split("\r\n")[0].rpartition(" ")
            is_kept = fields.get("connection") == "keep-alive" if version == "HTTP/1.0" else fields.get("connection") != "close"
            self.answer(method_and_target.split(" ")[1], not is_kept)

    def answer(self, target: str, is_last: bool) -> None:
        Service.n_requests += 1
        asked = {key: int(value) for key, value in parse_qsl(urlsplit(target).query)}
        if asked.get("die") and Service.n_requests >= asked["die"]:
            os._exit(3)
        is_bad = asked.get("fail") and Service.n_requests % asked["fail"] == 0
        is_spoilt = asked.get("spoil") and Service.n_requests >= asked["spoil"]
        body = OTHER if asked.get("wrong") or is_spoilt else BODY
        head = f"HTTP/1.1 {'500 Internal Server Error' if is_bad else '200 OK'}\r\nContent-Length: {len(body)}\r\n"
        head += "Content-Type: text/plain\r\n" + ("Connection: close\r\n\r\n" if is_last else "Connection: keep-alive\r\n\r\n")
        asyncio.get_running_loop().call_later(asked.get("late", 0) / 1000, self.send, head.encode() + body, is_last)

    def send(self, answer: bytes, is_last: bool) -> None:
        self.transport.write(answer)
        if is_last:
            self.transport.close()


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Service, "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
