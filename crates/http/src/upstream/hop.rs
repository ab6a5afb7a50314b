//! Fields of requests that speak of one connection and end there (RFC 9110 section 7.6.1).

use smallvec::SmallVec;

use crate::chars;

/// Most options of the `Connection` fields of one head: each of them is looked for among all fields.
pub const MAX_OPTIONS: usize = 64;

/// Whether a field of a request is never passed on as it is. Those about bodies and upgrades are among them:
/// a proxy that passes a request on writes them anew.
pub fn is_hop_by_hop(name: &[u8]) -> bool {
    let text: &[u8] = match name.len() {
        2 => b"te",
        // No standard field, but CGI programs take it for a setting of theirs.
        5 => b"proxy",
        6 => b"expect",
        7 if name[0] | 0x20 == b'u' => b"upgrade",
        7 => b"trailer",
        10 if name[0] | 0x20 == b'c' => b"connection",
        10 => b"keep-alive",
        14 => b"content-length",
        16 => b"proxy-connection",
        17 => b"transfer-encoding",
        19 => b"proxy-authorization",
        _ => return false,
    };
    name.eq_ignore_ascii_case(text)
}

/// The fields that the `Connection` fields of a head name, so that they end here. `Host` cannot be taken away like
/// that.
#[derive(Debug, Default)]
pub struct NamedFields<'v>(SmallVec<[&'v [u8]; 4]>);

impl<'v> NamedFields<'v> {
    /// The fields that are named by `Connection` fields with these values, which have at most `MAX_OPTIONS` options.
    pub fn of(connection: impl Iterator<Item = &'v [u8]>) -> Self {
        let is_field = |option: &&[u8]| {
            ![&b"close"[..], b"keep-alive", b"host"].iter().any(|known| option.eq_ignore_ascii_case(known))
        };
        Self(connection.flat_map(chars::list).filter(is_field).take(MAX_OPTIONS).collect())
    }

    /// Whether this field is one of them.
    pub fn has(&self, name: &[u8]) -> bool {
        self.0.iter().any(|named| named.eq_ignore_ascii_case(name))
    }
}
