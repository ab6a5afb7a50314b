"""The page in a browser, where there is one: Chromium, driven by the packages of the dashboard's tests."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from . import made_up, write
from .library import ROOT

TRIAL = Path(__file__).with_name("browser") / "trial.mjs"

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")


@unittest.skipUnless(CHROMIUM and shutil.which("node"), "no Chromium, or no Node.js")
class Browser(unittest.TestCase):
    def test_the_page_works_as_its_readers_need_it(self):
        subprocess.run([ROOT / "scripts" / "build-ui", "tests"], check=True, capture_output=True)
        with tempfile.TemporaryDirectory() as name:
            raw = made_up.write(Path(name) / "raw.jsonl", servers=5, rounds=2)
            page = Path(name) / "page.html"
            write(raw, page)
            environment = {**os.environ, "CHROMIUM": CHROMIUM}
            trial = subprocess.run(["node", TRIAL, page], check=False, capture_output=True, text=True, env=environment)
        self.assertEqual(trial.returncode, 0, trial.stderr)


if __name__ == "__main__":
    unittest.main()
