//! The head of a response, on its way from worker to router.
//!
//! | offset | size | |
//! | --- | --- | --- |
//! | 0 | 4 | bytes of the head, these included; the body follows |
//! | 4 | 2 | status |
//! | 6 | 2 | 1 for a refusal: the router sends its own page for the status; else 0 |
//! | 8 | 4 | number of fields |
//! | 12 | | the fields |

use crate::message::reader::{set_head_len, split_head};
use crate::message::{HeadFields, Malformed, fields};

const FIELD_COUNT: std::ops::Range<usize> = 8..12;
const KIND: std::ops::Range<usize> = 6..8;
const REFUSAL: u16 = 1;

/// Appends a head to `out`. The body, as far as it is there, follows in the same payload.
///
/// The router refuses a status outside 100 to 999, names that are not tokens and values with CR, LF or
/// NUL; they are not looked at here.
///
/// # Panics
/// If the head has 4 GiB or more.
pub fn encode_response<'f>(
    out: &mut Vec<u8>,
    status: u16,
    fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>,
) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&[0; 6]);
    let n_fields = fields::encode(out, fields);
    out[start..][FIELD_COUNT].copy_from_slice(&n_fields.to_le_bytes());
    set_head_len(out, start);
}

/// Appends the head of a response that the application has no part in, such as that of a script which is not there.
/// Nothing follows it.
pub fn encode_refusal(out: &mut Vec<u8>, status: u16) {
    let start = out.len();
    encode_response(out, status, []);
    out[start..][KIND].copy_from_slice(&REFUSAL.to_le_bytes());
}

/// The head of a response, fit to be written to a client; borrowed from the payload.
#[derive(Debug, Clone, Copy)]
pub struct ResponseView<'a> {
    /// 100 to 999.
    pub status: u16,
    /// In their order; tokens as names, values without CR, LF and NUL.
    pub fields: HeadFields<'a>,
    /// The application has no part in it.
    pub is_refusal: bool,
}

/// Reads the payload of a Response frame and says where in it the body begins.
///
/// # Errors
/// For everything that must not reach a client, see [`Malformed`].
pub fn decode_response(payload: &[u8]) -> Result<(ResponseView<'_>, usize), Malformed> {
    let (mut reader, body_offset) = split_head(payload)?;
    let status = reader.u16()?;
    let is_refusal = reader.u16()? == REFUSAL;
    let n_fields = reader.u32()?;
    if !(100..=999).contains(&status) {
        return Err(Malformed::Status { status });
    }
    let fields = HeadFields::decode(reader, n_fields, fields::check_response_field)?;
    Ok((ResponseView { status, fields, is_refusal }, body_offset))
}

/// Appends the head of an informational response, which has no body. What the router would refuse is refused here: an
/// application can be told, while the client waits for the response.
///
/// # Errors
/// As for [`decode_informational`]; `out` is as it was then.
pub fn encode_informational<'f>(
    out: &mut Vec<u8>,
    status: u16,
    fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>,
) -> Result<(), Malformed> {
    let start = out.len();
    encode_response(out, status, fields);
    let checked = decode_informational(&out[start..]).map(|_| ());
    if checked.is_err() {
        out.truncate(start);
    }
    checked
}

/// Reads the payload of an Informational frame.
///
/// # Errors
/// As for [`decode_response`]; also for 100 and 101, which are the router's own words.
pub fn decode_informational(payload: &[u8]) -> Result<ResponseView<'_>, Malformed> {
    let (view, _) = decode_response(payload)?;
    if !(102..200).contains(&view.status) {
        return Err(Malformed::Status { status: view.status });
    }
    Ok(view)
}
