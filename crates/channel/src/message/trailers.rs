//! The fields behind a response's body (RFC 9110 section 6.5), on their way from worker to router.
//!
//! | offset | size | |
//! | --- | --- | --- |
//! | 0 | 4 | bytes of all of it, these included |
//! | 4 | 4 | number of fields |
//! | 8 | | the fields |

use crate::message::reader::{set_head_len, split_head};
use crate::message::{HeadFields, Malformed, fields};

const FIELD_COUNT: std::ops::Range<usize> = 4..8;

/// Appends fields that [`check_trailers`] accepts; the router refuses others.
pub fn encode_trailers<'f>(out: &mut Vec<u8>, fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>) {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    let n_fields = fields::encode(out, fields);
    out[start..][FIELD_COUNT].copy_from_slice(&n_fields.to_le_bytes());
    set_head_len(out, start);
}

/// Reads the payload of a Trailers frame.
///
/// # Errors
/// As [`check_trailers`], and when it is none.
pub fn decode_trailers(payload: &[u8]) -> Result<HeadFields<'_>, Malformed> {
    let (mut reader, _) = split_head(payload)?;
    let n_fields = reader.u32()?;
    HeadFields::decode(reader, n_fields, check)
}

/// Whether fields may be behind a body.
///
/// # Errors
/// For names and values that no response can have, and for fields that are not looked for there.
pub fn check_trailers<'f>(fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>) -> Result<(), Malformed> {
    fields.into_iter().enumerate().try_for_each(|(index, (name, value))| check(index, name, value))
}

fn check(index: usize, name: &[u8], value: &[u8]) -> Result<(), Malformed> {
    fields::check_response_field(index, name, value)?;
    let is_condition = name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case(b"if-"));
    if is_condition || FORBIDDEN.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        return Err(Malformed::Trailer { index });
    }
    Ok(())
}

/// Fields that have to be known before the body: they frame the message, route or modify the request, authenticate,
/// control what becomes of the response, or say how to read its content (RFC 9110 section 6.5.1).
const FORBIDDEN: [&[u8]; 37] = [
    b"age",
    b"authorization",
    b"cache-control",
    b"connection",
    b"content-encoding",
    b"content-length",
    b"content-range",
    b"content-type",
    b"cookie",
    b"date",
    b"expect",
    b"expires",
    b"host",
    b"keep-alive",
    b"location",
    b"max-forwards",
    b"pragma",
    b"proxy-authenticate",
    b"proxy-authentication-info",
    b"proxy-authorization",
    b"proxy-connection",
    b"range",
    b"retry-after",
    b"sec-websocket-accept",
    b"sec-websocket-extensions",
    b"sec-websocket-protocol",
    b"server",
    b"set-cookie",
    b"status",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    b"vary",
    b"via",
    b"warning",
    b"www-authenticate",
];
