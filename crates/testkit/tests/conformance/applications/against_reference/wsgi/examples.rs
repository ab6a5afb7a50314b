//! Examples of PEP 3333, and each thing that it lets applications do.

use super::super::habit::{Asked, Habit};

pub(super) const HABITS: &[Habit] = &[
    Habit::new(
        "function",
        "
HELLO_WORLD = b'Hello world!\\n'

def application(environ, start_response):
    status = '200 OK'
    response_headers = [('Content-type', 'text/plain')]
    start_response(status, response_headers)
    return [HELLO_WORLD]
",
    ),
    Habit::new(
        "class_of_iterators",
        "
class application:
    def __init__(self, environ, start_response):
        self.environ = environ
        self.start = start_response

    def __iter__(self):
        self.start('200 OK', [('Content-type', 'text/plain')])
        yield b'Hello world!\\n'
",
    ),
    Habit::new(
        "middleware",
        "
class LatinIter:
    def __init__(self, result, transform_ok):
        if hasattr(result, 'close'):
            self.close = result.close
        self._next = iter(result).__next__
        self.transform_ok = transform_ok

    def __iter__(self):
        return self

    def __next__(self):
        data = self._next()
        return data[1:] + data[:1] + b'ay' if self.transform_ok else data

def inner(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain'), ('Content-Length', '5')])
    return [b'hello']

def application(environ, start_response):
    transform_ok = []

    def start_latin(status, response_headers, exc_info=None):
        del transform_ok[:]
        transform_ok.append(True)
        response_headers = [(name, value) for name, value in response_headers if name.lower() != 'content-length']
        write = start_response(status, response_headers, exc_info)
        return lambda data: write(data)

    return LatinIter(inner(environ, start_latin), transform_ok)
",
    ),
    Habit::new(
        "write",
        "
def application(environ, start_response):
    write = start_response('200 OK', [('Content-Type', 'text/plain')])
    write(b'one ')
    write(b'')
    write(b'two ')
    return [b'three']
",
    ),
    Habit::new(
        "error_before_the_head",
        "
import sys

def application(environ, start_response):
    start_response('200 Froody', [('Content-Type', 'text/plain'), ('X-First', 'yes')])
    try:
        raise ValueError
    except ValueError:
        start_response('500 Oops', [('Content-Type', 'text/plain')], sys.exc_info())
        return [b'error body goes here']
",
    ),
    Habit::new(
        "error_behind_the_head",
        "
import sys

def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    yield b'so far'
    try:
        raise ValueError
    except ValueError:
        start_response('500 Oops', [('Content-Type', 'text/plain')], sys.exc_info())
    yield b'never'
",
    ),
    Habit::new(
        "file_wrapper",
        "
import io

def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    filelike = io.BytesIO(b'some text ' * 2000)
    if 'wsgi.file_wrapper' in environ:
        return environ['wsgi.file_wrapper'](filelike, 4096)
    return iter(lambda: filelike.read(4096), b'')
",
    ),
    Habit::new(
        "environment",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    names = ['REQUEST_METHOD', 'SCRIPT_NAME', 'PATH_INFO', 'QUERY_STRING', 'CONTENT_TYPE', 'CONTENT_LENGTH',
             'SERVER_PROTOCOL', 'wsgi.version', 'wsgi.url_scheme', 'wsgi.run_once']
    names += sorted(name for name in environ if name.startswith('HTTP_'))
    return ['{}={!r}\\n'.format(name, environ.get(name) or None).encode() for name in names]
",
    )
    .asked(&[
        Asked::plainly("GET /{}/a%20b%C3%BC?c=%41&d HTTP/1.1\r\nHost: example.org:80\r\nX-One: 1\r\nx-two: ü\r\n\r\n"),
        Asked::plainly("GET /{}? HTTP/1.0\r\n\r\n"),
        Asked::plainly("PUT /{}/ HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nContent-Type: x/y\r\nContent-Length: \
            3\r\n\r\nabc"),
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: a\r\nX-Twice: 1\r\nX-Twice: 2\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n"),
    ]),
    Habit::new(
        "paths",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [repr((environ['PATH_INFO'], environ['QUERY_STRING'])).encode()]
",
    )
    .asked(&[
        Asked::plainly("GET /{}//a/./b/../c HTTP/1.1\r\nHost: a\r\n\r\n"),
        Asked::plainly("GET /{}/%2e%2e/{}/a%2Fb HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]),
    Habit::new(
        "body",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    body = environ['wsgi.input']
    parts = [body.read(2), body.readline(), body.readline(3), body.read(0), list(body), body.read(), body.read(5)]
    return [repr(parts).encode()]
",
    )
    .asked(&[
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 21\r\n\r\nline\nanother\nand\nmore\n"),
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"),
        Asked::plainly("POST /{} HTTP/1.0\r\nContent-Length: 4\r\n\r\nabcd"),
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]),
    Habit::new(
        "readlines",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return environ['wsgi.input'].readlines()
",
    )
    .asked(&[Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\none\ntwo\n3")]),
    Habit::new(
        "body_that_nobody_reads",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [b'not of interest']
",
    )
    .asked(&[Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\none\ntwo\n3")]),
    Habit::new(
        "statuses",
        "
def application(environ, start_response):
    start_response(environ['QUERY_STRING'].replace('+', ' '), [('X-Status', 'mine')])
    return []
",
    )
    .asked(&[
        Asked::plainly("GET /{}?204+No+Content HTTP/1.1\r\nHost: a\r\n\r\n"),
        Asked::plainly("GET /{}?304+Not+Modified HTTP/1.1\r\nHost: a\r\n\r\n"),
        Asked::plainly("GET /{}?404+Not+Found HTTP/1.1\r\nHost: a\r\n\r\n"),
        Asked::plainly("GET /{}?418+I+am+a+teapot HTTP/1.1\r\nHost: a\r\n\r\n"),
        Asked::plainly("GET /{}?599+Made+up HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]),
    Habit::new(
        "fields",
        "
def application(environ, start_response):
    start_response('200 OK', [('Set-Cookie', 'a=1'), ('set-cookie', 'b=2'), ('X-Empty', ''), ('X-Latin', '\\xfc'),
                              ('X-Long', 'a' * 3000), ('Vary', 'A'), ('Vary', 'B'), ('Location', '/elsewhere')])
    return [b'']
",
    ),
    Habit::new(
        "close",
        "
CLOSED = []

class Body:
    def __iter__(self):
        return iter([b'closed before: ', str(len(CLOSED)).encode()])

    def close(self):
        CLOSED.append(1)

def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return Body()
",
    ),
    Habit::new(
        "two_pieces_of_a_length",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Length', '11')])
    yield b'hello '
    yield b'world'
",
    ),
    Habit::new(
        "errors",
        "
def application(environ, start_response):
    print('to the log', file=environ['wsgi.errors'])
    environ['wsgi.errors'].writelines(['more\\n', 'lines\\n'])
    environ['wsgi.errors'].flush()
    start_response('200 OK', [])
    return [b'hello']
",
    )
    .asked(&[Asked::plainly("GET /{} HTTP/1.0\r\n\r\n")])
    .logged("to the log"),
];
