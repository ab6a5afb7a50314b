"""The page as text: what is in it, and what must never be."""

import json
import re
import tempfile
import unittest
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

from .. import records
from ..records import Absent, Idle, Run, Sample, Server, Workload
from . import made_up, write
from .library import ROOT

EVIL = "</script><img src=x onerror=alert(1)>'\"&amp;"

RUN = Run("2026-11-27T12:00:00Z", "quick", 1, 1.0, {"cpu": EVIL, "cores": 2}, {"spread": 0.01}, {"version": EVIL})

SAMPLE = Sample(
    "a",
    "w",
    "keep-alive",
    "tank",
    10,
    0,
    1.0,
    1.0,
    100,
    {},
    100.0,
    {"50": 900.0, "99": 1500.0},
    {"php": 90.0},
    {"voluntary": 1.0},
    [[0.0, 20.0]],
)


class Page(HTMLParser):
    """Elements with their attributes, and the texts of scripts, styles and data."""

    def __init__(self, source: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.contents: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(source)

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        self._open.append(name)

    def handle_endtag(self, name):
        while self._open.pop() != name:
            pass

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_data(self, data):
        if self._open:
            self.contents.setdefault(self._open[-1], []).append(data)

    def attributes(self, name: str) -> set[str]:
        return {value for _, found in self.elements for key, value in found.items() if key == name}


def page_of(*found: records.Record) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "raw.jsonl").write_text("".join(map(records.line, found)))
        write(folder / "raw.jsonl", folder / "page.html")
        return (folder / "page.html").read_text()


class WholeRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        invented = made_up.Invented()
        cls.source = page_of(*invented.records())
        cls.page = Page(cls.source)

    def test_sections_are_in_order(self):
        found = [attributes["id"] for name, attributes in self.page.elements if name == "section"]
        expected = [
            "lost",
            "throughput",
            "latency",
            "failures",
            "cpu",
            "memory",
            "switches",
            "saturation",
            "crowds",
            "tools",
            "cells",
            "machine",
            "configurations",
            "repeat",
        ]
        self.assertEqual(found, expected)

    def test_the_file_is_small(self):
        self.assertLess(len(self.source.encode()), 1_500_000)

    def test_nothing_is_asked_of_the_network(self):
        self.assertEqual(self.page.attributes("src"), set())
        self.assertTrue(all(target.startswith("#") for target in self.page.attributes("href")))
        self.assertNotIn("@import", self.source)
        self.assertNotIn("url(", self.source)

    def test_links_lead_to_places_of_the_page(self):
        self.assertLessEqual({target[1:] for target in self.page.attributes("href")}, self.page.attributes("id"))

    def test_the_policy_names_the_script_and_the_style(self):
        policy = next(a["content"] for name, a in self.page.elements if name == "meta" and "http-equiv" in a)
        _, code = self.page.contents["script"]
        for content in (code, *self.page.contents["style"]):
            self.assertIn(f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'", policy)
        self.assertEqual(self.page.attributes("style"), set())

    def test_plots_have_a_value_for_each_place(self):
        data = json.loads(self.page.contents["script"][0])
        self.assertGreater(len(data["plots"]), 40)
        for plot in data["plots"]:
            for line in plot["lines"]:
                self.assertEqual(len(line["values"]), len(plot["x"]), plot["title"])
        numbers = {int(number) for value in self.page.attributes("data-plots") for number in value.split()}
        self.assertEqual(numbers, set(range(len(data["plots"]))))

    def test_keys_of_servers_are_unique(self):
        keys = [server["key"] for server in json.loads(self.page.contents["script"][0])["servers"]]
        self.assertEqual(len(set(keys)), 20)

    def test_configurations_are_told_in_full(self):
        self.assertEqual(self.source.count("MaxClients 150\n" * 40), 20)


class ForeignText(unittest.TestCase):
    def test_names_and_failures_cannot_break_out(self):
        sample = records.from_json({**records.to_json(SAMPLE), "server": EVIL, "failures": {EVIL: 50}, "void": EVIL})
        again = records.from_json({**records.to_json(SAMPLE), "server": EVIL, "clients": 50})
        ramp = records.Ramp(EVIL, "w", EVIL, EVIL, [[0, 1, 1, 1, 0, 1.0, 2.0]], {EVIL: 1}, void=EVIL)
        source = page_of(
            RUN,
            Server(EVIL, EVIL, EVIL, EVIL, {EVIL: EVIL}, [{"setting": EVIL, "per_second": 1.0}]),
            Absent(EVIL, EVIL, EVIL),
            Workload("w", EVIL, EVIL),
            sample,
            again,
            ramp,
            Idle(EVIL, 10, error=EVIL),
        )
        page = Page(source)
        names = [name for name, _ in page.elements]
        self.assertEqual((names.count("script"), names.count("img")), (2, 0))
        handlers = [key for _, attributes in page.elements for key in attributes if key.startswith("on")]
        self.assertEqual(handlers, [])
        data = json.loads(page.contents["script"][0])
        self.assertEqual(data["servers"][0]["title"], EVIL)
        self.assertIn(EVIL, data["plots"][0]["title"])


class PartsOfRuns(unittest.TestCase):
    def test_the_place_of_the_repository_is_not_told(self):
        source = page_of(RUN, Absent("corral", "Corral", f"{ROOT}/target/release/corral (make build)"))
        self.assertIn(">target/release/corral (make build)<", source)
        self.assertNotIn(str(ROOT), source)

    def test_a_run_that_has_only_begun(self):
        self.assertIn("was interrupted", page_of(RUN))

    def test_a_server_that_is_not_described(self):
        source = page_of(RUN, Server("corral-php", "Corral", "corral", "1", {}), SAMPLE)
        self.assertIn(">a</th>", re.sub(r"<span[^>]*>[^<]*</span> ", "", source))

    def test_rounds_without_figures(self):
        failed = Sample("a", "w", "close", "ab", 10, 0, 1.0, error="it did not answer")
        source = page_of(RUN, failed)
        self.assertIn("Rounds that gave no figures", source)
        self.assertIn("void: it did not answer", source)

    def test_a_tool_without_percentiles(self):
        found = records.to_json(SAMPLE) | {"percentiles_us": None, "tool": "siege"}
        self.assertIn("siege: median", page_of(RUN, records.from_json(found)))


if __name__ == "__main__":
    unittest.main()
