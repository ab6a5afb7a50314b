//! Habits that PEP 3333 forbids, or does not mention.

use super::super::habit::{Asked, Habit};

pub(super) const HABITS: &[Habit] = &[
    Habit::new(
        "one_bytes",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return b'one piece'
",
    )
    .logged("the application returns bytes"),
    Habit::new(
        "one_bytes_after_write",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])(b'written, ')
    return b'returned'
",
    ),
    Habit::new(
        "one_str",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return 'text'
",
    ),
    Habit::new(
        "pieces_of_str",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return ['text']
",
    ),
    Habit::new(
        "pieces_of_bytearray",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [bytearray(b'hello '), memoryview(b'world')]
",
    ),
    Habit::new(
        "none",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
",
    ),
    Habit::new(
        "none_after_write",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])(b'written')
",
    ),
    Habit::new(
        "old_sequence",
        "
class Body:
    def __getitem__(self, idx):
        return [b'a', b'b', b'c'][idx]

def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return Body()
",
    ),
    Habit::new(
        "only_a_sequence_of_keys",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return {b'hello': 1}
",
    ),
    Habit::new(
        "bare_status",
        "
def application(environ, start_response):
    start_response('200', [('Content-Type', 'text/plain')])
    return [b'bare']
",
    ),
    Habit::new(
        "status_with_a_space_only",
        "
def application(environ, start_response):
    start_response('404 ', [('Content-Type', 'text/plain')])
    return [b'bare']
",
    ),
    Habit::new(
        "status_with_two_spaces",
        "
def application(environ, start_response):
    start_response('200  OK', [('Content-Type', 'text/plain')])
    return [b'wide']
",
    ),
    Habit::new(
        "status_with_a_tab",
        "
def application(environ, start_response):
    start_response('200\\tOK', [('Content-Type', 'text/plain')])
    return [b'wide']
",
    ),
    Habit::new(
        "status_of_bytes",
        "
def application(environ, start_response):
    start_response(b'200 OK', [('Content-Type', 'text/plain')])
    return [b'bytes']
",
    ),
    Habit::new(
        "status_of_int",
        "
def application(environ, start_response):
    start_response(200, [('Content-Type', 'text/plain')])
    return [b'int']
",
    ),
    Habit::new(
        "status_of_http",
        "
import http

def application(environ, start_response):
    start_response(f'{http.HTTPStatus.CREATED.value} {http.HTTPStatus.CREATED.phrase}', [])
    return [b'made']
",
    ),
    Habit::new(
        "status_out_of_words",
        "
def application(environ, start_response):
    start_response('fine', [])
    return [b'words']
",
    ),
    Habit::new(
        "status_that_breaks_the_line",
        "
def application(environ, start_response):
    start_response('200 OK\\r\\nX-Smuggled: yes', [])
    return [b'broken']
",
    ),
    Habit::new(
        "length_of_words",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Length', 'five')])
    return [b'hello']
",
    ),
    Habit::new(
        "length_below_zero",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Length', '-5')])
    return [b'hello']
",
    ),
    Habit::new(
        "length_of_nothing",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Length', '')])
    return [b'hello']
",
    ),
    Habit::new(
        "length_with_spaces",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Length', ' 5 ')])
    return [b'hello']
",
    ),
    Habit::new(
        "length_as_int",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Length', 5), ('X-Number', 1.5)])
    return [b'hello']
",
    ),
    Habit::new(
        "length_twice",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Length', '5'), ('Content-Length', '5')])
    return [b'hello']
",
    ),
    Habit::new(
        "length_too_small",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Length', '3')])
    return [b'hello']
",
    ),
    Habit::new(
        "length_too_small_in_pieces",
        "
def application(environ, start_response):
    start_response('200 OK', [('Content-Length', '3')])
    yield b'he'
    yield b'llo'
    yield b'more'
",
    ),
    Habit::new(
        "fields_as_lists",
        "
def application(environ, start_response):
    start_response('200 OK', [['Content-Type', 'text/plain'], ['X-List', 'yes']])
    return [b'hello']
",
    ),
    Habit::new(
        "fields_as_items",
        "
def application(environ, start_response):
    start_response('200 OK', {'Content-Type': 'text/plain', 'X-Item': 'yes'}.items())
    return [b'hello']
",
    ),
    Habit::new(
        "fields_as_tuple",
        "
def application(environ, start_response):
    start_response('200 OK', (('Content-Type', 'text/plain'), ('X-Tuple', 'yes')))
    return [b'hello']
",
    ),
    Habit::new(
        "fields_of_bytes",
        "
def application(environ, start_response):
    start_response('200 OK', [(b'X-Bytes', b'yes')])
    return [b'hello']
",
    ),
    Habit::new(
        "fields_of_none",
        "
def application(environ, start_response):
    start_response('200 OK', [('X-None', None)])
    return [b'hello']
",
    ),
    Habit::new(
        "fields_with_spaces",
        "
def application(environ, start_response):
    start_response('200 OK', [('X-Spaces', '  a  b  ')])
    return [b'hello']
",
    ),
    Habit::new(
        "fields_with_space_in_name",
        "
def application(environ, start_response):
    start_response('200 OK', [('X Space', 'yes')])
    return [b'hello']
",
    ),
    Habit::new(
        "fields_without_name",
        "
def application(environ, start_response):
    start_response('200 OK', [('', 'yes')])
    return [b'hello']
",
    ),
    Habit::new(
        "fields_that_break_the_line",
        "
def application(environ, start_response):
    start_response('200 OK', [('X-Broken', 'a\\r\\nX-Smuggled: yes')])
    return [b'hello']
",
    ),
    Habit::new(
        "fields_beyond_latin",
        "
def application(environ, start_response):
    start_response('200 OK', [('X-Euro', '\\u20ac')])
    return [b'hello']
",
    ),
    Habit::new(
        "fields_of_the_connection",
        "
def application(environ, start_response):
    start_response('200 OK', [('Connection', 'keep-alive'), ('Keep-Alive', 'timeout=5'), ('Proxy-Authenticate', 'x'),
                              ('TE', 'trailers'), ('Trailers', 'x')])
    return [b'hello']
",
    ),
    Habit::new(
        "connection_close",
        "
def application(environ, start_response):
    start_response('200 OK', [('Connection', 'close')])
    return [b'hello']
",
    ),
    Habit::new(
        "started_twice",
        "
def application(environ, start_response):
    start_response('200 OK', [('X-First', 'yes')])
    start_response('404 Not Found', [('X-Second', 'yes')])
    return [b'hello']
",
    ),
    Habit::new(
        "started_behind_the_head",
        "
def application(environ, start_response):
    start_response('200 OK', [('X-First', 'yes')])
    yield b'hello'
    start_response('404 Not Found', [('X-Second', 'yes')])
",
    ),
    Habit::new(
        "started_in_close",
        "
class Body:
    def __init__(self, start_response):
        self.start_response = start_response

    def __iter__(self):
        return iter([b'hello'])

    def close(self):
        self.start_response('404 Not Found', [('X-Second', 'yes')])

def application(environ, start_response):
    start_response('200 OK', [('X-First', 'yes')])
    return Body(start_response)
",
    ),
    Habit::new(
        "started_never",
        "
def application(environ, start_response):
    return [b'hello']
",
    ),
    Habit::new(
        "started_late",
        "
def application(environ, start_response):
    yield b''
    start_response('200 OK', [('X-Late', 'yes')])
    yield b'hello'
",
    ),
    Habit::new(
        "started_by_keywords",
        "
def application(environ, start_response):
    start_response(status='200 OK', headers=[('X-Keyword', 'yes')])
    return [b'hello']
",
    ),
    Habit::new(
        "raises",
        "
def application(environ, start_response):
    raise RuntimeError('on purpose')
",
    ),
    Habit::new(
        "raises_after_the_start",
        "
def application(environ, start_response):
    start_response('200 OK', [('X-First', 'yes')])
    raise RuntimeError('on purpose')
",
    ),
    Habit::new(
        "raises_behind_the_head",
        "
def application(environ, start_response):
    start_response('200 OK', [('X-First', 'yes')])
    yield b'so far'
    raise RuntimeError('on purpose')
",
    ),
    Habit::new(
        "raises_in_close",
        "
class Body:
    def __iter__(self):
        return iter([b'hello'])

    def close(self):
        raise RuntimeError('on purpose')

def application(environ, start_response):
    start_response('200 OK', [('Content-Length', '5')])
    return Body()
",
    ),
    Habit::new(
        "no_content_type",
        "
def application(environ, start_response):
    start_response('200 OK', [])
    return [b'hello']
",
    ),
    Habit::new(
        "not_found_with_a_page",
        "
def application(environ, start_response):
    start_response('404 Not Found', [('Content-Type', 'text/html')])
    return [b'<h1>my own page</h1>']
",
    ),
    Habit::new(
        "interim_status",
        "
def application(environ, start_response):
    start_response('102 Processing', [])
    return []
",
    )
    .asked(&[Asked::plainly("GET /{} HTTP/1.0\r\n\r\n")]),
    Habit::new(
        "set_in_the_environment",
        "
def application(environ, start_response):
    environ['x'] = object()
    environ.clear()
    start_response('200 OK', [])
    return [b'hello']
",
    ),
];
