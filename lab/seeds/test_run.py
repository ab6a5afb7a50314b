"""Runs against a small server: what makes a cell void, what a resumed run measures, and what interrupts it."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from . import accounts, machine, observe, records, trials, verdict
from .beginning import Refused, check_same
from .fleet import Fleet
from .generators import GENERATORS, Outcome
from .generators.generator import Generator
from .plan import Extra, Plan
from .records import Cell
from .run import Contest
from .sampling import Sampler
from .test_generators import has

ENDLESS = "import os\nwhile os.getppid() == {parent}: pass"


class Trial(unittest.TestCase):
    """A fleet with the small server alone."""

    seconds = 0.4

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.site = trials.site(self.folder)
        self.started = []
        self.fleet = Fleet(self.site, {"small": trials.SmallServer}, self.started.append)
        self.enterContext(self.fleet)
        # Tests run beside each other and beside much else: load of others is what one test alone is about.
        others = mock.patch.object(verdict, "MOST_OTHERS", 10.0)
        self.enterContext(others)

    def sample(self, query: str, tool: str = "tank", clients: int = 4) -> records.Sample:
        workloads = {query: trials.workload(query)}
        sampler = Sampler(self.fleet, workloads, lambda cell: self.seconds, self.folder)
        return sampler.take(Cell("small", query, "keep-alive", tool, clients), 0, 0.0)[0]

    def check_void(self, sample: records.Sample, words: str):
        self.assertTrue((sample.void or sample.error or "").startswith(words), (words, sample.void, sample.error))
        self.assertFalse(verdict.judge([sample]).valid)


@has("tank")
class Voids(Trial):
    def test_a_good_sample_has_all_figures(self):
        sample = self.sample("late=5")
        self.assertIsNone(sample.error)
        self.assertGreater(sample.good, 0)
        self.assertEqual(sample.failures, {})
        self.assertGreaterEqual(sample.percentiles_us["50"], 5000)
        self.assertEqual(list(sample.cpu_us), ["php"])
        self.assertGreater(sample.switches["voluntary"], 0)
        self.assertGreater(sample.memory_mb[0][1], 1)
        self.assertLessEqual(len(sample.memory_mb), observe.MOST_POINTS)

    def test_a_share_of_failures(self):
        sample = self.sample("fail=5")
        self.check_void(sample, "failures: ")
        self.assertEqual(list(sample.failures), ["status 500"])

    def test_a_wrong_body_before_the_run(self):
        self.check_void(self.sample("wrong=1"), "wrong answer before the run: ")

    @has("tank", "wrk")
    def test_a_wrong_body_after_the_run_that_the_generator_does_not_see(self):
        sample = self.sample("spoil=8", "wrk", 2)
        self.assertEqual(sample.failures, {})
        self.check_void(sample, "wrong answer after the run: ")

    def test_a_server_that_dies_is_started_again(self):
        self.check_void(self.sample("die=8"), "server died: exit 3")
        self.assertIsNone(self.sample("late=5").error)
        self.assertEqual(len(self.started), 2)

    def test_a_server_that_does_not_start(self):
        with mock.patch.object(trials.SmallServer, "launch", lambda server: server.spawn("false")):
            self.check_void(self.sample("late=5"), "server died at its start: small: exit 1")

    def test_other_load_is_seen(self):
        hogs = [subprocess.Popen([sys.executable, "-c", ENDLESS.format(parent=os.getpid())]) for _ in range(2)]
        try:
            sample = self.sample("late=5")
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
        self.assertGreater(sample.others, 0.1)
        with mock.patch.object(verdict, "MOST_OTHERS", 0.1):
            self.check_void(sample, "")
            self.assertTrue(verdict.judge([sample]).reasons[0].startswith("other load on the machine: "))

    def test_a_saturated_generator(self):
        with mock.patch.dict(GENERATORS, {"endless": Endless()}):
            self.check_void(self.sample("late=5", "endless"), "generator saturated: endless used ")


class Endless(Generator):
    """A generator that is busy with itself alone."""

    name = "endless"

    def command(self, load, folder):
        busy = f"import time\nend = time.process_time() + {load.seconds}\nwhile time.process_time() < end: pass"
        return [sys.executable, "-S", "-c", busy]

    def parse(self, finished, folder):
        # The processor is shared with whatever runs beside this test.
        object.__setattr__(finished, "elapsed", finished.cpu_seconds)
        return Outcome(100, {}, finished.elapsed, 100 / finished.elapsed)

    def cores(self, load):
        return 1


@has("tank")
class Runs(Trial):
    seconds = 0.2

    def setUp(self):
        super().setUp()
        self.path = self.folder / "run.jsonl"
        queries = ("late=1", "late=2")
        self.workloads = {query: trials.workload(query) for query in queries}
        columns = [[Cell("small", query, "keep-alive", "tank", 2)] for query in queries]
        self.plan = Plan("trial", 2, self.seconds, columns, [])
        self.run_record = records.Run("2026-11-27T12:00:00Z", "trial", 2, self.seconds, machine.facts(), {}, {},
                                      digest=self.plan.digest)  # fmt: skip
        records.append(self.path, self.run_record)

    def measure(self) -> str:
        with contextlib.redirect_stderr(io.StringIO()) as told:
            kinds = {"small": trials.SmallServer}
            Contest(self.plan, self.site, kinds, self.path, records.read(self.path), self.workloads).measure()
        return told.getvalue()

    def interrupt_after(self, n_samples: int):
        whole, n_taken = Sampler.take, 0

        def take(sampler, *arguments):
            nonlocal n_taken
            if n_taken == n_samples:
                raise KeyboardInterrupt
            n_taken += 1
            return whole(sampler, *arguments)

        return mock.patch.object(Sampler, "take", take)

    def test_a_resumed_run_measures_the_rest(self):
        with self.interrupt_after(3), self.assertRaises(KeyboardInterrupt):
            self.measure()
        before = records.read(self.path)
        self.assertEqual((len(before.samples), before.done), (3, None))
        told = self.measure()
        found = records.read(self.path)
        self.assertEqual(found.samples[:3], before.samples)
        self.assertEqual([(sample.workload, sample.round) for sample in found.samples],
                         [("late=1", 0), ("late=2", 0), ("late=1", 1), ("late=2", 1)])  # fmt: skip
        self.assertIn("[4/4, 0 min left]", told)
        self.assertIsNotNone(found.done)
        self.assertEqual([server.server for server in found.servers], ["small"])
        answered = {sample.cell for sample in found.samples if sample.good}
        self.assertEqual({histogram.cell for histogram in found.histograms}, answered)
        for histogram in found.histograms:
            answers = sum(sample.good for sample in found.samples if sample.cell == histogram.cell)
            self.assertEqual(sum(number for _, number in histogram.counts), answers)

    def test_an_interruption_stops_the_servers(self):
        with self.interrupt_after(1), self.assertRaises(KeyboardInterrupt):
            self.measure()
        self.assertNotIn("lab.seeds.misbehaving", _command_lines_of_children())

    def test_a_run_of_another_machine_or_plan_is_refused(self):
        check_same(self.run_record, self.plan)
        with self.assertRaisesRegex(Refused, "other cells than then"):
            check_same(self.run_record, Plan("trial", 3, self.seconds, self.plan.columns, []))
        self.run_record.machine["cpu"] = "Z80"
        with self.assertRaisesRegex(Refused, "cpu: Z80 then"):
            check_same(self.run_record, self.plan)

    def test_what_is_measured_once_is_not_measured_again(self):
        self.plan = Plan("trial", 1, self.seconds, [], [Extra("slow", "small")])
        records.append(self.path, records.Slow("small", 500, 500, 1.0, 1.0))
        self.measure()
        self.assertEqual(len(records.read(self.path).slow), 1)


def _command_lines_of_children() -> str:
    pids = accounts.trees(accounts.processes(), [os.getpid()])
    return " ".join(Path(f"/proc/{pid}/cmdline").read_text() for pid in pids)


if __name__ == "__main__":
    unittest.main()
