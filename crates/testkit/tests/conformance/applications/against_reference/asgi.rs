//! ASGI: the examples of its specification and what applications get away with under uvicorn.

mod examples;
mod liberties;
mod sockets;

use std::net::SocketAddr;
use std::process::Command;

use corral_testkit::Site;
use serde_json::json;

use super::habit::{Difference, Habit, Language, Reference};

const LANGUAGE: Language = Language {
    habits: &[examples::HABITS, liberties::HABITS, sockets::HABITS],
    write,
    application: |site| json!({ "type": "python", "path": site.root(), "module": "app" }),
};

fn write(site: &Site, habits: &[Habit]) {
    site.write("app.py", DISPATCHER);
    for habit in habits {
        site.write(&format!("habits/{}.py", habit.name), habit.source);
    }
}

/// Gives a request to the module that its path names.
const DISPATCHER: &str = "
import importlib

async def application(scope, receive, send):
    if scope['type'] == 'lifespan':
        return
    name = scope['path'].split('/')[1]
    if name:
        return await importlib.import_module('habits.' + name).application(scope, receive, send)
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body'})
";

#[test]
fn asgi_as_uvicorn() {
    LANGUAGE.compare(&Reference {
        name: "uvicorn",
        command: uvicorn,
        is_refusal: |reply| {
            let says = |text: &str| reply.fields == [("content-type".into(), text.into())];
            match reply.status {
                400 | 426 => reply.body.is_empty(),
                500 => says("text/plain; charset=utf-8"),
                _ => false,
            }
        },
        differences: &[
            Difference { habits: &["paths"], because: "the path is normalised, as in Unit" },
            Difference {
                habits: &["started_twice", "body_of_str", "raises_after_the_start", "raises_in_the_body"],
                because: "a head without any of its body is not sent before something else fails",
            },
            Difference {
                habits: &["socket_raises"],
                because: "the client is told of the exception by a close with 1011, as in Unit",
            },
        ],
    });
}

fn uvicorn(_: &Site, address: SocketAddr) -> Command {
    let mut command = Command::new("/usr/bin/uvicorn");
    command.args(["--host", &address.ip().to_string(), "--port", &address.port().to_string()]);
    command.args(["--timeout-keep-alive", "30", "app:application"]);
    command
}
