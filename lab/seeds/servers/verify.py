"""The proof that a server answers each workload rightly, over each transport that it has: asked by curl."""

import subprocess
from collections.abc import Iterator

from ..workloads import WORKLOADS, Workload
from .seed import CLOSE, H2, KEEP_ALIVE, TLS, SeedServer

ARGUMENTS = {KEEP_ALIVE: ["--http1.1"], CLOSE: ["--http1.1", "-H", "Connection: close"], TLS: ["--http1.1"], H2: ["--http2"]}
# The protocol in words, as curl tells it.
VERSIONS = {KEEP_ALIVE: "1.1", CLOSE: "1.1", TLS: "1.1", H2: "2"}
# Seconds for a server to make processes again.
PATIENCE = 5.0
TRANSPORTS = (KEEP_ALIVE, CLOSE, TLS, H2)


def verify(server: SeedServer, times: int = 2) -> Iterator[tuple[str, str, str | None]]:
    """For each workload and transport its fault, if it has one. Each is asked more than once, as caches and processes that
    stay have a second answer."""
    for name in sorted(server.serves):
        for transport in TRANSPORTS:
            if transport in server.transports:
                faults = (fault(server, WORKLOADS[name], transport) for _ in range(times))
                yield name, transport, next(filter(None, faults), None)


def fault(server: SeedServer, workload: Workload, transport: str) -> str | None:
    """One request: nothing, or what is wrong with its answer. Processes that a load before has cost come back first."""
    server.settle(PATIENCE)
    command = ["curl", "--silent", "--show-error", "--insecure", "--max-time", "60", *ARGUMENTS[transport],
               "-H", f"Host: {workload.host}", "--write-out", "\n%{http_version} %{http_code} %{num_connects}"]  # fmt: skip
    if workload.body:
        command += ["-X", workload.method, "--data-binary", f"@{workload.body}", "-H", "Expect:",
                    "-H", f"Content-Type: {workload.body_type}"]  # fmt: skip
    address = server.url(workload.name, transport)
    # Twice where connections are kept: the second request has to use the first one's.
    again = transport != CLOSE and not workload.body
    done = subprocess.run([*command, address, *([address] if again else [])], capture_output=True, check=False)
    if done.returncode != 0:
        return f"curl: {done.stderr.decode(errors='replace').strip()}"
    body, _, told = done.stdout.rstrip().rpartition(b"\n")
    version, status, connects = told.decode().split()
    if status != "200" or workload.expected not in body:
        return f"status {status}, {len(body)} bytes: {body[-200:]!r}"
    if version != VERSIONS[transport]:
        return f"HTTP/{version}"
    return "the connection was not kept" if again and connects != "0" else None
