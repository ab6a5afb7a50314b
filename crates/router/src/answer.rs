//! The answers to a request: by files, another server, or an application.

pub(crate) mod application;
pub(crate) mod authenticate;
mod description;
pub(crate) mod gateway;
pub(crate) mod hijack;
pub(crate) mod program;
pub(crate) mod proxy;
pub(crate) mod returned;
pub(crate) mod share;
pub(crate) mod websocket;
