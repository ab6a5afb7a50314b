//! WebSocket connections of ASGI applications: how they begin, and how they end.

use super::super::habit::{Asked, Habit};

/// Asks to be connected, and then sends a text and a close.
const TALK: &[Asked] = &[Asked {
    request: concat!(
        "GET /{} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
        "Sec-WebSocket-Protocol: chat, talk\r\n\r\n"
    ),
    upgraded: b"\x81\x82\0\0\0\0hi\x88\x85\0\0\0\0\x03\xe8bye",
}];

/// Asks to be connected, and says nothing.
const LISTEN: &[Asked] = &[Asked { upgraded: b"", ..TALK[0] }];

pub(super) const HABITS: &[Habit] = &[
    Habit::new(
        "socket_echo",
        "
async def application(scope, receive, send):
    assert (await receive())['type'] == 'websocket.connect'
    await send({'type': 'websocket.accept', 'subprotocol': 'talk', 'headers': [(b'x-own', b'yes')]})
    while True:
        event = await receive()
        if event['type'] == 'websocket.disconnect':
            break
        await send({'type': 'websocket.send', 'text': event['text']})
",
    )
    .asked(TALK),
    Habit::new(
        "socket_closed_without_code",
        "
async def application(scope, receive, send):
    await receive()
    await send({'type': 'websocket.accept'})
    await send({'type': 'websocket.close'})
",
    )
    .asked(LISTEN),
    Habit::new(
        "socket_closed_with_code",
        "
async def application(scope, receive, send):
    await receive()
    await send({'type': 'websocket.accept'})
    await send({'type': 'websocket.send', 'bytes': b'last words'})
    await send({'type': 'websocket.close', 'code': 4001, 'reason': 'enough'})
",
    )
    .asked(LISTEN),
    Habit::new(
        "socket_raises",
        "
async def application(scope, receive, send):
    await receive()
    await send({'type': 'websocket.accept'})
    raise RuntimeError('on purpose')
",
    )
    .asked(LISTEN),
    Habit::new(
        "socket_refused",
        "
async def application(scope, receive, send):
    await receive()
    await send({'type': 'websocket.close'})
",
    )
    .asked(LISTEN),
    Habit::new(
        "socket_ignored",
        "
async def application(scope, receive, send):
    await receive()
",
    )
    .asked(LISTEN),
    Habit::new(
        "socket_raises_before_it_accepts",
        "
async def application(scope, receive, send):
    raise RuntimeError('on purpose')
",
    )
    .asked(LISTEN),
    Habit::new(
        "socket_asked_badly",
        "
async def application(scope, receive, send):
    assert scope['type'] == 'websocket'
    await receive()
    await send({'type': 'websocket.accept'})
",
    )
    .asked(&[
        Asked::plainly(concat!(
            "GET /{} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 8\r\n\r\n"
        )),
        Asked::plainly(concat!(
            "GET /{} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )),
        Asked::plainly(concat!(
            "GET /{} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
            "Sec-WebSocket-Version: 13\r\n\r\n"
        )),
        Asked::plainly(concat!(
            "POST /{} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )),
    ]),
];
