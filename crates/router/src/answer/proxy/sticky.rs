//! The cookie by which a client stays with the server that has answered it first.

use std::io::Write;

use corral_config::template::{Variable, Variables};

use crate::exchange::response::ResponseWriter;
use crate::storage::buffers;
use crate::upstream::LoopGroup;

/// The server that the client's cookie names.
pub(super) fn named(response: &ResponseWriter<'_, '_>, group: &LoopGroup) -> Option<usize> {
    let values = group.shared.sticky.as_ref()?;
    let rules = group.shared.upstream.sticky.as_ref()?;
    let mut value = buffers::take();
    response.variables().append(&Variable::Cookie(rules.cookie.clone().into_bytes()), &mut value);
    let server = values.server(&value);
    buffers::give(value);
    server
}

/// The value of `Set-Cookie` that has the client stay with a server.
pub(super) fn cookie(response: &ResponseWriter<'_, '_>, group: &LoopGroup, server: usize) -> Option<Vec<u8>> {
    let rules = group.shared.upstream.sticky.as_ref()?;
    let value = group.shared.sticky.as_ref()?.value(server)?;
    let mut cookie = format!("{}={value}; Path={}", rules.cookie, rules.path).into_bytes();
    let mut append =
        |text: std::fmt::Arguments<'_>| cookie.write_fmt(text).expect("writing to memory cannot fail");
    if let Some(domain) = &rules.domain {
        append(format_args!("; Domain={domain}"));
    }
    if let Some(seconds) = rules.max_age {
        append(format_args!("; Max-Age={seconds}"));
    }
    if rules.secure.unwrap_or(response.request.client.tls) {
        append(format_args!("; Secure"));
    }
    if rules.httponly {
        append(format_args!("; HttpOnly"));
    }
    if let Some(same_site) = rules.same_site {
        append(format_args!("; SameSite={same_site}"));
    }
    Some(cookie)
}
