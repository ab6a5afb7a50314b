"""Each generator against a real server that fails as it is told: what it reports, and what it cannot see."""

import contextlib
import os
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from ..load import LoadFailed
from . import trials
from .generators import GENERATORS, Load
from .generators.process import Hung, run


def has(*names: str):
    """Skips a test where a generator is not installed."""
    missing = [reason for name in names if (reason := GENERATORS[name].missing())]
    return unittest.skipIf(missing, "; ".join(missing))


class Generators(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.server = trials.SmallServer(trials.site(cls.folder), cls.folder / "small")
        cls.addClassCleanup(cls.server.stop)
        cls.server.start("x=1")

    def ask(self, tool: str, query: str, **changes: object):
        load = Load(self.server.url(query), "small.example.com", "keep-alive", 10, 1.0, trials.GREETING)
        return GENERATORS[tool].run(replace(load, **changes), self.folder)

    def ask_patiently(self, tool: str, query: str):
        """A generator that hung is started again."""
        for _ in range(GENERATORS[tool].attempts - 1):
            with contextlib.suppress(Hung):
                return self.ask(tool, query)
        return self.ask(tool, query)

    def check_share(self, outcome, kind: str):
        """One of ten failed."""
        self.assertEqual(list(outcome.failures), [kind])
        self.assertAlmostEqual(outcome.failures[kind] / (outcome.good + outcome.failures[kind]), 0.1, delta=0.02)

    @has("tank")
    def test_tank_names_statuses_and_wrong_bodies(self):
        self.check_share(self.ask("tank", "fail=10"), "status 500")
        outcome = self.ask("tank", "wrong=1", transport="close")
        self.assertEqual((outcome.good, list(outcome.failures), outcome.percentiles_us), (0, ["body"], None))

    @has("tank")
    def test_tank_tells_percentiles_and_a_histogram(self):
        outcome = self.ask("tank", "late=20")
        self.assertGreaterEqual(outcome.percentiles_us["50"], 20_000)
        self.assertGreaterEqual(outcome.percentiles_us["100"], outcome.percentiles_us["99.9"])
        self.assertEqual(sum(number for _, number in outcome.histogram), outcome.good)

    @has("ab")
    def test_ab_counts_statuses_and_tells_percentiles(self):
        outcome = self.ask("ab", "fail=10&late=2", transport="close")
        self.check_share(outcome, "status not 2xx")
        self.assertGreaterEqual(outcome.percentiles_us["50"], 2000)

    @has("siege")
    def test_siege_counts_statuses_and_tells_no_percentiles(self):
        outcome = self.ask_patiently("siege", "fail=10")
        self.check_share(outcome, "status from 400 on, or connection")
        self.assertIsNone(outcome.percentiles_us)

    @has("wrk")
    def test_wrk_counts_statuses_and_tells_percentiles(self):
        outcome = self.ask("wrk", "fail=10&late=5", transport="close")
        self.check_share(outcome, "status not 2xx or 3xx")
        self.assertGreaterEqual(outcome.percentiles_us["50"], 5000)

    @has("ab", "wrk")
    def test_wrong_bodies_are_not_seen_by_the_articles_tools(self):
        for tool in ("ab", "wrk"):
            self.assertEqual(self.ask(tool, "wrong=1").failures, {})

    @has("wrk")
    def test_no_report_is_a_failed_run(self):
        with self.assertRaises(LoadFailed):
            self.ask("wrk", "", url="http://127.0.0.1:1/")


class Processes(unittest.TestCase):
    def test_a_busy_thread_is_seen(self):
        found = run(["python3", "-c", "import time\nend = time.monotonic() + 0.7\nwhile time.monotonic() < end: pass"], 20)
        self.assertEqual(found.status, 0)
        self.assertGreater(found.busiest, 0.5)

    def test_an_idle_thread_is_seen(self):
        found = run(["sleep", "0.5"], 20)
        self.assertLess(found.busiest, 0.5)

    def test_a_command_that_does_not_end_is_a_failed_run(self):
        with self.assertRaises(Hung):
            run(["sleep", "60"], 0.3)
        self.assertRaises(ChildProcessError, os.waitpid, -1, os.WNOHANG)


if __name__ == "__main__":
    unittest.main()
