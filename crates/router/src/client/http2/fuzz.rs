//! Invariants of heads that fuzzing checks: the one of HTTP/1 says what the one of HTTP/2 has said, and nothing more.

use corral_http::request::{HeadProgress, HeadRules, ParsedHead, parse_head};
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Uri};

use super::head::{StreamKind, append};

/// Takes lines for what `h2` has decoded: method, authority, target, and fields with `:` behind their names.
///
/// # Panics
/// When an invariant does not hold.
pub(crate) fn head(data: &[u8]) {
    let Some((&options, data)) = data.split_first() else { return };
    let Some(parts) = parts(data) else { return };
    let kind = if options & 1 == 0 { StreamKind::Plain } else { StreamKind::WebSocket };
    let mut written = Vec::new();
    append(&parts, kind, options & 2 == 0, &mut written);
    let mut rules = HeadRules::from_buffers(1 << 20, 4);
    rules.discard_unsafe_fields = options & 4 == 0;
    (rules.chunked_permitted, rules.is_stream) = (true, true);
    let mut head = ParsedHead::default();
    match parse_head(&mut head, &written, &rules) {
        Ok(HeadProgress::Complete { len }) => {
            assert_eq!(len, written.len(), "there is something behind the head");
            check(&parts, kind, &head, &written, rules.discard_unsafe_fields);
        }
        Ok(HeadProgress::Partial) => panic!("a head without an end"),
        Err(_) => {}
    }
}

fn check(parts: &Parts, kind: StreamKind, head: &ParsedHead, written: &[u8], discards: bool) {
    let method = if kind == StreamKind::WebSocket { &Method::GET } else { &parts.method };
    assert_eq!(head.method(written), method.as_str().as_bytes());
    if let Some(target) = parts.uri.path_and_query() {
        assert_eq!(head.sent_target(written), target.as_str().as_bytes());
    }
    // Every field was there before, or is one that this server adds.
    for (name, value) in head.fields(written) {
        let added: &[&[u8]] =
            &[b"host", b"cookie", b"transfer-encoding", b"connection", b"upgrade", b"sec-websocket-key"];
        let name = HeaderName::from_bytes(name).expect("a name");
        let is_theirs =
            parts.headers.get_all(&name).iter().any(|theirs| theirs.as_bytes().trim_ascii() == value);
        assert!(is_theirs || added.contains(&name.as_str().as_bytes()), "{name} comes from nowhere");
    }
    let is_kept = |name: &HeaderName| !matches!(*name, header::HOST | header::COOKIE);
    let n_theirs = parts
        .headers
        .keys()
        .filter(|name| is_kept(name))
        .map(|name| parts.headers.get_all(name).iter().count());
    assert!(discards || head.fields(written).len() >= n_theirs.sum(), "fields are lost");
}

/// A head that `h2` could have decoded: it refuses fields of connections itself (RFC 9113 section 8.2.2).
fn parts(data: &[u8]) -> Option<Parts> {
    let mut lines = data.split(|&byte| byte == b'\n');
    let method = Method::from_bytes(lines.next()?).ok()?;
    let (authority, target) = (lines.next()?, lines.next()?);
    let mut uri = http::uri::Parts::default();
    uri.scheme = Some(http::uri::Scheme::HTTPS);
    uri.authority = Some(authority.try_into().ok()?);
    uri.path_and_query = Some(target.try_into().ok()?);
    let mut request = Request::new(());
    (*request.method_mut(), *request.uri_mut()) = (method, Uri::from_parts(uri).ok()?);
    for line in lines.filter(|line| !line.is_empty()) {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let is_of_connection =
            matches!(name, header::CONNECTION | header::TRANSFER_ENCODING | header::UPGRADE)
                || matches!(name.as_str(), "keep-alive" | "proxy-connection");
        if !is_of_connection {
            request.headers_mut().append(name, HeaderValue::from_bytes(&line[colon + 1..]).ok()?);
        }
    }
    Some(request.into_parts().0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn heads_say_the_same() {
        let heads = [
            "GET\na.example\n/b?c=d\ncookie: a=1\nx: y\ncookie: b=2",
            "POST\n[::1]:80\n/%2e%2e/\ncontent-length: 3\nx_y: z",
            "MADE-UP\na\n*\nhost: b",
            "GET\na\n/\nexpect: 100-continue\nx: \u{e4}\nx:  two \nsec-websocket-key: 1",
        ];
        for options in 0..8 {
            heads.iter().for_each(|head| super::head(&[&[options], head.as_bytes()].concat()));
        }
    }
}
