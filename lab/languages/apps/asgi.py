"""The contest's application for ASGI."""

HELLO = b"Hello, World!"
JSON = b'{"text":"' + b"x" * (16384 - 11) + b'"}'


async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        return await live(receive, send)
    path, kind = scope["path"], b"text/plain"
    if path == "/hello":
        body = HELLO
    elif path == "/json":
        body, kind = JSON, b"application/json"
    else:
        body = b"%d" % await length(receive)
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def length(receive):
    n, more = 0, True
    while more:
        message = await receive()
        n += len(message.get("body", b""))
        more = message.get("more_body", False)
    return n


async def live(receive, send):
    while True:
        message = await receive()
        await send({"type": message["type"] + ".complete"})
        if message["type"] == "lifespan.shutdown":
            return
