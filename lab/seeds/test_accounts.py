"""Processor time is neither lost nor counted twice when processes end, and reaches the role that used it."""

import os
import subprocess
import sys
import time
import unittest

from . import accounts
from .accounts import Fine, Process

FRONT, PHP = 10, 11
ROLES = {FRONT: "front", PHP: "php"}


def cpu(own_of_front: float, reaped: float, own_of_php: float) -> dict[str, float]:
    table = {FRONT: Process(1, 0, reaped, False), PHP: Process(FRONT, 0, 0, False)}
    fine = {FRONT: Fine(own_of_front), PHP: Fine(own_of_php)}
    return accounts.cpu_by_role(table, fine, ROLES.get)


class Roles(unittest.TestCase):
    def test_time_of_ended_children_goes_to_the_role_of_those_that_go_on(self):
        self.assertEqual(cpu(2.0, 5.0, 1.0), {"front": 2.0, "php": 6.0})

    def test_time_of_ended_children_stays_with_a_parent_that_has_none_left(self):
        table = {FRONT: Process(1, 0, 5.0, False)}
        self.assertEqual(accounts.cpu_by_role(table, {FRONT: Fine(2.0)}, ROLES.get), {"front": 7.0})


class Others(unittest.TestCase):
    TABLE = {
        2: Process(0, 50, 0, False), 3: Process(2, 50, 0, False),
        os.getpid(): Process(1, 1, 100, False),
        FRONT: Process(os.getpid(), 10, 10, False), PHP: Process(FRONT, 10, 0, False),
        12: Process(1, 4, 2, False),
    }  # fmt: skip

    def test_the_kernel_the_server_and_this_process_are_not_others(self):
        server = accounts.trees(self.TABLE, [FRONT])
        self.assertEqual(server, {FRONT, PHP})
        self.assertEqual(accounts.others(self.TABLE, server), 6)

    def test_roots_that_are_gone_are_no_processes(self):
        self.assertEqual(accounts.trees(self.TABLE, [99]), set())


class Real(unittest.TestCase):
    def test_less_than_a_tick_is_seen(self):
        child = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
        try:
            process = self.settled(child.pid)
            found = Fine.of(child.pid, process)
            self.assertGreater(found.own, 0)
            self.assertNotEqual(found.own * accounts.TICKS_PER_SECOND % 1, 0)
            self.assertGreater(found.voluntary, 0)
        finally:
            child.communicate(b"\n")

    def settled(self, pid: int) -> Process:
        while Fine.of(pid, accounts.processes()[pid]).voluntary == 0:
            time.sleep(0.01)
        return accounts.processes()[pid]

    def test_a_process_that_is_gone_has_what_was_known(self):
        self.assertEqual(Fine.of(2**22 + 1, Process(1, 3.0, 0, False)), Fine(3.0))


if __name__ == "__main__":
    unittest.main()
