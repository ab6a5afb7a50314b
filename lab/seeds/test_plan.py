"""Plans fit into their time with any set of servers, measure each workload, and tell the time that is left."""

import io
import unittest

from . import plan, plans, progress
from .plan import HOUR, Offer
from .ramp import RAMP_SECONDS
from .servers import SERVERS
from .workloads import WORKLOADS

ALL = [
    Offer(kind.name, frozenset(WORKLOADS), kind.transports,
          kind.name in plans.TELLING or kind.family not in plans.USUAL_FAMILIES, len(kind.candidates()))
    for kind in SERVERS
]
USUAL = [offer for offer, kind in zip(ALL, SERVERS, strict=True) if kind.family in plans.USUAL_FAMILIES]
FILES_ONLY = Offer("varnish-like", frozenset({"file-1k"}), frozenset({"keep-alive"}), False)


class Plans(unittest.TestCase):
    def test_they_fit_into_their_time(self):
        for offers in (ALL, USUAL, ALL[:5], [FILES_ONLY]):
            self.assertLessEqual(plans.full(offers, RAMP_SECONDS).time, 3 * HOUR)
        for offers in (ALL, USUAL, ALL[:5]):
            self.assertLessEqual(plans.quick(offers, RAMP_SECONDS).time, 20 * 60)

    def test_every_server_has_every_workload_that_it_serves(self):
        cells = plans.full([*ALL, FILES_ONLY], RAMP_SECONDS).cells
        for offer in (*ALL, FILES_ONLY):
            self.assertEqual({cell.workload for cell in cells if cell.server == offer.server}, offer.serves)

    def test_telling_servers_are_there_and_have_all_levels(self):
        self.assertLessEqual(set(plans.TELLING) | set(plans.WITH_OWNERS), {kind.name for kind in SERVERS})
        cells = plans.full(ALL, RAMP_SECONDS).cells
        for server in plans.TELLING:
            levels = {cell.clients for cell in cells if (cell.server, cell.workload) == (server, "echoes")}
            self.assertEqual(levels, set(plans.LEVELS))

    def test_no_cell_is_measured_twice(self):
        for make in plans.PLANS.values():
            cells = make(ALL, RAMP_SECONDS).cells
            self.assertEqual(len(cells), len(set(cells)))

    def test_transports_are_those_of_the_server(self):
        offered = {offer.server: offer.transports for offer in ALL}
        for cell in plans.full(ALL, RAMP_SECONDS).cells:
            self.assertIn(cell.transport, offered[cell.server])

    def test_fewer_servers_have_longer_samples(self):
        few, all_of_them = plans.full(ALL[:2], RAMP_SECONDS), plans.full(ALL, RAMP_SECONDS)
        self.assertGreater(few.seconds, all_of_them.seconds)

    def test_servers_that_tell_less_have_fewer_rounds(self):
        whole = plans.full(USUAL, RAMP_SECONDS)
        rounds = {cell.server: whole.rounds_of(cell) for cell in whole.cells}
        self.assertEqual((rounds["corral-php"], rounds["apache-worker-fpm"]), (5, 3))
        self.assertEqual(whole.n_samples, sum(rounds[cell.server] for cell in whole.cells))

    def test_a_part_has_the_names_that_are_asked_for(self):
        part = plans.full(ALL, RAMP_SECONDS).only(["corral-php/echoes", "ramp/corral-php/mysql/stress"])
        self.assertEqual({(cell.server, cell.workload) for cell in part.cells}, {("corral-php", "echoes")})
        self.assertEqual([extra.name for extra in part.extras], ["ramp/corral-php/mysql/stress"])
        self.assertNotEqual(part.digest, plans.full(ALL, RAMP_SECONDS).digest)

    def test_the_plan_prints_its_columns_and_its_time(self):
        text = plans.quick(ALL, RAMP_SECONDS).text()
        self.assertRegex(text, r"quick: \d+ cells, \d+ samples of \d s, \d+ min")
        self.assertIn("echoes, close, 100 clients, siege", text)

    def test_times_are_told_in_words(self):
        self.assertEqual([plan.words(seconds) for seconds in (20, 90 * 60, 3 * HOUR)], ["0 min", "1 h 30 min", "3 h 00 min"])


class TimeLeft(unittest.TestCase):
    def test_it_follows_the_pace(self):
        now, out = 0.0, io.StringIO()
        shown = progress.Progress(4, 400, out, lambda: now)
        shown.skip(100)
        self.assertEqual(shown.time_left, 300)
        now = 150.0
        shown.step("a", "done", 100)
        self.assertEqual(shown.time_left, 300)
        self.assertIn("[2/4, 5 min left] a  done", out.getvalue())


if __name__ == "__main__":
    unittest.main()
