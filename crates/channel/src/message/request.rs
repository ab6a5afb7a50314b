//! The head of a request, on its way from router to worker.
//!
//! | offset | size | |
//! | --- | --- | --- |
//! | 0 | 4 | bytes of the head, these included; the body follows |
//! | 4 | 1 | minor version of HTTP/1 |
//! | 5 | 1 | flags: 1 TLS, 2 the body is complete, 4 there is a content length, 8 it asks for a WebSocket |
//! | 6 | 2 | local port |
//! | 8 | 2 | target of the application |
//! | 10 | 2 | the client's port |
//! | 12 | 4 | number of fields |
//! | 16 | 8 | content length |
//! | 24 | 40 | lengths of method, target, path, query, host, remote and local address, user, authentication, params |
//! | 64 | | these strings, then the fields |

use crate::message::reader::{PayloadReader, length, set_head_len, split_head};
use crate::message::{HeadFields, Malformed, fields};

const TLS: u8 = 1;
const BODY_COMPLETE: u8 = 2;
const HAS_LENGTH: u8 = 4;
const WEBSOCKET: u8 = 8;

const FIELD_COUNT: std::ops::Range<usize> = 12..16;

/// Everything about a request but its fields and its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestHead<'a> {
    /// As received.
    pub method: &'a [u8],
    /// As received, with the query.
    pub target: &'a [u8],
    /// Decoded and normalised.
    pub path: &'a [u8],
    /// Behind the first `?` of the target, as received; empty without one.
    pub query: &'a [u8],
    /// Normalised; empty when there is none.
    pub host: &'a [u8],
    /// The client's address as text.
    pub remote_addr: &'a [u8],
    /// The client's port; zero where it has none, or none is known.
    pub remote_port: u16,
    /// The user that the configuration has let pass; empty without one.
    pub remote_user: &'a [u8],
    /// How that was found out (`AUTH_TYPE`); empty without authentication.
    pub auth_type: &'a [u8],
    /// The address that it connected to, as text.
    pub local_addr: &'a [u8],
    /// The port that clients reach the server at; zero for a Unix socket.
    pub local_port: u16,
    /// The version of HTTP that the client speaks.
    pub version: Version,
    /// Whether the client speaks TLS.
    pub tls: bool,
    /// The application's target by number.
    pub app_target: u16,
    /// As declared, or known because the whole body was read.
    pub content_length: Option<u64>,
    /// The body behind the head is all of it; otherwise Body frames follow.
    pub body_complete: bool,
    /// Whether a WebSocket connection is asked for in a way that can be accepted (RFC 6455 section 4.2.1).
    pub websocket: bool,
    /// The variables of the configuration, as [`params::add`](super::params::add) writes them.
    pub params: &'a [u8],
}

/// A version of HTTP, as it is written into a request.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Version {
    /// HTTP/1.0
    #[default]
    Http10 = 0,
    /// HTTP/1.1
    Http11 = 1,
    /// HTTP/2
    Http2 = 2,
}

impl Version {
    fn of(byte: u8) -> Result<Self, Malformed> {
        match byte {
            0 => Ok(Self::Http10),
            1 => Ok(Self::Http11),
            2 => Ok(Self::Http2),
            number => Err(Malformed::Version { number }),
        }
    }
}

impl RequestHead<'_> {
    fn flags(&self) -> u8 {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        flag(self.tls, TLS)
            | flag(self.body_complete, BODY_COMPLETE)
            | flag(self.content_length.is_some(), HAS_LENGTH)
            | flag(self.websocket, WEBSOCKET)
    }
}

/// Appends the head to `out`. The body, as far as it is there, follows in the same payload.
///
/// # Panics
/// If the head has 4 GiB or more.
pub fn encode_request<'f>(
    out: &mut Vec<u8>,
    head: &RequestHead<'_>,
    fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>,
) {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, head.version as u8, head.flags()]);
    out.extend_from_slice(&head.local_port.to_le_bytes());
    out.extend_from_slice(&head.app_target.to_le_bytes());
    out.extend_from_slice(&head.remote_port.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&head.content_length.unwrap_or(0).to_le_bytes());
    let strings = [
        head.method,
        head.target,
        head.path,
        head.query,
        head.host,
        head.remote_addr,
        head.local_addr,
        head.remote_user,
        head.auth_type,
        head.params,
    ];
    for string in strings {
        out.extend_from_slice(&length(string).to_le_bytes());
    }
    for string in strings {
        out.extend_from_slice(string);
    }
    let n_fields = fields::encode(out, fields);
    out[start..][FIELD_COUNT].copy_from_slice(&n_fields.to_le_bytes());
    set_head_len(out, start);
}

/// A request as a worker sees it; borrowed from the payload.
#[derive(Debug, Clone, Copy)]
pub struct RequestView<'a> {
    /// All but the fields.
    pub head: RequestHead<'a>,
    /// In their order, as received.
    pub fields: HeadFields<'a>,
    /// The first bytes of the body.
    pub body: &'a [u8],
}

/// Reads the payload of a Request frame.
///
/// # Errors
/// When it is not what `encode_request` writes.
pub fn decode_request(payload: &[u8]) -> Result<RequestView<'_>, Malformed> {
    let (mut reader, body_offset) = split_head(payload)?;
    let version = Version::of(reader.u8()?)?;
    let flags = reader.u8()?;
    let local_port = reader.u16()?;
    let app_target = reader.u16()?;
    let remote_port = reader.u16()?;
    let n_fields = reader.u32()?;
    let content_length = reader.u64()?;
    let [method, target, path, query, host, remote_addr, local_addr, remote_user, auth_type, params] =
        strings(&mut reader)?;
    let head = RequestHead {
        method,
        target,
        path,
        query,
        host,
        remote_addr,
        remote_port,
        remote_user,
        auth_type,
        local_addr,
        local_port,
        version,
        tls: flags & TLS != 0,
        app_target,
        content_length: (flags & HAS_LENGTH != 0).then_some(content_length),
        body_complete: flags & BODY_COMPLETE != 0,
        websocket: flags & WEBSOCKET != 0,
        params,
    };
    let fields = HeadFields::decode(reader, n_fields, |_, _, _| Ok(()))?;
    Ok(RequestView { head, fields, body: &payload[body_offset..] })
}

fn strings<'a, const N: usize>(reader: &mut PayloadReader<'a>) -> Result<[&'a [u8]; N], Malformed> {
    let mut lengths = [0; N];
    for length in &mut lengths {
        *length = reader.u32()?;
    }
    let mut strings: [&[u8]; N] = [&[]; N];
    for (string, length) in strings.iter_mut().zip(lengths) {
        *string = reader.bytes(length)?;
    }
    Ok(strings)
}
