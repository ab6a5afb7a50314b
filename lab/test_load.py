"""The reports of the generators, read right: a misread figure would be a lie in every table."""

import unittest

from . import load
from .summary import Summary
from .workloads import KEEP_ALIVE, LOOP_LENGTH, Point, all_points, quick_points

WRK = """Running 2s test @ http://127.0.0.1:1/hello.php
  2 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     4.27ms    2.22ms  38.66ms   95.32%
    Req/Sec    12.13k     1.15k   14.88k    75.00%
  Latency Distribution
     50%    3.99ms
     75%  900.00us
     90%    5.46ms
     99%    1.02s
  48338 requests in 2.00s, 8.48MB read
"""

AB = """Concurrency Level:      10
Time taken for tests:   2.500 seconds
Complete requests:      5000
Failed requests:        3
   (Connect: 0, Receive: 0, Length: 0, Exceptions: 3)
Non-2xx responses:      7
Requests per second:    2000.00 [#/sec] (mean)
Percentage of the requests served within a certain time (ms)
  50%      4
  66%      4
  99%     12
 100%     19 (longest request)
"""


H2LOAD = """starting benchmark...
spawning thread #0: 10 total client(s). Timing-based test with 0s of warm-up time and 2s of main duration for measurements.

finished in 2.50s, 5065.69 req/s, 5.16MB/s
requests: 20010 total, 20020 started, 20000 done, 19990 succeeded, 10 failed, 10 errored, 0 timeout
status codes: 19990 2xx, 0 3xx, 10 4xx, 0 5xx
"""

S_TIME = """Collecting connection statistics for 2 seconds
tt

2 connections in 0.01s; 200.00 connections/user sec, bytes read 2518
2 connections in 1 real seconds, 1259 bytes read per connection


Now timing with session id reuse.
starting
rrr

3 connections in 0.18s; 1916.67 connections/user sec, bytes read 3777
3 connections in 2 real seconds, 1259 bytes read per connection
"""


class Reports(unittest.TestCase):
    def test_only_resumed_sessions_are_counted(self):
        self.assertEqual(load.parse_s_time(S_TIME), 3)
        for bad in (S_TIME.replace("rrr", "rtr"), S_TIME.replace("1259", "120"), S_TIME.replace("starting", "")):
            with self.assertRaises(load.LoadFailed):
                load.parse_s_time(bad)

    def test_wrk_units(self):
        self.assertEqual(load.parse_wrk(WRK), load.Load(48338, 0, 2.0, 3.99, 1020.0))

    def test_wrk_counts_what_failed(self):
        text = WRK + "  Socket errors: connect 1, read 2, write 0, timeout 4\n  Non-2xx or 3xx responses: 38\n"
        found = load.parse_wrk(text)
        self.assertEqual((found.requests, found.failed), (48345, 45))
        self.assertEqual(found.per_second, 24150.0)

    def test_ab_adds_bad_statuses_to_failures(self):
        found = load.parse_ab(AB)
        self.assertEqual((found.requests, found.failed, found.p99_ms, found.per_second), (5000, 10, 12.0, 1996.0))

    def test_h2load_counts_what_was_done(self):
        found = load.parse_h2load(H2LOAD)
        self.assertEqual((found.requests, found.failed, found.per_second), (20000, 10, 7996.0))

    def test_a_report_without_numbers_is_no_zero(self):
        for parse in (load.parse_wrk, load.parse_ab, load.parse_h2load):
            with self.assertRaises(load.LoadFailed):
                parse("unable to connect to 127.0.0.1:1 Connection refused")


class Points(unittest.TestCase):
    def test_the_loop_is_the_one_of_the_bars(self):
        self.assertEqual(LOOP_LENGTH, 17_890)

    def test_each_work_has_its_scenario(self):
        scenarios = {p.work: p.scenario for p in all_points()}
        for work, scenario in [("1k.txt", "site"), ("routes-regex/last", "routes"), ("tls-rsa-full/1k.txt", "tls"),
                               ("h2/proxied/1k.txt", "h2"), ("proxy/100k.txt", "proxy")]:  # fmt: skip
            self.assertEqual(scenarios[work], scenario)

    def test_a_routed_request_is_for_the_host_of_its_step(self):
        command = load.wrk_command(Point("routes/last", 10, KEEP_ALIVE), "http://127.0.0.1:1", 1)
        self.assertEqual(command[-3:], ["-H", "Host: site-9.example.com", "http://127.0.0.1:1/section-999/page"])

    def test_quick_points_are_among_all(self):
        self.assertLessEqual(set(quick_points()), set(all_points()))


class Medians(unittest.TestCase):
    SAMPLE = {"server": "a", "work": "hello.php", "connections": 10, "mode": KEEP_ALIVE, "requests": 1, "seconds": 1,
              "p50_ms": 1, "p99_ms": 2, "failed": 1, "cpu_us": 3, "memory": 4}  # fmt: skip

    def test_failed_runs_are_told_and_not_averaged(self):
        samples = [{**self.SAMPLE, "per_second": rate} for rate in (10, 30, 20)]
        failed = {"server": "a", "work": "hello.php", "connections": 10, "mode": KEEP_ALIVE, "error": "gone"}
        summary, point = Summary([*samples, failed]), Point("hello.php", 10, KEEP_ALIVE)
        cell = summary.cell(point, "a")
        self.assertEqual((cell.per_second, cell.rounds, cell.failed), (20, 3, 3))
        self.assertEqual(summary.failures_at(point, "a"), ["gone"])


if __name__ == "__main__":
    unittest.main()
