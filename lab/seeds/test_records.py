"""Records come back as they were written, whatever happened to the file."""

import tempfile
import unittest
from pathlib import Path

from . import records

SAMPLE = records.Sample("corral", "phpinfo", "keep-alive", "tank", 100, 0, 1.5, 3.0, 3000, {}, 1000.0, {"50": 900.0, "99": 4000.0},
                      {"front": 20.0, "php": 400.0}, {"voluntary": 2.0, "involuntary": 0.5}, [[0.0, 80.0]], 0.3, 0.0, 0.01)  # fmt: skip


class RecordFiles(unittest.TestCase):
    RUN = records.Run("2026-11-27T12:00:00Z", "quick", 3, 1.0, {"cores": 2}, {"spread": 0.02}, {"version": "1"})

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "run.jsonl"

    def test_records_come_back_as_they_were(self):
        cell = ("corral", "phpinfo", "keep-alive", "tank", 100)
        written = [
            self.RUN,
            records.Server("corral", "Corral", "corral", "1", {"a.json": "{}"}, [{"setting": "x", "chosen": True}]),
            records.Absent("unit", "NGINX Unit", "LAB_UNITD=/path"),
            records.Generator("ab", "2.3", "Counts."),
            records.Workload("phpinfo", "phpinfo()", "<?php"),
            SAMPLE,
            records.Sample(*cell, 1, 9.0, error="server died: exit 3"),
            records.Histogram(*cell, [[10.0, 2], [100.0, 1]]),
            records.Ramp("corral", "mysql", "stress", "const(50,5s)", [[0, 50, 50, 50, 0, 900.0, 2000.0]], {}, 50.0),
            records.Idle("corral", 10_000, 4.5, 1.0, 1.1),
            records.Slow("corral", 500, error="refused"),
            records.Sites("corral", 50, 900.0, 300.0),
            records.Done(99.5),
        ]
        for record in written:
            records.append(self.path, record)
        found = records.read(self.path)
        self.assertEqual(found.samples, [SAMPLE, written[6]])
        self.assertEqual(found.cells().keys(), {records.Cell(*cell)})
        self.assertCountEqual(map(records.line, found.all()), map(records.line, written))

    def test_the_last_histogram_of_a_cell_counts(self):
        cell = ("corral", "phpinfo", "keep-alive", "tank", 100)
        for record in (self.RUN, records.Histogram(*cell, [[10, 2]]), records.Histogram(*cell, [[10, 5]])):
            records.append(self.path, record)
        records.compact(self.path)
        self.assertEqual(self.path.read_text().count("histogram"), 1)
        self.assertEqual(records.read(self.path).histograms[0].counts, [[10, 5]])

    def test_an_interrupted_line_is_left_out(self):
        records.append(self.path, self.RUN)
        records.append(self.path, SAMPLE)
        with self.path.open("a") as file:
            file.write(records.line(SAMPLE)[:50])
        self.assertEqual(len(records.read(self.path).samples), 1)

    def test_a_file_of_something_else_is_refused(self):
        for text in ("", "{}\n", "[]\n", "not JSON\n", records.line(SAMPLE)):
            self.path.write_text(text)
            with self.assertRaises(records.BrokenRecords):
                records.read(self.path)


if __name__ == "__main__":
    unittest.main()
