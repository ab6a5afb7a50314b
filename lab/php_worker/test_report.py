"""Judging worker mode: the figures to compare with, and invalid results."""

import unittest

from . import report
from .contenders import escaped

SAMPLE = {"round": 0, "connections": 100, "mode": "keep-alive", "requests": 10, "seconds": 1, "per_second": 10,
          "cpu_us": 1, "front_us": 0, "p50_ms": 1, "p99_ms": 2, "failed": 0, "memory": 0}  # fmt: skip


def outcome(work: str, *samples: tuple[str, dict]) -> dict:
    found = [{**SAMPLE, "work": work, "server": server, **more} for server, more in samples]
    return {"samples": found, "versions": {}, "absent": {}, "refused": {}}


def judged(found: dict, promise: str, floor_us: tuple[float, ...] = ()) -> tuple[str, bool | None]:
    verdict = next(v for v in report.judge(found, list(floor_us)) if promise in v.promise)
    return verdict.measured, verdict.passed


class Bars(unittest.TestCase):
    def test_hello_is_compared_with_its_floor_and_the_router(self):
        found = outcome("hello: echo", ("corral worker", {"cpu_us": 13, "front_us": 9.5}))
        self.assertEqual(judged(found, "own loop", (0.4, 0.5, 0.6)), ("1.30x", True))
        self.assertEqual(judged(found, "own loop", (0.1,)), ("1.35x", False))
        self.assertEqual(judged(found, "own loop"), ("-", None))

    def test_laravel_is_compared_with_php_fpm(self):
        found = outcome("laravel: JSON", ("corral worker", {"per_second": 410}), ("nginx+fpm", {"per_second": 100}))
        self.assertEqual(judged(found, "nginx+fpm"), ("4.10x", True))
        self.assertEqual(judged(outcome("laravel: JSON", ("corral worker", {})), "nginx+fpm"), ("-", None))

    def test_the_guard_is_judged_round_by_round(self):
        rounds = [(100, 100), (204, 200), (300, 50)]
        samples = [(server, {"round": number, "cpu_us": cpu}) for number, pair in enumerate(rounds)
                   for server, cpu in zip(("corral worker", "corral worker, guard off"), pair, strict=True)]  # fmt: skip
        measured, passed = judged(outcome("laravel: JSON", *samples), "guard off")
        self.assertEqual((measured, passed), ("1.02x (1.00 to 6.00)", True))

    def test_a_round_that_failed_is_not_compared(self):
        found = outcome("hello: echo", ("corral worker", {}), ("corral worker, guard off", {"error": "gone"}))
        self.assertEqual(judged(found, "guard off"), ("-", None))

    def test_failures_of_corral_are_told(self):
        failed = outcome("lumen: JSON", ("corral classic", {"failed": 2}), ("nginx+fpm", {"failed": 9}))
        self.assertEqual(report.none_failed("lumen", failed).measured, "2 requests, 0 runs")
        refused = outcome("lumen: JSON") | {"refused": {"corral worker": "wrong answer"}}
        self.assertFalse(report.none_failed("lumen", refused).passed)
        self.assertIsNone(report.none_failed("lumen", outcome("lumen: JSON")).passed)

    def test_the_report_tells_routers_and_workers_apart(self):
        machine = {"cpu": "a", "cores": 2, "kernel": "6", "load_before": 0.0}
        found = outcome("hello: echo", ("corral worker", {"cpu_us": 13.5, "front_us": 9.25}))
        run = {"machine": machine, "started": "now", "rounds": 1, "seconds": 1, "php_workers": 8, "floor_us": [0.5],
               "contests": {"hello": found | {"absent": {"nginx+fpm": "nginx"}}}}  # fmt: skip
        text = report.text(run)
        self.assertRegex(text, r"corral worker .* 13\.5 .* 9\.2 .* 4\.2 ")
        self.assertIn("NOT MEASURED: missing nginx", text)


class Quotes(unittest.TestCase):
    def test_backslashes_of_classes(self):
        self.assertEqual(escaped('App\\A "b"'), 'App\\\\A \\"b\\"')


if __name__ == "__main__":
    unittest.main()
