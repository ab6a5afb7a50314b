//! `internal_redirect`: an answer that names a file or a path in its place, as `X-Sendfile` and `X-Accel-Redirect` do.

use corral_http::path;

use crate::exchange::Exchange;
use crate::reply::Fields;
use crate::request::routing::way::StandIn;
use crate::storage::buffers;

/// Fields of the answer that are said of what stands in for it, too.
const KEPT: [&[u8]; 5] =
    [b"Content-Type", b"Content-Disposition", b"Cache-Control", b"Expires", b"Set-Cookie"];

impl<'c> Exchange<'c> {
    /// Notes what stands in for an answer with these fields, if they name something: the answer is to be dropped.
    pub(super) fn finds_redirect<'f>(&mut self, fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> bool {
        let Some(action) = self.way.internal_redirect else { return false };
        let (mut target, mut kept) = (None, Fields::default());
        for (name, value) in fields {
            if is_target(name) {
                target = Some(value);
            } else if KEPT.iter().any(|kept| kept.eq_ignore_ascii_case(name)) {
                kept.push_checked(name, value);
            }
        }
        let Some(target) = target else { return false };
        let end = memchr::memchr2(b'?', b'#', target).unwrap_or(target.len());
        let mut path = self.rewritten.take().unwrap_or_else(buffers::take);
        let normalised = path::normalise(&target[..end], &mut path);
        self.rewritten = Some(path);
        self.way.stand_in = Some(match normalised {
            Ok(()) => StandIn::Action(action),
            Err(cause) => {
                tracing::error!("the answer redirects to \"{}\": {cause}", target.escape_ascii());
                StandIn::Nothing(502)
            }
        });
        self.way.is_redirected = true;
        self.reply.fields.clear();
        self.reply.kept_fields = Some(Box::new(kept));
        true
    }

    /// Says of a reply what the answer has said in whose place it is. Errors are not what that was about.
    pub(in crate::exchange) fn restore_fields(&mut self, status: u16) {
        let Some(kept) = self.reply.kept_fields.take().filter(|_| matches!(status, 200 | 206 | 304)) else {
            return;
        };
        let fields = &mut self.reply.fields;
        // Without parts of other types in it.
        let is_one = fields.get(b"Content-Type").is_none_or(|is| !is.starts_with(b"multipart/byteranges"));
        for (name, value) in kept.iter() {
            if name.eq_ignore_ascii_case(b"Set-Cookie") {
                fields.push(name, value);
            } else if !name.eq_ignore_ascii_case(b"Content-Type") || (status != 304 && is_one) {
                fields.set(name, value);
            }
        }
    }
}

fn is_target(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"X-Accel-Redirect") || name.eq_ignore_ascii_case(b"X-Sendfile")
}
