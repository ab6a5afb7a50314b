//! Python as an application and its visitors see it.

mod asgi;
mod body;
mod early_hints;
mod environ;
mod errors;
mod files;
mod life;
mod manual;
mod responses;
mod setup;
mod threads;
mod trailers;
mod websocket;
mod websocket_ends;
mod websocket_floods;

use corral_testkit::{Daemon, Site, daemon, python_app, site};

/// A server with this `app.py`.
#[track_caller]
pub(crate) fn app(code: &str) -> (Site, Daemon) {
    let site = site().file("app.py", code);
    let server = daemon().python(python_app(&site)).start();
    (site, server)
}

/// A server whose application answers 200 with the bytes that this function body returns for `environ`.
#[track_caller]
pub(crate) fn answering(code: &str) -> (Site, Daemon) {
    let body = code.replace('\n', "\n    ");
    app(&format!(
        "import json, os, sys, threading, time

def answer(environ):
    {body}

def application(environ, start_response):
    body = answer(environ)
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [body if isinstance(body, bytes) else json.dumps(body).encode()]
"
    ))
}
