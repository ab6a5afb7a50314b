"""php-cgi as a web server runs it: a new process for each request."""

import os
import signal
import subprocess
from pathlib import Path

from .. import php
from . import reply
from .phpt import Request

EXECUTABLE = f"/usr/bin/php-cgi{php.VERSION}"
PATIENCE = 40

# Variables that workers of the other side have in their environment, too.
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C", "TZ": "UTC", "NO_INTERACTION": "1", "SKIP_ONLINE_TESTS": "1", "SKIP_SLOW_TESTS": "1",
    "TEMP": "/tmp",
}  # fmt: skip


def user() -> dict:
    """Arguments of a process of the same user as the workers."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


def modules() -> set[str]:
    """Extensions that are loaded, in small letters."""
    listed = subprocess.run([EXECUTABLE, "-m"], capture_output=True, text=True, check=True).stdout
    return {line.strip().lower() for line in listed.splitlines()}


def asked(root: Path, ini: Path, request: Request, port: int, environment: dict[str, str]) -> reply.Reply:
    variables = ENVIRONMENT | environment | _variables(root, request, port)
    command = [EXECUTABLE, "-c", str(ini)]
    return reply.of_cgi(_output(command, (root / request.path[1:]).parent, variables, request.body or b""))


def run(root: Path, ini: Path, script: Path, environment: dict[str, str]) -> bytes:
    """The output of a script that belongs to a test: whether to skip it, and its cleaning."""
    return _output([EXECUTABLE, "-q", "-c", str(ini), str(script)], script.parent, ENVIRONMENT | environment, b"")


def _output(command: list[str], folder: Path, environment: dict[str, str], body: bytes) -> bytes:
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True, **user(),
    )  # fmt: skip
    try:
        return process.communicate(body, PATIENCE)[0]
    except subprocess.TimeoutExpired:
        # With what it has started: its end was not taken note of, so the number is no other process's.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return b""


def _variables(root: Path, request: Request, port: int) -> dict[str, str]:
    """As Apache's mod_cgi makes them."""
    script = str(root) + request.path
    made = {
        "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1", "SERVER_NAME": "localhost",
        "SERVER_PORT": str(port), "SERVER_ADDR": "127.0.0.1", "REMOTE_ADDR": "127.0.0.1", "REMOTE_PORT": "50000", "REQUEST_SCHEME": "http",
        "DOCUMENT_ROOT": str(root), "REQUEST_METHOD": request.method, "REQUEST_URI": request.target,
        "QUERY_STRING": request.query, "SCRIPT_NAME": request.path, "SCRIPT_FILENAME": script,
        "REDIRECT_STATUS": "200", "HTTP_HOST": "localhost", "HTTP_X_SCRIPT": request.path,
    }  # fmt: skip
    if request.path_info:
        made |= {"PATH_INFO": request.path_info, "PATH_TRANSLATED": str(root) + request.path_info}
    if request.body is not None:
        made["CONTENT_LENGTH"] = str(len(request.body))
    for name, value in request.fields:
        name = name.upper().replace("-", "_")
        made[name if name == "CONTENT_TYPE" else f"HTTP_{name}"] = os.fsdecode(value)
    return made
