//! Habits that ASGI forbids, or does not mention.

use super::super::habit::Habit;

/// An application that sends these headers and then one event with this body, both in Python.
macro_rules! answering {
    ($headers:literal, $body:literal) => {
        concat!(
            "\nasync def application(scope, receive, send):\n",
            "    await send({'type': 'http.response.start', 'status': 200, 'headers': [",
            $headers,
            "]})\n    await send({'type': 'http.response.body', 'body': ",
            $body,
            "})\n"
        )
    };
}

pub(super) const HABITS: &[Habit] = &[
    Habit::new(
        "version_2",
        "
class application:
    def __init__(self, scope):
        self.scope = scope

    async def __call__(self, receive, send):
        await send({'type': 'http.response.start', 'status': 200})
        await send({'type': 'http.response.body', 'body': b'twice'})

call_twice = application

async def application(scope, receive, send):
    await call_twice(scope)(receive, send)
",
    ),
    Habit::new(
        "start_without_body",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'x-only', b'start')]})
",
    )
    .logged("the application returns before it has sent the end"),
    Habit::new("more_body_at_the_end", answering!("", "b'hello', 'more_body': True")),
    Habit::new("short_of_its_length", answering!("(b'content-length', b'11')", "b'hello'")),
    Habit::new(
        "short_of_its_length_and_unended",
        answering!("(b'content-length', b'11')", "b'hello', 'more_body': True"),
    ),
    Habit::new("beyond_its_length", answering!("(b'content-length', b'3')", "b'hello'")),
    Habit::new("length_of_words", answering!("(b'content-length', b'five')", "b'hello'")),
    Habit::new("length_and_unended", answering!("(b'content-length', b'5')", "b'hello', 'more_body': True")),
    Habit::new(
        "bytearray",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': bytearray(b'hello '), 'more_body': True})
    await send({'type': 'http.response.body', 'body': memoryview(b'world')})
",
    ),
    Habit::new("body_of_str", answering!("", "'hello'")),
    Habit::new("body_of_none", answering!("", "None")),
    Habit::new("fields_of_str", answering!("('x-text', 'yes')", "b'hello'"))
        .logged("the application gives names or values of headers as strings"),
    Habit::new(
        "fields_of_bytearray",
        "
async def application(scope, receive, send):
    headers = [(bytearray(b'x-array'), bytearray(b'yes'))]
    await send({'type': 'http.response.start', 'status': 200, 'headers': headers})
    await send({'type': 'http.response.body', 'body': b'hello'})
",
    ),
    Habit::new(
        "fields_as_generator",
        "
async def application(scope, receive, send):
    headers = {b'x-one': b'1', b'x-two': b'2'}
    await send({'type': 'http.response.start', 'status': 200, 'headers': list(headers.items())})
    await send({'type': 'http.response.body', 'body': b'hello'})
",
    ),
    Habit::new(
        "fields_that_break_the_line",
        "
async def application(scope, receive, send):
    headers = [(b'x-broken', b'a\\r\\nx-smuggled: yes')]
    await send({'type': 'http.response.start', 'status': 200, 'headers': headers})
    await send({'type': 'http.response.body', 'body': b'hello'})
",
    ),
    Habit::new("fields_with_space_in_name", answering!("(b'x space', b'yes')", "b'hello'")),
    Habit::new(
        "status_of_http",
        "
from http import HTTPStatus

async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': HTTPStatus.CREATED})
    await send({'type': 'http.response.body', 'body': b'made'})
",
    ),
    Habit::new(
        "status_of_str",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': '200'})
    await send({'type': 'http.response.body', 'body': b'hello'})
",
    ),
    Habit::new(
        "body_before_the_start",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.body', 'body': b'hello'})
",
    ),
    Habit::new(
        "started_twice",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.start', 'status': 404})
    await send({'type': 'http.response.body', 'body': b'hello'})
",
    ),
    Habit::new(
        "more_after_the_end",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'hello'})
    await send({'type': 'http.response.body', 'body': b'more'})
",
    ),
    Habit::new(
        "no_response",
        "
async def application(scope, receive, send):
    return 'something'
",
    ),
    Habit::new(
        "returns_something",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'hello'})
    return 'something'
",
    ),
    Habit::new(
        "unknown_event",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.push', 'path': '/'})
",
    ),
    Habit::new(
        "raises",
        "
async def application(scope, receive, send):
    raise RuntimeError('on purpose')
",
    ),
    Habit::new(
        "raises_after_the_start",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    raise RuntimeError('on purpose')
",
    ),
    Habit::new(
        "raises_in_the_body",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'so far', 'more_body': True})
    raise RuntimeError('on purpose')
",
    ),
    Habit::new(
        "raises_after_the_end",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'hello'})
    raise RuntimeError('on purpose')
",
    ),
    Habit::new(
        "changes_its_scope",
        "
async def application(scope, receive, send):
    scope.clear()
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'hello'})
",
    ),
    Habit::new("connection_close", answering!("(b'connection', b'close')", "b'hello'")),
];
