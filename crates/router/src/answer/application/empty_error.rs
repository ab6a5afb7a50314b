//! Errors that an application answers with nothing: a person would see a blank page.
//!
//! Programs may count on the empty body, and Unit sends it. So only a client that asks for HTML by name gets a page, as
//! browsers do when they open an address; with `error_format` one that asks for JSON, too.

use corral_channel::message::ResponseView;
use corral_http::{list, trim};

use crate::exchange::request::RoutedRequest;

/// Whether the client of an empty response with an error gets a page.
pub(super) fn gets_page(request: &RoutedRequest<'_>, view: &ResponseView<'_>) -> bool {
    let mut fields = view.fields;
    let fits = fields.all(|(name, value)| match name.len() {
        12 if name.eq_ignore_ascii_case(b"content-type") => is_html(value),
        16 => !name.eq_ignore_ascii_case(b"content-encoding"),
        _ => true,
    });
    let wants_problem = || request.request_settings().negotiate_errors && request.wants_problem();
    fits && (names_html(request.values(b"Accept")) || wants_problem())
}

/// Whether HTML is among what is accepted, other than as a part of anything.
fn names_html<'v>(accept: impl Iterator<Item = &'v [u8]>) -> bool {
    accept.flat_map(list).any(is_html)
}

/// Whether a media type or range is that of HTML. One with a weight of 0 is refused.
fn is_html(text: &[u8]) -> bool {
    let mut parts = text.split(|&byte| byte == b';').map(trim);
    let name = parts.next().unwrap_or_default();
    let is_refused = parts.any(|part| matches!(part, b"q=0" | b"Q=0" | b"q=0.0" | b"q=0.00" | b"q=0.000"));
    name.eq_ignore_ascii_case(b"text/html") && !is_refused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(accept: &str, expected: bool) {
        assert_eq!(names_html([accept.as_bytes()].into_iter()), expected, "{accept}");
    }

    #[test]
    fn browsers_name_html() {
        check("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true);
        check("application/json, Text/HTML ;q=0.1", true);
        check("*/*", false);
        check("application/json, text/plain, */*", false);
        check("text/*", false);
        check("text/html;q=0", false);
        check("", false);
        assert!(!names_html([].into_iter()));
    }
}
