"""The suite's application for WSGI: README.md says what is at which path."""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from urllib.parse import unquote_to_bytes

BLOCK = bytes(range(251)) * 100
local = threading.local()


def application(environ, start_response):
    path, _, argument = environ["REQUEST_URI"].partition("?")
    page = PAGES.get(path, missing)
    return page(environ, start_response, argument)


def plain(start_response, body, status="200 OK", fields=()):
    start_response(status, [("Content-Type", "text/plain"), *fields])
    return [body if isinstance(body, bytes) else str(body).encode()]


def missing(environ, start_response, argument):
    return plain(start_response, "missing", "404 Not Found")


def request(environ, start_response, argument):
    headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if name in environ:
            headers[name.replace("_", "-").lower()] = environ[name]
    told = {
        "method": environ["REQUEST_METHOD"],
        "target": environ["REQUEST_URI"],
        "path": environ["PATH_INFO"].encode("latin-1").decode(),
        "query": environ["QUERY_STRING"],
        "scheme": environ["wsgi.url_scheme"],
        "client": environ["REMOTE_ADDR"],
        "port": int(environ.get("REMOTE_PORT", 0)),
        "headers": headers,
    }
    return plain(start_response, json.dumps(told))


def echo(environ, start_response, argument):
    return plain(start_response, environ["wsgi.input"].read())


def length(environ, start_response, argument):
    return plain(start_response, len(environ["wsgi.input"].read()))


def ignored(environ, start_response, argument):
    return plain(start_response, "ignored")


def large(environ, start_response, argument):
    start_response("200 OK", [])
    return (BLOCK for _ in range(int(argument)))


def status(environ, start_response, argument):
    return plain(start_response, f"status {argument}", f"{argument} Status")


def fields(environ, start_response, argument):
    cookies = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
    return plain(start_response, "fields", fields=[("X-Twice", "1"), ("X-Twice", "2"), *cookies, ("X-Empty", "")])


def many(environ, start_response, argument):
    return plain(start_response, "many", fields=[(f"X-Field-{i}", f"value {i}") for i in range(1, int(argument) + 1)])


def stream(environ, start_response, argument):
    start_response("200 OK", [])
    yield b"first"
    wait_for(lambda: os.path.exists("go"))
    yield b"second"


def framed(environ, start_response, argument):
    start_response("200 OK", [("Transfer-Encoding", "chunked")])
    return (unquote_to_bytes(piece) for piece in argument.split("~"))


def nothing(environ, start_response, argument):
    start_response("200 OK", [])
    print("it has begun", file=sys.stderr)
    try:
        while True:
            yield b""
    finally:
        print("the client is gone", file=sys.stderr)


def file(environ, start_response, argument):
    start_response("200 OK", [])
    return environ["wsgi.file_wrapper"](open(argument, "rb"))


def fail(environ, start_response, argument):
    raise ValueError("failed on purpose")


def fail_late(environ, start_response, argument):
    start_response("200 OK", [])
    yield b"begun"
    raise ValueError("failed too late")


def die(environ, start_response, argument):
    os.kill(os.getpid(), signal.SIGKILL)


def endless(environ, start_response, argument):
    start_response("200 OK", [])
    try:
        while True:
            yield b"x" * 65536
    finally:
        print("the client is gone", file=sys.stderr)


def meet(environ, start_response, argument):
    os.close(tempfile.mkstemp(dir="meet")[0])
    wait_for(lambda: len(os.listdir("meet")) >= int(argument))
    return plain(start_response, os.getpid())


def slow(environ, start_response, argument):
    time.sleep(int(argument) / 1000)
    return plain(start_response, os.getpid())


def compute(environ, start_response, argument):
    while not os.path.exists("go"):
        pass
    return plain(start_response, os.getpid())


def kept(environ, start_response, argument):
    local.n = getattr(local, "n", 0) + 1
    return plain(start_response, local.n)


def pid(environ, start_response, argument):
    return plain(start_response, os.getpid())


def cwd(environ, start_response, argument):
    return plain(start_response, os.getcwd())


def environment(environ, start_response, argument):
    return plain(start_response, os.environ.get(argument, ""))


def user(environ, start_response, argument):
    return plain(start_response, f"{os.geteuid()} {os.getegid()}")


def log(environ, start_response, argument):
    print("said to standard output", flush=True)
    print("said to standard error", file=sys.stderr)
    return plain(start_response, "")


def wait_for(condition):
    while not condition():
        time.sleep(0.005)


PAGES = {
    "/request": request,
    "/a%20b/%C3%BC": request,
    "/echo": echo,
    "/length": length,
    "/ignored": ignored,
    "/large": large,
    "/status": status,
    "/fields": fields,
    "/many": many,
    "/stream": stream,
    "/framed": framed,
    "/nothing": nothing,
    "/file": file,
    "/fail": fail,
    "/fail-late": fail_late,
    "/die": die,
    "/endless": endless,
    "/meet": meet,
    "/slow": slow,
    "/compute": compute,
    "/kept": kept,
    "/pid": pid,
    "/cwd": cwd,
    "/environment": environment,
    "/user": user,
    "/log": log,
}
