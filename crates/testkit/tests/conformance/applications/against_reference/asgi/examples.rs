//! Examples of ASGI's specification, and each thing that it lets applications do with a request.

use super::super::habit::{Asked, Habit, STATUSES};

pub(super) const HABITS: &[Habit] = &[
    Habit::new(
        "function",
        "
async def application(scope, receive, send):
    assert scope['type'] == 'http'
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-type', b'text/plain')]})
    await send({'type': 'http.response.body', 'body': b'Hello world!'})
",
    ),
    Habit::new(
        "object",
        "
class Application:
    async def __call__(self, scope, receive, send):
        await send({'type': 'http.response.start', 'status': 200, 'headers': [[b'x-kind', b'object']]})
        await send({'type': 'http.response.body', 'body': b'Hello ', 'more_body': True})
        await send({'type': 'http.response.body', 'body': b'world!', 'more_body': False})

application = Application()
",
    ),
    Habit::new(
        "scope",
        "
async def application(scope, receive, send):
    names = ['type', 'http_version', 'method', 'scheme', 'path', 'query_string', 'root_path']
    told = [f'{name}={scope[name]!r}' for name in names]
    told += [repr(pair) for pair in scope['headers']]
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-type', b'text/plain')]})
    await send({'type': 'http.response.body', 'body': '\\n'.join(told).encode()})
",
    )
    .asked(&[
        Asked::plainly(
            "GET /{}/a%20b%C3%BC?c=%41&d HTTP/1.1\r\nHost: example.org:80\r\nX-One: 1\r\nX-ONE: 2\r\n\r\n",
        ),
        Asked::plainly("PUT /{} HTTP/1.0\r\nHost: a\r\nContent-Length: 0\r\n\r\n"),
    ]),
    Habit::new(
        "paths",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': repr((scope['path'], scope['raw_path'])).encode()})
",
    )
    .asked(&[
        Asked::plainly("GET /{}//a/./b/../c HTTP/1.1\r\nHost: a\r\n\r\n"),
        Asked::plainly("GET /{}/%2e%2e/{}/a%2Fb HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]),
    Habit::new(
        "body",
        "
async def read_body(receive):
    body = b''
    more_body = True
    while more_body:
        message = await receive()
        body += message.get('body', b'')
        more_body = message.get('more_body', False)
    return body

async def application(scope, receive, send):
    body = await read_body(receive)
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': body})
",
    )
    .asked(&[
        Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\none\ntwo\n3"),
        Asked::plainly("POST /{} HTTP/1.0\r\nContent-Length: 4\r\n\r\nabcd"),
        Asked::plainly("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]),
    Habit::new(
        "body_that_nobody_reads",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'not of interest'})
",
    )
    .asked(&[Asked::plainly("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\none\ntwo\n3")]),
    Habit::new(
        "statuses",
        "
async def application(scope, receive, send):
    status = int(scope['query_string'])
    await send({'type': 'http.response.start', 'status': status, 'headers': [(b'x-status', b'mine')]})
    await send({'type': 'http.response.body'})
",
    )
    .asked(STATUSES),
    Habit::new(
        "fields",
        "
async def application(scope, receive, send):
    headers = [(b'Set-Cookie', b'a=1'), (b'set-cookie', b'b=2'), (b'x-empty', b''), (b'x-latin', b'\\xfc'),
               (b'x-long', b'a' * 3000), (b'location', b'/elsewhere')]
    await send({'type': 'http.response.start', 'status': 200, 'headers': headers})
    await send({'type': 'http.response.body', 'body': b''})
",
    ),
    Habit::new(
        "length",
        "
async def application(scope, receive, send):
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'11')]})
    await send({'type': 'http.response.body', 'body': b'hello ', 'more_body': True})
    await send({'type': 'http.response.body', 'body': b'world'})
",
    ),
    Habit::new(
        "receive_after_the_response",
        "
async def application(scope, receive, send):
    await receive()
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': b'hello'})
    assert await receive() == {'type': 'http.disconnect'}
",
    ),
];
