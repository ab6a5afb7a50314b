//! Fields of requests that speak of one connection and end there (RFC 9110 section 7.6.1).

use crate::chars;

/// Whether a field of a request is never passed on as it is. Those about bodies and upgrades are among them:
/// who passes a request on writes them anew.
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

/// Whether one of these `Connection` fields names this field. `Host` cannot be taken away like that.
pub fn is_named<'v>(name: &[u8], mut connection: impl Iterator<Item = &'v [u8]>) -> bool {
    connection.any(|value| chars::list(value).any(|option| option.eq_ignore_ascii_case(name)))
        && !name.eq_ignore_ascii_case(b"host")
}
