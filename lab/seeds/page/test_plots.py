"""Figures of plots, their axes, and the plots of documents."""

import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

from ..records import Ramp, Records, Run
from . import filling, made_up, publish, vector
from .palette import COLOURS, Style
from .plot import Line, Plot
from .results import Results
from .scale import Scale
from .sections import latency, saturation
from .units import rounded

SVG = "{http://www.w3.org/2000/svg}"
RUN = Run("2026-11-27T12:00:00Z", "full", 3, 1.0, {}, {}, {})


class Percentiles(unittest.TestCase):
    def test_places_of_a_histogram(self):
        counts = [[float(us), 10] for us in range(1000, 101_000, 1000)]
        found = latency.percentiles(counts)
        at = dict(zip(latency.GRID, found, strict=True))
        self.assertEqual((at[1], at[10], at[100]), (1, 90, 99))
        # Ten of a thousand answers are left at 99 %; nothing is told beyond.
        self.assertTrue(all(value is None for place, value in at.items() if place > 100))


class Ramps(unittest.TestCase):
    def test_the_axis_is_the_rate_where_that_only_grows(self):
        rows = [[0, 10, 10, 10, 0, 1.0, 2000.0], [1, 20, 20, 18, 2, 1.0, None], [2, 20, 20, 20, 0, 1.0, 4000.0]]
        found = Results(Records(RUN, ramps=[Ramp("a", "w", "standard", "", rows, void="generator saturated")]))
        good = next(saturation.plots(found, saturation.GOOD_ANSWERS))
        self.assertEqual(
            (good.x, good.lines[0].values, good.lines[0].void), ([10, 20], [10, 19], {1: "generator saturated"})
        )
        self.assertEqual(next(saturation.plots(found, saturation.TAIL)).lines[0].values, [2, 4])

    def test_the_axis_is_the_time_elsewhere(self):
        rows = [[0, 10, 10, 10, 0, 1.0, 2.0], [1, 90, 90, 30, 60, 1.0, 2.0], [2, 10, 10, 10, 0, 1.0, 2.0]]
        found = Results(Records(RUN, ramps=[Ramp("a", "w", "stress", "", rows)]))
        failed = next(saturation.plots(found, saturation.FAILED_REQUESTS))
        self.assertEqual((failed.x, failed.lines[0].values), ([0, 1, 2], [0, 60, 0]))


class Scales(unittest.TestCase):
    def test_ticks_are_round(self):
        self.assertEqual(Scale(0, 5300, 0, 1).ticks(), [0, 1000, 2000, 3000, 4000, 5000])
        self.assertEqual(Scale(8, 130, 0, 1, is_log=True).ticks(), [10, 20, 50, 100])

    def test_logarithms_have_the_same_distance(self):
        scale = Scale(10, 1000, 0, 100, is_log=True)
        self.assertAlmostEqual(scale.place(100), 50)


class Drawings(unittest.TestCase):
    PLOT = Plot(
        "<Work>", "clients", "count", "answers", "rate", [10, 100], [Line("a", [5, 6], {1: "failures"})], x_log=True
    )

    def test_void_points_are_hollow(self):
        svg = ElementTree.fromstring(
            vector.drawn(self.PLOT, {"a": Style("A1", "nginx", [8, 4])}, {"a": "A & B"}, vector.DARK)
        )
        fills = [circle.get("fill") for circle in svg.iter(f"{SVG}circle")]
        self.assertEqual(fills, [COLOURS["nginx"][1], vector.DARK.ground])
        texts = [text.text for text in svg.iter(f"{SVG}text")]
        self.assertIn("<Work>", texts)
        self.assertIn("A & B 6.00", texts)

    def test_short_numbers(self):
        self.assertEqual(self.PLOT.data({"a": 3})["lines"], [{"server": 3, "values": [5, 6], "void": {1: "failures"}}])
        self.assertEqual(rounded(1234.567), 1235)


class Documents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.raw = made_up.write(self.folder / "raw.jsonl", servers=5, rounds=1)
        self.document = self.folder / "README.md"

    def publish(self) -> str:
        publish(self.raw, self.folder / "run.html", self.folder / "images", [self.document])
        return self.document.read_text()

    def test_two_pictures_in_two_themes(self):
        self.document.write_text(f"# A\n\n{filling.BEGIN}\n{filling.END}\n\nB\n")
        told = self.publish()
        self.assertTrue(told.startswith("# A\n\n<!-- seeds -->\n\n<picture>"))
        self.assertTrue(told.endswith("<!-- end of seeds -->\n\nB\n"))
        files = sorted((self.folder / "images").iterdir())
        self.assertEqual(
            [file.name for file in files],
            [f"seeds-{name}-{theme}.svg" for name in ("saturation", "throughput") for theme in ("dark", "light")],
        )
        for file in files:
            self.assertLess(file.stat().st_size, 40_000)
            self.assertIn(f"images/{file.name}", told)
            self.assertGreater(len(list(ElementTree.parse(file).iter(f"{SVG}text"))), 10)

    def test_filling_twice_changes_nothing(self):
        self.document.write_text(f"{filling.BEGIN}{filling.END}")
        self.assertEqual(self.publish(), self.publish())

    def test_a_document_without_marks_is_refused(self):
        self.document.write_text("# A\n")
        with self.assertRaises(filling.NoPlace):
            self.publish()

    def test_without_ramps_latency_is_shown(self):
        lines = [line for line in self.raw.read_text().splitlines() if '"ramp"' not in line]
        self.raw.write_text("\n".join([*lines, ""]))
        self.document.write_text(f"{filling.BEGIN}{filling.END}")
        self.assertIn("seeds-latency-light.svg", self.publish())


if __name__ == "__main__":
    unittest.main()
