"""Judging: the best peer, and invalid results."""

import unittest

from . import contests, report, workloads

SAMPLE = {"work": "python-wsgi: hello", "connections": 100, "mode": "keep-alive", "requests": 10, "seconds": 1,
          "p50_ms": 1, "p99_ms": 2, "failed": 0, "memory": 0}  # fmt: skip


def outcome(**rates: tuple[float, float]) -> dict:
    """Requests per second and microseconds of processor time of each server."""
    samples = [{**SAMPLE, "server": name.replace("_", " "), "per_second": rate, "cpu_us": cpu}
               for name, (rate, cpu) in rates.items()]
    return {"samples": samples, "worker_memory": {}, "versions": {}, "absent": {}, "refused": {}}


class Bars(unittest.TestCase):
    def contest(self, name: str) -> contests.Contest:
        return contests.chosen([name])[0]

    def test_the_best_peer_counts(self):
        found = outcome(corral=(1300, 1), gunicorn_sync=(100, 1), granian=(1000, 9))
        verdict, none_failed = report.judge(self.contest("wsgi"), found)
        self.assertEqual((verdict.measured, verdict.passed), ("1.30x granian", True))
        self.assertTrue(none_failed.passed)

    def test_programs_are_judged_by_processor_time_and_not_against_themselves(self):
        found = outcome(corral=(10, 50), nginx=(1000, 55), alone=(9999, 1))
        verdict = report.judge(self.contest("node"), found)[0]
        self.assertEqual((verdict.measured, verdict.passed), ("1.10x nginx", False))

    def test_what_was_not_measured_is_no_pass(self):
        self.assertIsNone(report.judge(self.contest("wsgi"), outcome(corral=(1, 1)))[0].passed)
        self.assertIsNone(report.judge(self.contest("wsgi"), outcome())[0].passed)

    def test_a_failed_request_is_told(self):
        found = outcome(corral=(1300, 1), granian=(1, 1))
        found["samples"][0]["failed"] = 2
        self.assertFalse(report.judge(self.contest("wsgi"), found)[1].passed)

    def test_the_report_tells_who_is_missing(self):
        machine = {"cpu": "a", "cores": 2, "kernel": "6", "load_before": 0.0}
        run = {"machine": machine, "started": "now", "rounds": 1, "seconds": 1, "workers": 4, "threads": 1,
               "contests": {"python-wsgi": outcome(corral=(2, 1), granian=(1, 1)) | {"absent": {"uwsgi": "all of it"}}}}  # fmt: skip
        text = report.text(run)
        self.assertIn("NOT MEASURED: missing all of it", text)
        self.assertIn("2.00x granian", text)


class Workloads(unittest.TestCase):
    def test_sizes(self):
        sizes = {work.name: (len(work.body), len(work.answer)) for work in workloads.WORKLOADS}
        self.assertEqual(sizes["16 KB JSON"], (0, 16384))
        self.assertEqual(sizes["64 KB POST"], (65536, 5))


if __name__ == "__main__":
    unittest.main()
