//! ASGI beyond what all languages do.

mod bodies;
mod lifespan;
mod responses;
mod scope;
mod threads;
mod turns;

/// An application with this body for requests.
pub(crate) fn handling(body: &str) -> String {
    format!(
        "import asyncio, json, os, sys

async def answer(send, body, status=200):
    body = body if isinstance(body, bytes) else str(body).encode()
    await send({{'type': 'http.response.start', 'status': status, 'headers': []}})
    await send({{'type': 'http.response.body', 'body': body}})

async def application(scope, receive, send):
    assert scope['type'] == 'http', scope['type']
    {}
",
        body.replace('\n', "\n    ")
    )
}
