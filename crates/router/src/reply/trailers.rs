//! Fields behind a body that came in chunks, on their way to the client.

use corral_channel::message::check_trailers;
use corral_http::chunked::Decoder;
use corral_http::response;

/// The fields that the decoder has kept as they are sent, without those that nobody may look for there.
pub(crate) fn lines(decoder: &Decoder) -> Vec<u8> {
    let mut lines = Vec::new();
    let is_allowed = |field: &(&[u8], &[u8])| check_trailers([*field]).is_ok();
    for (name, value) in decoder.trailers().filter(is_allowed) {
        response::append_field(&mut lines, name, value);
    }
    lines
}
