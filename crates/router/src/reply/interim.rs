//! Responses before the response: what a client may know while it waits (RFC 9110 section 15.2, RFC 8297). They are not
//! part of the reply: nothing is configured, stored, compressed or logged about them.

use corral_http::response::{self, ConnectionField, ReplyFraming, Trailer};
use corral_http::upstream::is_hop_by_hop;

/// Appends the head of one, without the fields that speak of a connection.
pub(crate) fn append<'f>(
    out: &mut Vec<u8>,
    status: u16,
    fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>,
) {
    let fields = fields.into_iter().filter(|(name, _)| !is_hop_by_hop(name));
    let trailer = Trailer {
        server: None,
        date: None,
        framing: ReplyFraming::NoBody,
        connection: ConnectionField::Unsaid,
    };
    response::append_head(out, status, fields, &trailer);
}
