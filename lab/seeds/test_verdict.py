"""A void cell is called void, with the reason; a good one is not."""

import unittest
from dataclasses import replace

from . import records, verdict

GOOD = records.Sample("corral", "phpinfo", "keep-alive", "tank", 100, 0, 1.5, 3.0, 3000, {}, 1000.0, {"50": 900.0, "99": 4000.0},
                      {"front": 20.0, "php": 400.0}, {"voluntary": 2.0, "involuntary": 0.5}, [[0.0, 80.0]], 0.3, 0.0, 0.01)  # fmt: skip


def cell(*rates: float, **changes: object) -> list[records.Sample]:
    return [replace(GOOD, round=number, per_second=rate, **changes) for number, rate in enumerate(rates)]


class Verdicts(unittest.TestCase):
    def check(self, samples: list[records.Sample], *reasons: str) -> None:
        found = verdict.judge(samples)
        self.assertEqual(found.reasons, list(reasons))
        self.assertEqual(found.valid, not reasons)

    def test_steady_rounds_are_valid(self):
        self.check(cell(1000, 990, 1010, 1005, 995))

    def test_two_slow_rounds_of_five_are_dropped(self):
        found = verdict.judge(cell(1000, 400, 1010, 500, 990))
        self.assertEqual((found.valid, found.median, found.article_mean), (True, 990, 1000))

    def test_the_statistic_of_the_article_needs_five_rounds(self):
        self.assertIsNone(verdict.judge(cell(1000, 990, 1010)).article_mean)

    def test_three_slow_rounds_are_a_spread(self):
        self.check(cell(1000, 400, 1010, 500, 600), "spread of the rounds: 41 %")

    def test_failures_count_in_every_round(self):
        samples = cell(1000, 990, 1010)
        samples[1].failures = {"status 502": 4, "timeout": 8}
        self.check(samples, "failures: 0.1 % (timeout, status 502)")
        samples[1].failures = {"status 502": 8}
        self.check(samples)

    def test_only_failures_are_no_figures(self):
        self.check(cell(0, 0, good=0), "no figures: no request was answered")

    def test_a_saturated_generator_voids_if_that_is_usual(self):
        samples = cell(1000, 990, 1010)
        samples[0].void = "generator saturated: ab used 0.95 of the 1 cores that it can use"
        self.check(samples)
        samples[2].void = samples[0].void
        self.check(samples, samples[0].void)

    def test_one_wrong_answer_voids(self):
        samples = cell(1000, 990, 1010, 1020, 1015)
        samples[1].void = "wrong answer after the run: 39 bytes"
        self.check(samples, samples[1].void)

    def test_other_load_and_stolen_time_void_if_kept(self):
        samples = cell(1000, 500, 1010)
        samples[1].others = samples[1].stolen = 0.4
        self.check(samples)
        samples[2].others, samples[2].stolen = 0.104, 0.06
        self.check(samples, "other load on the machine: 10 %", "stolen time: 6.0 %")

    def test_a_death_voids(self):
        samples = cell(1000, 990)
        gone = records.Sample("corral", "phpinfo", "keep-alive", "tank", 100, 2, 9.0, error="server died: exit 3")
        self.check([*samples, gone], "server died: exit 3")
        self.check([gone], "server died: exit 3")
        self.check([], "no figures: not measured")


if __name__ == "__main__":
    unittest.main()
