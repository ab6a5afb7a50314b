//! The headers of a server's response on their way to the client: as they are, or with those changed in which the
//! server speaks of itself.

mod cookie;
mod location;

use std::sync::Arc;

use corral_config::upstream::{LocationRewrite, ResponseRewrites};

use super::sticky;
use crate::exchange::response::ResponseWriter;
use crate::reply::{ServerMarks, disarm};
use crate::upstream::{LoopGroup, LoopServer};

/// Notes what is to become of the headers of this server's response.
pub(super) fn mark(
    response: &mut ResponseWriter<'_, '_>,
    (group, chosen): (&LoopGroup, usize),
    preferred: Option<usize>,
) {
    let server: &LoopServer = &group.servers[chosen];
    let rewrites = &server.shared.options.rewrites;
    if rewrites.is_none() && group.shared.sticky.is_none() {
        return;
    }
    let cookie = if preferred == Some(chosen) { None } else { sticky::cookie(response, group, chosen) };
    let rewrites = rewrites.as_ref().map(|rewrites| (Arc::clone(rewrites), server.shared.origin.clone()));
    response.reply.from_server = Some(Box::new(ServerMarks { cookie, rewrites }));
}

/// Takes the headers of a response over into the reply.
pub(super) fn take_over<'f>(
    response: &mut ResponseWriter<'_, '_>,
    fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
) {
    let Some(marks) = response.reply.from_server.take() else {
        fields.for_each(|(name, value)| response.reply.fields.push_checked(name, value));
        return;
    };
    let ServerMarks { cookie, rewrites } = *marks;
    for (name, value) in fields {
        let changed = rewrites.as_ref().and_then(|(rules, origin)| {
            rewritten(response, rules, |value| location::of_server(value, origin), (name, value))
        });
        match changed {
            Some(changed) => response.reply.fields.push(name, &changed),
            None => response.reply.fields.push_checked(name, value),
        }
    }
    if let Some(cookie) = cookie {
        response.reply.fields.push(b"Set-Cookie", &cookie);
    }
}

/// The new value of a header, if it gets one; `behind_own` finds what follows the server's own scheme, host and port.
fn rewritten(
    response: &ResponseWriter<'_, '_>,
    rules: &ResponseRewrites,
    behind_own: impl Fn(&[u8]) -> Option<&[u8]>,
    (name, value): (&[u8], &[u8]),
) -> Option<Vec<u8>> {
    if name.eq_ignore_ascii_case(b"Set-Cookie") {
        return rules.cookies.as_ref().map(|rules| cookie::rewrite(rules, value));
    }
    let start = location::start(name, value)?;
    let (before, url) = value.split_at(start);
    let mut changed = before.to_vec();
    match rules.location.as_ref()? {
        LocationRewrite::Own => {
            let rest = behind_own(url)?;
            // A path alone could be taken for a host.
            if !location::append_client_origin(response, &mut changed) {
                return None;
            }
            changed.extend_from_slice(rest);
        }
        LocationRewrite::Prefixes(prefixes) => {
            let (from, to) = prefixes.iter().find(|(from, _)| url.starts_with(from.as_bytes()))?;
            let begin = changed.len();
            // What throws changes nothing.
            to.render(&mut response.variables(), &mut changed).ok()?;
            disarm(&mut changed[begin..]);
            changed.extend_from_slice(&url[from.len()..]);
        }
    }
    Some(changed)
}
