"""corral-tank beside wrk, h2load and vegeta on one target, and alone against its own schedule.

    cargo build --release -p corral-tank
    python3 -m lab.tank.compare [--rounds 5] [--seconds 5] [--tank target/release/corral-tank]

All need a quiet machine: on a busy one, two runs of the same tool differ by more than the bars. wrk and h2load are
Debian's. vegeta is not packaged; LAB_VEGETA names an executable (`go install github.com/tsenart/vegeta/v12@latest`),
without which its row is left out.

The target is one nginx before a server that takes ten milliseconds for each request, so that the generators wait for
it. Where a generator is the limit, times are those of its own loop: wrk starts its clock when the socket is ready for
the next request, and corral-tank when the one before was answered.
"""

import argparse
import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ..load import parse_h2load, parse_wrk

# The bars: rate, percentiles, schedule, microseconds of processor time a request.
RATE, PERCENTILES, SCHEDULE, CPU = 0.01, 0.05, 0.005, 4.0

CONFIGURATION = """
daemon off;
worker_processes 1;
pid @D/nginx.pid;
error_log @D/error.log;
events { worker_connections 4096; }
http {
    access_log off;
    keepalive_requests 100000000;
    upstream delayed {
        server 127.0.0.1:@C;
        keepalive 1000;
        keepalive_requests 100000000;
    }
    client_body_temp_path @D/body;
    proxy_temp_path @D/proxy;
    fastcgi_temp_path @D/fastcgi;
    uwsgi_temp_path @D/uwsgi;
    scgi_temp_path @D/scgi;
    server {
        listen 127.0.0.1:@A;
        listen 127.0.0.1:@B http2;
        location = /hello { return 200 "hello\\n"; }
        location = /delayed {
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_pass http://delayed;
        }
    }
}
"""

# How long the target takes: a time beside which the clients' own microseconds are little.
DELAY_MS = 10


@dataclass(frozen=True)
class Figures:
    """One run of one generator."""

    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


class Target:
    """nginx at two ports: HTTP/1 and HTTP/2."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.ports = [_free_port(), _free_port()]

    def __enter__(self):
        command = [sys.executable, "-m", "lab.tank.delayed", str(DELAY_MS)]
        self.delayed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ports = [*self.ports, int(self.delayed.stdout.readline())]
        text = CONFIGURATION.replace("@D", str(self.folder))
        for mark, port in zip(("@A", "@B", "@C"), ports):
            text = text.replace(mark, str(port))
        (self.folder / "nginx.conf").write_text(text)
        self.process = subprocess.Popen(["nginx", "-p", self.folder, "-c", "nginx.conf", "-e", "error.log"])
        deadline = time.monotonic() + 10
        while not _listens(self.ports[0]):
            if time.monotonic() > deadline:
                raise SystemExit((self.folder / "error.log").read_text())
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        for process in (self.process, self.delayed):
            process.terminate()
            process.wait()
        self.delayed.stdout.close()

    def url(self, path: str, http2: bool = False) -> str:
        return f"http://127.0.0.1:{self.ports[http2]}{path}"


class Tools:
    """The generators, each with a target and a number of seconds."""

    def __init__(self, tank: Path, target: Target, seconds: int):
        self.tank_path, self.target, self.seconds = tank, target, seconds
        self.vegeta_path = os.environ.get("LAB_VEGETA") or shutil.which("vegeta")

    def tank(self, *arguments: str) -> tuple[dict, Figures]:
        text, cpu = _run([self.tank_path, "--json", "-", *arguments])
        result = json.loads(text)
        if result["good"] != result["sent"]:
            raise SystemExit(f"corral-tank: failures {result['failures']}")
        times = result["response_time"]["percentiles"]
        figures = Figures(result["per_second"]["answered"], times["50"] / 1000, times["99"] / 1000,
                          cpu * 1e6 / result["answered"])  # fmt: skip
        return result, figures

    def tank_closed(self) -> Figures:
        return self.tank("-c10", f"-d{self.seconds}s", self.target.url("/delayed"))[1]

    def wrk(self, path: str = "/delayed") -> Figures:
        text, cpu = _run(["wrk", "-t1", "-c10", f"-d{self.seconds}s", "--latency", self.target.url(path)])
        load = parse_wrk(text)
        return Figures(load.per_second, load.p50_ms, load.p99_ms, cpu * 1e6 / load.requests)

    def tank_http2(self) -> Figures:
        url = self.target.url("/delayed", http2=True)
        return self.tank("--http2", "-c5", "-m4", f"-d{self.seconds}s", url)[1]

    def h2load(self) -> Figures:
        log = self.target.folder / "h2load.log"
        log.unlink(missing_ok=True)
        text, cpu = _run(["h2load", "-t1", "-c5", "-m4", "-D", str(self.seconds), f"--log-file={log}",
                          self.target.url("/delayed", http2=True)])  # fmt: skip
        load = parse_h2load(text)
        times = sorted(int(line.split("\t")[2]) / 1000 for line in log.read_text().splitlines())
        return Figures(load.per_second, _percentile(times, 50), _percentile(times, 99), cpu * 1e6 / load.requests)

    def tank_open(self, rate: int) -> Figures:
        schedule = f"const({rate},{self.seconds}s)"
        return self.tank("-s", schedule, self.target.url("/delayed"))[1]

    def vegeta(self, rate: int) -> Figures:
        targets = f"GET {self.target.url('/delayed')}\n"
        attack = [self.vegeta_path, "attack", f"-rate={rate}/s", f"-duration={self.seconds}s"]
        raw, cpu = _run(attack, targets.encode(), binary=True)
        report, _ = _run([self.vegeta_path, "report", "-type=json"], raw)
        found = json.loads(report)
        times = found["latencies"]
        return Figures(found["rate"], times["50th"] / 1e6, times["99th"] / 1e6, cpu * 1e6 / found["requests"])


def _run(command: list, stdin: bytes = b"", binary: bool = False) -> tuple:
    """The output of a command and the processor time that it took."""
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as asked:
        asked.write(stdin)
        asked.seek(0)
        process = subprocess.Popen(command, stdin=asked, stdout=told)
        _, status, usage = os.wait4(process.pid, 0)
        told.seek(0)
        output = told.read()
    if status != 0:
        raise SystemExit(f"{command[0]} failed: {output[-500:]!r}")
    return (output if binary else output.decode()), usage.ru_utime + usage.ru_stime


def _percentile(times: list[float], percent: float) -> float:
    return times[min(len(times) - 1, int(len(times) * percent / 100))]


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def compare(name: str, other_name: str, rounds: int, tank, other) -> bool:
    """Runs both in turn. Judged is the median of the rounds' ratios, as the machine changes more than the tools."""
    found = {tank: [], other: []}
    for number in range(rounds):
        for run in (tank, other) if number % 2 == 0 else (other, tank):
            found[run].append(run())
    is_good = True
    for label, of, bar in (
        ("requests/s", lambda figures: figures.per_second, RATE),
        ("p50, ms", lambda figures: figures.p50_ms, PERCENTILES),
        ("p99, ms", lambda figures: figures.p99_ms, PERCENTILES),
    ):
        ours, theirs = (statistics.median(map(of, found[run])) for run in (tank, other))
        ratios = [of(one) / of(another) for one, another in zip(found[tank], found[other])]
        difference = statistics.median(ratios) - 1
        spread = max(ratios) - min(ratios)
        is_in = abs(difference) <= bar
        is_good &= is_in
        print(f"  {name:<18} {label:<12} {ours:>11.3f} {theirs:>11.3f} {difference:>+8.2%}  {bar:>4.0%}  "
              f"{'ok' if is_in else 'MISSED':<6}  spread {spread:.1%}; {other_name}")  # fmt: skip
    cpu = [statistics.median(figures.cpu_us for figures in found[run]) for run in (tank, other)]
    print(f"  {name:<18} {'CPU us/req':<12} {cpu[0]:>11.2f} {cpu[1]:>11.2f}")
    return is_good


def punctuality(tools: Tools, rounds: int) -> bool:
    """20,000 requests a second by the schedule: how many left in time, in all and in the worst second, and the cost.

    Each request alone wakes both sides from their sleep, which costs more in a virtual machine than the request. So the
    cost is told with ticks as well, and that of wrk at full speed stands beside it: never to sleep is the cheapest way.
    """
    is_good = True
    seconds = max(2, tools.seconds)
    for name, arguments in (("exact", []), ("--tick 1ms", ["--tick", "1ms"])):
        errors, worst, costs = [], [], []
        for _ in range(rounds):
            result, figures = tools.tank("-s", f"const(20000,{seconds}s)", *arguments, tools.target.url("/hello"))
            errors.append(abs(result["schedule_error"]))
            whole = [second for second in result["each_second"] if second["planned"]]
            worst.append(max(abs(second["sent"] / second["planned"] - 1) for second in whole))
            costs.append(figures.cpu_us)
        error, of_second, cost = map(statistics.median, (errors, worst, costs))
        is_good &= error <= SCHEDULE
        print(f"  20,000/s, {name:<11} schedule error {error:.3%} ({SCHEDULE:.1%} allowed), in the worst second "
              f"{of_second:.3%}; CPU {cost:.2f} us/req")  # fmt: skip
    full = [tools.tank("-c100", f"-d{seconds}s", tools.target.url("/hello"))[1].cpu_us for _ in range(rounds)]
    wrk = [tools.wrk("/hello").cpu_us for _ in range(rounds)]
    cost = statistics.median(full)
    print(f"  at full speed: CPU {cost:.2f} us/req ({CPU:.0f} allowed); wrk {statistics.median(wrk):.2f}")
    return is_good and cost <= CPU


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rate", type=int, default=500, help="requests a second beside vegeta")
    parser.add_argument("--tank", type=Path, default=Path("target/release/corral-tank"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Target(Path(folder)) as target:
        tools = Tools(options.tank, target, options.seconds)
        load = os.getloadavg()[0]
        print(f"{platform.machine()}, {os.cpu_count()} processors, Linux {platform.release()}, load {load:.1f}; "
              f"medians of {options.rounds} rounds of {options.seconds} s")  # fmt: skip
        print(f"  {'':<18} {'':<12} {'corral-tank':>11} {'other':>11} {'':>8}  bar")
        results = [
            compare("closed, HTTP/1", "wrk", options.rounds, tools.tank_closed, tools.wrk),
            compare("closed, HTTP/2", "h2load", options.rounds, tools.tank_http2, tools.h2load),
        ]
        if tools.vegeta_path:
            rate = options.rate
            results.append(compare(f"open, {rate}/s", "vegeta", options.rounds, lambda: tools.tank_open(rate),
                                   lambda: tools.vegeta(rate)))  # fmt: skip
        else:
            print("  vegeta is left out: it is not installed, and LAB_VEGETA names none")
        results.append(punctuality(tools, options.rounds))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
