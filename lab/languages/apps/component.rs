//! The contest's application as a component of WebAssembly.

use wasip2::http::types::{IncomingRequest, ResponseOutparam};
use ways::request::body_of;
use ways::respond::{respond, say};

wasip2::http::proxy::export!(Contest);

struct Contest;

impl wasip2::exports::http::incoming_handler::Guest for Contest {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        match request.path_with_query().as_deref() {
            Some("/hello") => say(out, "Hello, World!"),
            Some("/json") => {
                let text = format!("{{\"text\":\"{}\"}}", "x".repeat(16384 - 11));
                respond(out, 200, &[("content-type", b"application/json")], text.as_bytes());
            }
            _ => {
                let mut n = 0;
                body_of(&request, |piece| n += piece.len());
                say(out, &n.to_string());
            }
        }
    }
}
