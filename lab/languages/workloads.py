"""The requests to every server."""

from ..wrk import Workload

WORKLOADS = [
    Workload("hello", "/hello", b"Hello, World!"),
    Workload("16 KB JSON", "/json", b'{"text":"' + b"x" * (16384 - 11) + b'"}'),
    Workload("64 KB POST", "/length", b"65536", b"x" * 65536),
]
