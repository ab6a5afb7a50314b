"""The suite's application for ASGI: README.md says what is at which path."""

import asyncio
import json
import os
import signal
import sys
import tempfile

BLOCK = bytes(range(251)) * 100


async def application(scope, receive, send):
    if scope["type"] == "websocket":
        await echo_messages(receive, send)
    elif scope["type"] == "http":
        page = PAGES.get(scope["raw_path"].decode(), missing)
        await page(scope, receive, send, scope["query_string"].decode())
    else:
        raise NotImplementedError(scope["type"])


async def begin(send, status=200, fields=()):
    await send({"type": "http.response.start", "status": status, "headers": fields})


async def write(send, body, more=True):
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def plain(send, body, status=200, fields=()):
    await begin(send, status, [(b"content-type", b"text/plain"), *fields])
    await write(send, body if isinstance(body, bytes) else str(body).encode(), more=False)


async def body_of(receive):
    body, more = b"", True
    while more:
        event = await receive()
        body += event["body"]
        more = event["more_body"]
    return body


async def missing(scope, receive, send, argument):
    await plain(send, "missing", 404)


async def request(scope, receive, send, argument):
    headers = {}
    for name, value in scope["headers"]:
        name, value = name.decode(), value.decode("latin-1")
        joint = "; " if name == "cookie" else ", "
        headers[name] = headers[name] + joint + value if name in headers else value
    query = scope["query_string"].decode()
    address, port = scope["client"] or ("unix:", 0)
    told = {
        "method": scope["method"],
        "target": scope["raw_path"].decode() + ("?" + query if query else ""),
        "path": scope["path"],
        "query": query,
        "scheme": scope["scheme"],
        "client": address,
        "port": port,
        "headers": headers,
    }
    await plain(send, json.dumps(told))


async def echo(scope, receive, send, argument):
    await plain(send, await body_of(receive))


async def length(scope, receive, send, argument):
    await plain(send, len(await body_of(receive)))


async def ignored(scope, receive, send, argument):
    await plain(send, "ignored")


async def large(scope, receive, send, argument):
    await begin(send)
    for _ in range(int(argument)):
        await write(send, BLOCK)
    await write(send, b"", more=False)


async def status(scope, receive, send, argument):
    await plain(send, f"status {argument}", int(argument))


async def fields(scope, receive, send, argument):
    cookies = [(b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
    await plain(send, "fields", fields=[(b"x-twice", b"1"), (b"x-twice", b"2"), *cookies, (b"x-empty", b"")])


async def many(scope, receive, send, argument):
    fields = [(b"x-field-%d" % i, b"value %d" % i) for i in range(1, int(argument) + 1)]
    await plain(send, "many", fields=fields)


async def stream(scope, receive, send, argument):
    await begin(send)
    await write(send, b"first")
    await wait_for(lambda: os.path.exists("go"))
    await write(send, b"second", more=False)


async def hints(scope, receive, send, argument):
    await send({"type": "http.response.early_hint", "links": [b"</style.css>; rel=preload; as=style"]})
    await wait_for(lambda: os.path.exists("go"))
    await plain(send, "hints")


async def file(scope, receive, send, argument):
    await begin(send)
    await send({"type": "http.response.pathsend", "path": argument})


async def fail(scope, receive, send, argument):
    raise ValueError("failed on purpose")


async def fail_late(scope, receive, send, argument):
    await begin(send)
    await write(send, b"begun")
    raise ValueError("failed too late")


async def die(scope, receive, send, argument):
    os.kill(os.getpid(), signal.SIGKILL)


async def endless(scope, receive, send, argument):
    await begin(send)
    try:
        while True:
            await write(send, b"x" * 65536)
    finally:
        print("the client is gone", file=sys.stderr)


async def nothing(scope, receive, send, argument):
    await begin(send)
    print("it has begun", file=sys.stderr)
    try:
        while True:
            await write(send, b"")
    finally:
        print("the client is gone", file=sys.stderr)


async def meet(scope, receive, send, argument):
    os.close(tempfile.mkstemp(dir="meet")[0])
    await wait_for(lambda: len(os.listdir("meet")) >= int(argument))
    await plain(send, os.getpid())


async def slow(scope, receive, send, argument):
    await asyncio.sleep(int(argument) / 1000)
    await plain(send, os.getpid())


async def compute(scope, receive, send, argument):
    while not os.path.exists("go"):
        pass
    await plain(send, os.getpid())


async def kept(scope, receive, send, argument):
    kept.n += 1
    await plain(send, kept.n)


kept.n = 0


async def pid(scope, receive, send, argument):
    await plain(send, os.getpid())


async def cwd(scope, receive, send, argument):
    await plain(send, os.getcwd())


async def environment(scope, receive, send, argument):
    await plain(send, os.environ.get(argument, ""))


async def user(scope, receive, send, argument):
    await plain(send, f"{os.geteuid()} {os.getegid()}")


async def log(scope, receive, send, argument):
    print("said to standard output", flush=True)
    print("said to standard error", file=sys.stderr)
    await plain(send, "")


async def echo_messages(receive, send):
    await receive()
    await send({"type": "websocket.accept"})
    while (event := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": event["text"], "bytes": event["bytes"]})


async def wait_for(condition):
    while not condition():
        await asyncio.sleep(0.005)


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
    "/hints": hints,
    "/file": file,
    "/fail": fail,
    "/fail-late": fail_late,
    "/die": die,
    "/endless": endless,
    "/nothing": nothing,
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
