"""Ramps are judged by what clients saw; slow clients are held or not; histograms lose no answer."""

import tempfile
import time
import unittest
from pathlib import Path

from . import histogram, ramp, slow, trials
from .generators import GENERATORS, Load
from .ramp import Profile
from .records import Ramp
from .test_generators import has

FAST, SLOW = 20_000, 3_000_000


def judged(*seconds: tuple[int, int, int], relief: int | None = None) -> Ramp:
    """A ramp of seconds with the planned rate, failures and the 99th percentile."""
    rows = [[at, rate, rate, rate - failed, failed, FAST, p99] for at, (rate, failed, p99) in enumerate(seconds)]
    return ramp.judged(Ramp("small", "laravel", "trial", seconds=rows), Profile("trial", "", len(rows), relief))


class Judgement(unittest.TestCase):
    def test_a_ramp_holds_to_the_last_rate_before_it_is_slow(self):
        found = judged((100, 0, FAST), (200, 0, FAST), (300, 0, SLOW), (400, 9, SLOW), (500, 0, FAST))
        self.assertEqual((found.holds_to, found.first_failure_at, found.recovers_after), (200, 400, None))

    def test_a_ramp_that_never_fails(self):
        found = judged((100, 0, FAST), (200, 0, FAST))
        self.assertEqual((found.holds_to, found.first_failure_at), (200, None))

    def test_one_failure_of_thousands_does_not_end_it(self):
        found = judged((2000, 1, FAST), (3000, 4, FAST))
        self.assertEqual((found.holds_to, found.first_failure_at), (2000, 2000))

    def test_recovery_is_counted_from_the_relief(self):
        overload = [(50, 0, FAST), (5000, 900, SLOW)]
        found = judged(*overload, (50, 3, SLOW), (50, 0, SLOW), (50, 0, FAST), (50, 0, FAST), relief=2)
        self.assertEqual(found.recovers_after, 2)
        self.assertEqual(judged(*overload, (50, 0, FAST), relief=2).recovers_after, 0)
        self.assertIsNone(judged(*overload, (50, 0, FAST), (50, 0, SLOW), relief=2).recovers_after)


class Measured(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.server = trials.SmallServer(trials.site(self.folder), self.folder / "small")
        self.addCleanup(self.server.stop)
        self.server.start("x=1")

    def load(self, query: str) -> Load:
        return Load(self.server.url(query), "small.example.com", "keep-alive", 10, 1.0, trials.GREETING)

    @has("tank")
    def test_requests_are_counted_in_the_second_in_which_they_were_due(self):
        profile = Profile("trial", "const(50,1s) const(200,1s)", 2)
        found = ramp.measure(GENERATORS["tank"], "small", "x", self.load("fail=10"), profile, self.folder)
        planned, good, failed = ([row[column] for row in found.seconds] for column in (1, 3, 4))
        self.assertEqual(planned, [50, 200])
        self.assertEqual([sum(counts) for counts in zip(good, failed)], planned)
        self.assertEqual(found.failures, {"status 500": sum(failed)})
        self.assertEqual(found.first_failure_at, 50)
        self.assertFalse((self.folder / "phout.txt").exists())

    @has("tank")
    def test_slow_clients_are_held_beside_others(self):
        found = slow.measure_slow(GENERATORS["tank"], self.server, self.load("x=1"), "/?x=1", 20, self.folder, seconds=1)
        self.assertIsNone(found.error)
        self.assertEqual((found.clients, found.held), (20, 20))
        self.assertGreater(found.others_p99_ms, 0)

    def test_slow_clients_that_are_closed_are_not_held(self):
        with slow.SlowClients(self.server.port, b"GET / HTTP/1.1\r\n" * 100, 5) as clients:
            self.server.stop()
            self.assertEqual(self.eventually(lambda: clients.n_open, 0), 0)

    def eventually(self, of, expected):
        for _ in range(100):
            if of() == expected:
                break
            time.sleep(0.05)
        return of()


class Histograms(unittest.TestCase):
    def test_rounds_are_merged_without_losing_an_answer(self):
        merged, total = [], 0
        for number in range(5):
            times = [[10_000 + 37_000 * at * at, 1 + at % 3] for at in range(number, 3000)]
            total += sum(count for _, count in times)
            merged = histogram.merged(merged, times)
            self.assertLessEqual(len(merged), histogram.MOST_POINTS)
        self.assertEqual(sum(count for _, count in merged), total)
        self.assertEqual(merged, sorted(merged))

    def test_a_merged_histogram_stays_as_it_is(self):
        once = histogram.merged([], [[1000 * at, 1] for at in range(1, 100_000, 7)])
        self.assertEqual(histogram.merged(once, []), once)

    def test_times_are_rounded_up_a_little(self):
        [[end, count]] = histogram.merged([], [[1_234_567, 5]])
        self.assertEqual(count, 5)
        self.assertTrue(1234.5 <= end <= 1234.5 * 1.02, end)


if __name__ == "__main__":
    unittest.main()
