//! `"headers": "secure"`: fields that make browsers careful with a reply.

use crate::reply::ReplyFields;

type SecureField = (&'static [u8], &'static [u8]);

/// The fields of all replies.
const FIELDS: [SecureField; 4] = [
    // A type is what it is said to be: an upload with markup in it is not a page.
    (b"X-Content-Type-Options", b"nosniff"),
    // No other site shows a page as a part of its own.
    (b"X-Frame-Options", b"SAMEORIGIN"),
    // Other sites are not told paths and queries.
    (b"Referrer-Policy", b"strict-origin-when-cross-origin"),
    // A page of another site that has opened this one has no hold on it.
    (b"Cross-Origin-Opener-Policy", b"same-origin"),
];

/// Browsers come by TLS for a year. Without TLS they do not obey it.
const TRANSPORT: SecureField = (b"Strict-Transport-Security", b"max-age=31536000");

/// Adds the fields that a reply does not have.
pub(crate) fn add(fields: &mut ReplyFields, is_tls: bool) {
    let transport = is_tls.then_some(TRANSPORT);
    for (name, value) in FIELDS.into_iter().chain(transport) {
        if fields.get(name).is_none() {
            fields.push(name, value);
        }
    }
}
