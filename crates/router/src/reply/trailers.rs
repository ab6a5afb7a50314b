//! Fields behind a body on their way to the client.

use corral_channel::message::check_trailers;
use corral_http::response;

/// The fields as they are sent, without those that clients may not look for there.
pub(crate) fn lines<'f>(fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Vec<u8> {
    let mut lines = Vec::new();
    let is_allowed = |field: &(&[u8], &[u8])| check_trailers([*field]).is_ok();
    for (name, value) in fields.filter(is_allowed) {
        response::append_field(&mut lines, name, value);
    }
    lines
}
