"""Lines that reports have in common: facts, rows, and verdicts on promises."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """One judged promise. `passed` is None where something was not measured."""

    work: str
    promise: str
    measured: str
    passed: bool | None


def machine(run: dict) -> list[str]:
    facts = run["machine"]
    return [
        f"{facts['cpu']}, {facts['cores']} cores, Linux {facts['kernel']}, {run['started']}",
        f"load average before the run: {facts['load_before']:.2f}; load generator on the same cores",
    ]


def servers(outcome: dict) -> list[str]:
    """The servers that took part in a contest, and those that did not, and why."""
    lines = [f"  {name:24} {version}" for name, version in outcome["versions"].items()]
    lines += [f"  {name:24} NOT MEASURED: missing {what}" for name, what in outcome["absent"].items()]
    return lines + [f"  {name:24} NOT MEASURED: {reason}" for name, reason in outcome["refused"].items()]


def row(values: tuple[str, ...], widths: tuple[int, ...]) -> str:
    first, *rest = values
    return "  " + first.ljust(widths[0]) + "".join(v.rjust(w) for v, w in zip(rest, widths[1:], strict=True))


def spread(slowest: float, fastest: float, median: float) -> str:
    return f"{100 * (fastest - slowest) / median:.0f}%"


def bars(verdicts: list[Verdict]) -> list[str]:
    lines = ["bars"]
    for verdict in verdicts:
        word = {True: "PASS", False: "MISS", None: "not measured"}[verdict.passed]
        lines.append(f"  {verdict.work:30}{verdict.promise:48}{verdict.measured:>24}  {word}")
    n_passed, n_missed = (sum(verdict.passed is wanted for verdict in verdicts) for wanted in (True, False))
    return [*lines, f"{n_passed} bars held, {n_missed} missed"]
