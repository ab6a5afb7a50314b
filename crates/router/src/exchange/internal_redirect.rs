//! `internal_redirect`: an answer that names a file or a path in its place, as `X-Sendfile` and `X-Accel-Redirect` do.

use corral_http::path::{self, PathError};

use super::response::ResponseWriter;
use crate::reply::ReplyFields;
use crate::request::routing::route_progress::StandIn;
use crate::storage::buffers;

/// Fields of the answer that are said of what stands in for it, too.
const KEPT: [&[u8]; 5] =
    [b"Content-Type", b"Content-Disposition", b"Cache-Control", b"Expires", b"Set-Cookie"];

impl ResponseWriter<'_, '_> {
    /// Notes what stands in for an answer with these fields, if they name something: the answer is to be dropped.
    pub(super) fn finds_redirect<'f>(&mut self, fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> bool {
        if !self.route.layers.iter().any(|layer| layer.options.internal_redirect.is_some()) {
            return false;
        }
        let (mut target, mut kept) = (None, ReplyFields::default());
        for (name, value) in fields {
            if is_target(name) {
                target = Some(value);
            } else if KEPT.iter().any(|kept| kept.eq_ignore_ascii_case(name)) {
                kept.push_checked(name, value);
            }
        }
        let Some(target) = target else { return false };
        let action = self.route.leave_to(|options| options.internal_redirect.as_deref());
        let Some(action) = action else { return false };
        self.route.stand_in = Some(match parse(target) {
            Ok((path, query)) => StandIn::Redirected { action, path, query },
            Err(cause) => {
                tracing::error!("the answer redirects to \"{}\": {cause}", target.escape_ascii());
                StandIn::Nothing(502)
            }
        });
        self.route.is_redirected = true;
        self.reply.fields.clear();
        self.reply.kept_fields = Some(Box::new(kept));
        true
    }

    /// Says of a reply what the answer has said in whose place it is. Errors are not what that was about.
    pub(super) fn restore_fields(&mut self, status: u16) {
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

/// The path that an answer names, and a query if it names one.
fn parse(target: &[u8]) -> Result<(Vec<u8>, Option<Vec<u8>>), RedirectError> {
    let target = &target[..memchr::memchr(b'#', target).unwrap_or(target.len())];
    let (path, query) = match memchr::memchr(b'?', target) {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    };
    if path.is_empty() {
        return Err(RedirectError::Empty);
    }
    if names_other_server(path) {
        return Err(RedirectError::Url);
    }
    let mut decoded = buffers::take();
    let mut normalised = buffers::take();
    // Escapes once, and then what a path is that begins anywhere.
    let result =
        path::normalise(path, &mut decoded).and_then(|()| path::normalise_decoded(&decoded, &mut normalised));
    buffers::give(decoded);
    result?;
    let query = query.map(|query| {
        let mut text = buffers::take();
        path::append_query(query, &mut text);
        text
    });
    Ok((normalised, query))
}

/// Why an answer leads nowhere.
#[derive(Debug, thiserror::Error)]
enum RedirectError {
    #[error("it names no path")]
    Empty,
    #[error("a URL is not a path")]
    Url,
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Whether this is a URL with a scheme.
fn names_other_server(path: &[u8]) -> bool {
    let scheme = memchr::memmem::find(path, b"://").map(|end| &path[..end]);
    scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.iter().all(u8::is_ascii_alphanumeric))
}

fn is_target(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"X-Accel-Redirect") || name.eq_ignore_ascii_case(b"X-Sendfile")
}
