"""Runs each test three times at the same place: by php-cgi, and by Corral in each of its modes."""

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from . import corral, declared, reference, reply, settings
from .corral import Corral, Settings
from .phpt import Test

# Each has a daemon of its own.
N_LANES = 2
# Sets of settings that a daemon has at a time.
MOST_SETS = 24
# Bytes of a body that are shown.
LONGEST_SHOWN = 20_000


@dataclass
class Outcome:
    n_compared: dict[str, int] = field(default_factory=lambda: dict.fromkeys(corral.MODES, 0))
    n_same: dict[str, int] = field(default_factory=lambda: dict.fromkeys(corral.MODES, 0))
    # By mode and reason.
    meant: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    skipped: dict[str, list[str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)


def compared(sources: Path, tests: list[Test], rules: list[declared.Rule]) -> Outcome:
    outcome, modules = Outcome(), reference.modules()
    with tempfile.TemporaryDirectory(prefix="corral-php-tests-") as scratch:
        root = Path(scratch) / "root"
        _lay_out(sources, root, tests)
        lanes = [Lane(root, Path(scratch), number, modules, rules, outcome) for number in range(N_LANES)]
        with ThreadPoolExecutor(N_LANES) as pool:
            list(pool.map(lambda lane, mine: lane.run(mine), lanes, _shared_out(tests)))
    done = {test.name for test in tests} - {name for names in outcome.skipped.values() for name in names}
    outcome.failures += [
        f"{rule.mode} {rule.tests}: does not differ any more, though differences.txt says so"
        for rule in rules if rule.is_of_one and rule.tests in done and not rule.used
    ]  # fmt: skip
    return outcome


def _lay_out(sources: Path, root: Path, tests: list[Test]) -> None:
    """Copies the folders of the tests, as tests write into them."""
    tops = {Path(test.name).parts[: _depth(test.name)] for test in tests}
    for top in tops:
        shutil.copytree(sources.joinpath(*top), root.joinpath(*top), dirs_exist_ok=True, symlinks=True)
    shutil.copyfile(corral.LOOP, root / corral.LOOP.name)
    root.parent.chmod(0o755)
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o777 if path.is_dir() else 0o666)
    for test in tests:
        test.folder = root / Path(test.name).parent


def _depth(name: str) -> int:
    """Down to the folder that is called tests."""
    return Path(name).parts.index("tests") + 1


def _shared_out(tests: list[Test]) -> list[list[Test]]:
    """Tests of one folder may be in each other's way."""
    folders: dict[Path, list[Test]] = {}
    for test in tests:
        folders.setdefault(test.folder, []).append(test)
    lanes: list[list[Test]] = [[] for _ in range(N_LANES)]
    for found in sorted(folders.values(), key=len, reverse=True):
        min(lanes, key=len).extend(found)
    return lanes


@dataclass
class Lane:
    root: Path
    scratch: Path
    number: int
    modules: set[str]
    rules: list[declared.Rule]
    outcome: Outcome
    known_skips: dict[tuple[Path, bytes], str | None] = field(default_factory=dict)

    def run(self, tests: list[Test]) -> None:
        with Corral(self.root) as server:
            for sets in self._batches(tests):
                server.configure(list(sets))
                for idx, (found, of_set) in enumerate(sets.items()):
                    for test in of_set:
                        self._try(server, idx, found, test)

    def _try(self, server: Corral, idx: int, found: Settings, test: Test) -> None:
        try:
            self._compare(server, idx, found, test)
        except (OSError, ValueError) as error:
            self.outcome.failures.append(f"both {test.name}: cannot be run: {error!r}")

    def _batches(self, tests: list[Test]) -> list[dict[Settings, list[Test]]]:
        sets: dict[Settings, list[Test]] = {}
        inis: dict[tuple[str, ...], Path] = {}
        for test in tests:
            lines = tuple(test.settings)
            if lines not in inis:
                inis[lines] = settings.written(self.scratch / f"{self.number}-{len(inis)}.ini", list(lines))
            sets.setdefault(Settings(inis[lines], tuple(test.environment.items())), []).append(test)
        names = list(sets)
        return [{name: sets[name] for name in names[at : at + MOST_SETS]} for at in range(0, len(names), MOST_SETS)]

    def _compare(self, server: Corral, idx: int, found: Settings, test: Test) -> None:
        if reason := self._reason_to_skip(found, test):
            self.outcome.skipped.setdefault(reason, []).append(test.name)
            return
        script = self.root / f"{test.name}.php"
        _write(script, test.code)
        expected = self._reference(server, found, test)
        replies = {mode: self._cleaned(found, test, server.asked(mode, idx, test.request)) for mode in corral.MODES}
        if any(reply.differences(test, expected, got) for got in replies.values()):
            again = self._reference(server, found, test)
            self._judge(test, expected, again, replies)
        else:
            for mode in corral.MODES:
                self._count(mode, True)
        script.unlink(missing_ok=True)

    def _reference(self, server: Corral, found: Settings, test: Test) -> reply.Reply:
        got = reference.asked(self.root, found.ini, test.request, server.port, dict(found.environment))
        return self._cleaned(found, test, got)

    def _judge(self, test: Test, expected: reply.Reply, again: reply.Reply, replies: dict[str, reply.Reply]) -> None:
        changes = set(reply.differences(test, expected, again)) | ({"body"} if expected.body != again.body else set())
        for mode, got in replies.items():
            parts = [part for part in reply.differences(test, expected, got) if not _is_chance(part, changes, expected, got)]
            undeclared = [part for part in parts if not self._is_meant(mode, part, test)]
            self._count(mode, not parts)
            if undeclared:
                self.outcome.failures.append(f"{mode} {test.name}: {', '.join(undeclared)}")
                self.outcome.details.append(_shown(mode, test, expected, got))

    def _is_meant(self, mode: str, part: str, test: Test) -> bool:
        reason = declared.reason(self.rules, mode, part, test)
        if reason:
            names = self.outcome.meant.setdefault((mode, reason), [])
            names += [test.name] if test.name not in names else []
        return reason is not None

    def _count(self, mode: str, is_same: bool) -> None:
        self.outcome.n_compared[mode] += 1
        self.outcome.n_same[mode] += is_same

    def _reason_to_skip(self, found: Settings, test: Test) -> str | None:
        missing = [name for name in test.lines("EXTENSIONS") if name.lower() not in self.modules]
        if missing:
            return f"without the extension {missing[0]}"
        if "SKIPIF" not in test.sections:
            return None
        key = (test.folder, test.sections["SKIPIF"])
        if key not in self.known_skips:
            said = self._run_beside(found, test, "skip", test.sections["SKIPIF"]).strip()
            self.known_skips[key] = "it says so itself" if said.lower().startswith(b"skip") else None
        return self.known_skips[key]

    def _cleaned(self, found: Settings, test: Test, got: reply.Reply) -> reply.Reply:
        if "CLEAN" in test.sections:
            self._run_beside(found, test, "clean", test.sections["CLEAN"])
        return got

    def _run_beside(self, found: Settings, test: Test, kind: str, code: bytes) -> bytes:
        script = self.root / f"{test.name}.{kind}.php"
        _write(script, code)
        output = reference.run(self.root, found.ini, script, dict(found.environment))
        script.unlink(missing_ok=True)
        return output


def _write(path: Path, code: bytes) -> None:
    path.write_bytes(code)
    path.chmod(0o666)


def _is_chance(part: str, changes: set[str], expected: reply.Reply, got: reply.Reply) -> bool:
    """Output that php-cgi changes each time says nothing, but for its words."""
    if part not in changes:
        return False
    return part != "body" or reply.is_same_but_for_chance(expected.body, got.body)


def _shown(mode: str, test: Test, expected: reply.Reply, got: reply.Reply) -> str:
    def text(of: reply.Reply) -> str:
        fields = "".join(f"{name}: {value}\n" for name, value in of.own_fields)
        return f"{of.status}\n{fields}\n{of.body[:LONGEST_SHOWN].decode('utf-8', 'backslashreplace')}"

    return f"=== {mode} {test.name}\n--- php-cgi\n{text(expected)}\n--- corral\n{text(got)}\n"


def report(outcome: Outcome, verbose: bool) -> str:
    lines = list(outcome.details) if verbose else []
    for reason, names in sorted(outcome.skipped.items()):
        lines.append(f"not run: {len(names):5}  {reason}")
    for (mode, reason), names in sorted(outcome.meant.items()):
        lines.append(f"{mode}: {len(names):5} differ  {reason}")
    for mode in corral.MODES:
        lines.append(f"{mode}: {outcome.n_same[mode]} of {outcome.n_compared[mode]} as php-cgi")
    lines += [f"FAILED {failure}" for failure in sorted(outcome.failures)]
    n_passed = sum(outcome.n_compared.values()) - len(outcome.failures)
    return "\n".join([*lines, f"test result: {n_passed} passed; {len(outcome.failures)} failed;"])
