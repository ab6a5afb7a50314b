"""The contest's application for WSGI."""

HELLO = b"Hello, World!"
PLAIN = ("Content-Type", "text/plain")


def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/hello":
        body, kind = HELLO, PLAIN
    elif path == "/json":
        body, kind = JSON, ("Content-Type", "application/json")
    else:
        body, kind = b"%d" % len(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))), PLAIN
    start_response("200 OK", [kind, ("Content-Length", str(len(body)))])
    return [body]


JSON = b'{"text":"' + b"x" * (16384 - 11) + b'"}'
