"""Losses of Corral, and the three sentences about a run."""

import unittest
from collections.abc import Iterator

from ..records import Records, Run, Sample, Server, Workload
from . import losses, made_up, opening
from .results import Results

RUN = Run("2026-11-27T12:00:00Z", "full", 3, 1.0, {"cores": 2}, {"spread": 0.02}, {})


def samples(
    server: str, rates: list[float], cpu: dict[str, float], p99_us: float = 1000, **more: object
) -> Iterator[Sample]:
    for number, rate in enumerate(rates):
        yield Sample(
            server, "w", "keep-alive", "tank", 10, number, number, 1.0, 1000, {}, rate, {"99": p99_us}, cpu, **more
        )


def results(*found: Iterator[Sample]) -> Results:
    servers = [
        Server("corral-worker", "Corral, worker", "corral", "1", {}),
        Server("corral-php", "Corral", "corral", "1", {}),
        Server("a", "A", "nginx", "1", {}),
        Server("b", "B", "apache", "1", {}),
    ]
    return Results(
        Records(RUN, servers, workloads=[Workload("w", "Work", "")], samples=[s for each in found for s in each])
    )


def lost(found: Results) -> list[tuple[str, str, float, bool]]:
    rows = losses.lost(losses.comparisons(found, found.own[0]))
    return [(row.measure.name, row.rival.server, round(row.ratio, 2), row.is_sure) for row in rows]


class Losses(unittest.TestCase):
    def test_the_largest_is_first(self):
        own = samples("corral-php", [100, 100, 100], {"front": 10, "php": 10}, 1000)
        found = results(
            own, samples("a", [120, 120, 120], {"php": 40}, 500), samples("b", [110, 110, 110], {"php": 10}, 4000)
        )
        expected = [
            ("processor time", "b", 2.0, True),
            ("99th percentile", "a", 2.0, True),
            ("requests a second", "a", 1.2, True),
        ]
        self.assertEqual(lost(found), expected)

    def test_rivals_that_are_void_do_not_count(self):
        own = samples("corral-php", [100] * 3, {"php": 20})
        found = results(own, samples("a", [900] * 3, {"php": 1}, void="generator saturated"))
        self.assertEqual(losses.comparisons(found, "corral-php"), [])

    def test_void_cells_of_corral_do_not_count(self):
        own = samples("corral-php", [100] * 3, {"php": 20}, others=0.5)
        self.assertEqual(lost(results(own, samples("a", [900] * 3, {"php": 1}))), [])

    def test_another_way_to_run_corral_is_not_a_rival(self):
        found = results(samples("corral-php", [100] * 3, {}), samples("corral-worker", [900] * 3, {}))
        self.assertEqual(lost(found), [])
        self.assertEqual(found.own, ["corral-php", "corral-worker"])

    def test_the_database_is_not_the_server(self):
        own = samples("corral-php", [100] * 3, {"php": 20, "database": 900})
        found = results(own, samples("a", [100] * 3, {"php": 21, "database": 10}))
        self.assertEqual(lost(found), [])

    def test_rounds_that_overlap_are_told(self):
        found = results(samples("corral-php", [100, 101, 104], {}), samples("a", [103, 105, 106], {}))
        self.assertEqual(lost(found), [("requests a second", "a", 1.04, False)])


class Sentences(unittest.TestCase):
    def test_they_are_short(self):
        with_all = Results(list_of(made_up.Invented(rounds=2)))
        for sentence in opening.sentences(with_all):
            self.assertLessEqual(len(sentence.split()), 35, sentence)

    def test_they_count(self):
        found = results(samples("corral-php", [100] * 3, {"php": 20}), samples("a", [50] * 3, {"php": 10}))
        won, rivals, void = opening.sentences(found)
        self.assertIn("under 1 of 1 loads; in the median it makes 2.00 times", won)
        self.assertIn("0 loads in requests a second, 1 in processor time", rivals)
        self.assertIn("A: 2.00 times (w, processor time)", rivals)
        self.assertIn("0 are void", void)

    def test_without_corral(self):
        found = Results(Records(RUN, samples=list(samples("a", [50], {}))))
        self.assertIn("not measured", opening.sentences(found)[0])


def list_of(invented: made_up.Invented) -> Records:
    """The same as a file that is read."""
    found = Records(RUN)
    for record in invented.records():
        if isinstance(record, Server):
            found.servers.append(record)
        elif isinstance(record, Workload):
            found.workloads.append(record)
        elif isinstance(record, Sample):
            found.samples.append(record)
    return found


if __name__ == "__main__":
    unittest.main()
