"""Visitors are told apart by their cookies, and a page without sessions is not measured."""

import http.server
import threading
import unittest

from .. import wrk
from .sessions import Sessions


class Page(http.server.BaseHTTPRequestHandler):
    """Begins a session for a visitor without one, and counts no further than two."""

    begins = True

    def do_GET(self) -> None:
        known = self.headers["Cookie"] == "token=a%3D1; session=b"
        self.send_response(200)
        if self.begins and not known:
            self.send_header("Set-Cookie", "token=a%3D1; Path=/; expires=Tue, 24 Nov 2026 15:00:00 GMT")
            self.send_header("Set-Cookie", "session=b; httponly; samesite=lax")
        self.end_headers()
        self.wfile.write(b'{"visits":2}' if known else b'{"visits":1}')

    def log_message(self, *_: object) -> None:
        pass


class Visitors(unittest.TestCase):
    page = Sessions("session", "/visits", b'{"visits":1}')

    def serve(self, handler: type[Page]) -> int:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]

    def test_a_session_for_each_connection(self):
        port = self.serve(Page)
        self.page.verify(port)
        command = self.page.command(port, 1, 3)
        self.assertEqual(command[-4:], ["--", *["token=a%3D1; session=b"] * 3])

    def test_a_page_without_sessions_is_refused(self):
        port = self.serve(type("Forgetful", (Page,), {"begins": False}))
        with self.assertRaises(wrk.WrongAnswer):
            self.page.verify(port)


class Wrk(unittest.TestCase):
    def test_no_more_threads_than_connections(self):
        for connections, threads in ((1, "-t1"), (16, "-t2")):
            self.assertIn(threads, wrk.command(80, "/", 1, connections))


if __name__ == "__main__":
    unittest.main()
