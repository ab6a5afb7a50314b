//! `https_only`: clients without TLS are sent to where it is spoken, and those with it are told to come back that way.

use corral_config::listener::HttpsOnly;
use corral_http::path::append_location;
use corral_syntax::is_ipv6_literal;
use smallvec::SmallVec;

use super::request::RoutedRequest;
use super::response::ResponseWriter;
use crate::reply::ReplyFields;
use crate::request::client::Gone;
use crate::request::head::ReceivedRequest;
use crate::storage::buffers;

/// The port that URLs with `https` need not name.
const HTTPS_PORT: u16 = 443;

/// The field that makes browsers come by TLS (RFC 6797 section 6.1).
const TRANSPORT_SECURITY: &[u8] = b"Strict-Transport-Security";

/// The listener's rule, if the client breaks it: it does not speak TLS, neither to this server nor to a trusted one
/// in front of it. `OPTIONS *` names nothing that it could be sent to.
#[inline]
pub(crate) fn broken_rule<'c>(request: &RoutedRequest<'c>) -> Option<&'c HttpsOnly> {
    let is_exempt = request.client.tls || request.received.head.is_for_server();
    request.settings.listener().https_only.as_ref().filter(|_| !is_exempt)
}

/// Sends the client to the same target with `https`. The method stays what it is, and the body is sent again (308).
pub(crate) async fn redirect(response: &mut ResponseWriter<'_, '_>, rule: &HttpsOnly) -> Result<(), Gone> {
    let mut location = buffers::take();
    let is_whole = append_secure_url(response.request.received, rule.port, &mut location);
    response.reply.fields.push(b"Location", &location);
    buffers::give(location);
    // An error page drops the field.
    if is_whole { response.send_empty(308).await } else { response.send_error(400).await }
}

/// False where the request does not say what is asked for.
fn append_secure_url(request: ReceivedRequest<'_>, port: u16, out: &mut Vec<u8>) -> bool {
    let ReceivedRequest { head, bytes, .. } = request;
    let (host, target) = (head.host(bytes), head.target(bytes));
    if !is_host(host) || !target.starts_with(b"/") {
        return false;
    }
    out.extend_from_slice(b"https://");
    out.extend_from_slice(host);
    if port != HTTPS_PORT {
        out.push(b':');
        out.extend_from_slice(itoa::Buffer::new().format(port).as_bytes());
    }
    append_location(target, out);
    true
}

/// Tells a client that speaks TLS to do so from now on, unless the reply has its own word on that. Nothing is said
/// without TLS (RFC 6797 section 7.2).
pub(super) fn secure_transport(request: &RoutedRequest<'_>, fields: &mut ReplyFields) {
    if let Some(rule) = &request.settings.listener().https_only
        && request.client.tls
        && fields.get(TRANSPORT_SECURITY).is_none()
    {
        fields.push(TRANSPORT_SECURITY, &directives(rule));
    }
}

fn directives(rule: &HttpsOnly) -> SmallVec<[u8; 64]> {
    let mut text = SmallVec::from_slice(b"max-age=");
    text.extend_from_slice(itoa::Buffer::new().format(rule.max_age).as_bytes());
    if rule.include_subdomains {
        text.extend_from_slice(b"; includeSubDomains");
    }
    if rule.preload {
        text.extend_from_slice(b"; preload");
    }
    text
}

/// Whether this is a host as URLs have it (RFC 3986 section 3.2.2), without escapes. Requests may have others.
fn is_host(host: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    is_ipv6_literal(host) || !host.is_empty() && host.iter().all(is_plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hosts_are_those_of_urls() {
        for host in ["a.example", "localhost", "192.0.2.1", "[::1]", "[2001:db8::1]", "a_b.example"] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for host in [
            "",
            "[]",
            "[::1",
            "[192.0.2.1]",
            "[::1%25a]",
            "a@b",
            "a/b",
            "a?b",
            "a#b",
            "a\\b",
            "a b",
            "a%2eb",
            "é",
        ] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }

    proptest! {
        #[test]
        fn hosts_end_where_urls_end_them(host: Vec<u8>, from in "[-a-z0-9.:@/?#%_~\\[\\]]{0,9}") {
            for host in [&*host, from.as_bytes()] {
                if is_host(host) {
                    let host = str::from_utf8(host).unwrap();
                    let url = format!("https://{host}:8443/a").parse::<http::Uri>().unwrap();
                    prop_assert_eq!((url.host(), url.port_u16()), (Some(host), Some(8443)));
                }
            }
        }
    }

    #[test]
    fn directives_are_in_their_order() {
        let mut rule = HttpsOnly { max_age: 0, include_subdomains: false, preload: false, port: 443 };
        assert_eq!(directives(&rule).as_slice(), b"max-age=0");
        rule = HttpsOnly { max_age: u32::MAX, include_subdomains: true, preload: true, port: 443 };
        assert_eq!(directives(&rule).as_slice(), b"max-age=4294967295; includeSubDomains; preload");
    }
}
