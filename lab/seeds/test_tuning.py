"""The choice among candidates, and the crowd that each has to answer."""

import http.server
import threading
import unittest

from . import crowd
from .servers import SERVERS
from .tuning import best, join


def row(per_second: float, fault: str | None = None, points: int = 3) -> dict:
    return {"per_second": per_second, "cpu_us": 10.0, "fault": fault, "points": points, "runs": 1, "chosen": False}


class Choosing(unittest.TestCase):
    def check(self, rows: list[dict], expected: int) -> None:
        self.assertIs(best(rows), rows[expected])

    def test_the_fastest_one_without_a_fault_is_the_best(self):
        self.check([row(100), row(300, "2 of 1000 clients had no answer"), row(200)], 2)

    def test_if_all_have_faults_the_one_that_went_farthest_is_the_best(self):
        self.check([row(900, "mysql failed", 1), row(100, "some had no answer", 3), row(80, "some had no answer", 3)], 1)

    def test_a_lucky_moment_does_not_last(self):
        rows = [row(100), row(900), row(200)]
        join(rows[1], row(1))
        self.assertEqual((round(rows[1]["per_second"]), rows[1]["runs"]), (30, 2))
        self.check(rows, 2)

    def test_a_fault_in_a_further_run_counts(self):
        rows = [row(100), row(200)]
        join(rows[1], row(0, "it died", 0))
        self.check(rows, 0)


class Candidates(unittest.TestCase):
    def test_candidates_change_settings_that_their_servers_have(self):
        for kind in SERVERS:
            for settings in kind.candidates():
                self.assertLessEqual(set(settings), set(kind.defaults), kind.name)
                self.assertTrue(settings == {} or kind.in_words(settings))

    def test_names_and_titles_are_told_apart(self):
        for names in ([kind.name for kind in SERVERS], [kind.title for kind in SERVERS]):
            self.assertEqual(len(names), len(set(names)))


class OneAtATime(http.server.BaseHTTPRequestHandler):
    """One connection is served until its end, and the others wait, as with a single process of Apache prefork."""

    protocol_version = "HTTP/1.1"
    closes = False

    def do_GET(self) -> None:
        self.close_connection = self.closes
        self.send_response(200)
        self.send_header("Content-Length", "0")
        if self.closes:
            self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


class Closing(OneAtATime):
    closes = True


class Crowd(unittest.TestCase):
    def check(self, handler: type[OneAtATime], unanswered: int) -> None:
        with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            found = crowd.n_unanswered(server.server_port, "localhost", "/", clients=5, patience=1.0)
            server.shutdown()
        self.assertEqual(found, unanswered)

    def test_clients_that_wait_for_the_end_of_a_connection_are_seen(self):
        self.check(OneAtATime, 4)

    def test_all_are_answered_where_connections_end(self):
        self.check(Closing, 0)


if __name__ == "__main__":
    unittest.main()
