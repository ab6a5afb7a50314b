//! Applications' habits, under Corral and under the server that their language has mostly: what that server accepts of
//! an application, Corral accepts.
//!
//! A habit is a small application and the requests to send. Each file below is a language: how its applications are
//! laid out, how its reference servers are started, and the habits. Both servers get the same bytes, and their replies
//! are compared less what is the servers' own affair (`reply.rs`). What differs all the same is declared, with the
//! reason; a declaration that is not needed any more fails as well.
//!
//! A further language is a file with a `Language`, a `Reference` for each of its servers, and a test that calls
//! `Language::compare`.

mod habit;
mod reply;
mod server;

mod asgi;
mod go;
mod java;
mod node;
mod php;
mod psgi;
mod rack;
mod wsgi;
