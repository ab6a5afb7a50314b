"""Differences that are meant: `differences.txt`, a line for each, with its reason."""

import fnmatch
import re
from dataclasses import dataclass, field
from pathlib import Path

from .phpt import Test

LIST = Path(__file__).with_name("differences.txt")


@dataclass
class Rule:
    """`tests` is a name, a pattern of names, or between slashes an expression that is found in the test's code."""

    mode: str
    part: str
    tests: str
    reason: str
    expression: re.Pattern | None = None
    used: set[str] = field(default_factory=set)

    @property
    def is_of_one(self) -> bool:
        return self.expression is None and not set("*?[") & set(self.tests)

    def covers(self, mode: str, part: str, test: Test) -> bool:
        if self.mode not in (mode, "both") or self.part not in (part, "any"):
            return False
        if self.expression:
            return self.expression.search(test.code) is not None
        return fnmatch.fnmatchcase(test.name, self.tests)


def rules(text: str) -> list[Rule]:
    """Columns by runs of two spaces or more."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            columns = re.split(r"\s{2,}", line.strip(), maxsplit=3)
            if len(columns) != 4:
                raise ValueError(f"differences.txt:{number}: mode, part, tests and reason are expected")
            found.append(_rule(*columns))
    return found


def _rule(mode: str, part: str, tests: str, reason: str) -> Rule:
    is_expression = len(tests) > 1 and tests[0] == tests[-1] == "/"
    return Rule(mode, part, tests, reason, re.compile(tests[1:-1].encode()) if is_expression else None)


def reason(declared: list[Rule], mode: str, part: str, test: Test) -> str | None:
    for rule in declared:
        if rule.covers(mode, part, test):
            rule.used.add(test.name)
            return rule.reason
    return None
