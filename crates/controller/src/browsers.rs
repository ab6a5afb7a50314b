//! Keeps web pages away from a control API that listens on a port, where every browser of the machine reaches it.
//!
//! A page of another origin can send GET, and POST with the media types of forms, without asking; for anything else
//! the browser asks first, by OPTIONS, and is never permitted (Fetch Standard, "CORS-preflight"). A page whose name
//! was made to lead here (DNS rebinding) is of this origin for its browser, but its name is in `Host`.

use std::net::{Ipv4Addr, Ipv6Addr};

use hyper::header::{self, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

use crate::reply::ApiReply;

/// The guard of the API besides the rules here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BrowserGuard {
    /// A token: a page cannot show it, whatever its name is.
    Token,
    /// A session, behind an address of this machine.
    Session,
    Nothing,
}

/// Why a request of this head may not be answered by what listens on a port of this machine without a token.
#[must_use]
pub fn reason_to_refuse(head: &Parts) -> Option<String> {
    let name = foreign_host(head).map(|host| format!("the request is for \"{host}\", not for this machine"));
    name.or_else(|| foreign_origin(head).map(|field| format!("a web page has sent it: {field}")))
}

/// The answer to a request that a web page may have sent; `None` for all others.
pub(crate) fn refusal(head: &Parts, guard: BrowserGuard) -> Option<ApiReply> {
    if guard != BrowserGuard::Token
        && let Some(host) = foreign_host(head)
    {
        let detail = format!(
            "The request is for \"{host}\". Without a token the control API answers only to \"localhost\" and to \
             loopback addresses: use one of these, or start the daemon with \"--control-token-file\"."
        );
        return Some(ApiReply::error_with_detail(StatusCode::FORBIDDEN, "Forbidden.", &detail));
    }
    if let Some(field) = foreign_origin(head) {
        let detail = format!(
            "The header \"{field}\" says that a web page of another origin has sent the request. Use the control API \
             from a program, or from a page of its own address."
        );
        return Some(ApiReply::error_with_detail(StatusCode::FORBIDDEN, "Forbidden.", &detail));
    }
    if guard == BrowserGuard::Nothing && head.method == Method::POST && !is_beyond_forms(&head.headers) {
        let detail = "A form of a web page could send this request. Send it with \"Content-Type: application/json\", \
            or with the field \"X-Requested-With\".";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Some(ApiReply::error_with_detail(status, "Unsupported media type.", detail));
    }
    None
}

/// Whether a field says that a page of the API's own origin has sent this. To be asked of what is not refused.
pub(crate) fn is_of_own_page(fields: &HeaderMap) -> bool {
    let says_same_site = values(fields, &SEC_FETCH_SITE).any(|site| site == "same-origin");
    says_same_site || fields.contains_key(header::ORIGIN)
}

/// Whether a page has sent this over TLS, which something in front of the API speaks.
pub(crate) fn is_over_tls(fields: &HeaderMap) -> bool {
    values(fields, &header::ORIGIN).any(|origin| origin.starts_with("https://"))
}

/// Whether a field is there that browsers send, and programs do not.
pub(crate) fn is_from_browser(fields: &HeaderMap) -> bool {
    let is_telling = |name: &HeaderName| TELLING.contains(name) || name.as_str().starts_with("sec-");
    let accepts_pages = values(fields, &header::ACCEPT).any(|accept| {
        let accept = accept.to_ascii_lowercase();
        ["text/html", "image/", "text/css"].iter().any(|kind| accept.contains(kind))
    });
    let is_mozilla = values(fields, &header::USER_AGENT).any(|agent| agent.starts_with("Mozilla/"));
    fields.keys().any(is_telling) || accepts_pages || is_mozilla
}

const TELLING: [HeaderName; 5] = [
    header::ORIGIN,
    header::REFERER,
    header::COOKIE,
    header::ACCEPT_LANGUAGE,
    header::UPGRADE_INSECURE_REQUESTS,
];

/// The name that a request is for, if it is not one of this machine's own. A request without one is not a browser's.
fn foreign_host(head: &Parts) -> Option<String> {
    let in_target = head.uri.authority().map(|authority| authority.as_str().to_owned());
    let hosts = in_target.into_iter().chain(values(&head.headers, &header::HOST));
    hosts.into_iter().find(|host| !is_loopback(host))
}

/// Whether this is `localhost` or a loopback address, with or without a port.
fn is_loopback(host: &str) -> bool {
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (name, port) = bracketed.unwrap_or_else(|| host.split_at(host.find(':').unwrap_or(host.len())));
    let port = port.strip_prefix(':').unwrap_or(port);
    let is_own = match bracketed {
        Some(_) => name.parse().is_ok_and(|address: Ipv6Addr| address.is_loopback()),
        None => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
        }
    };
    is_own && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// The field that tells of a page of another origin, with its value.
fn foreign_origin(head: &Parts) -> Option<String> {
    let fields = &head.headers;
    let host = values(fields, &header::HOST).next();
    let is_own = |origin: &str| {
        let place = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        place.zip(host.as_deref()).is_some_and(|(place, host)| place.eq_ignore_ascii_case(host))
    };
    let origin = values(fields, &header::ORIGIN).find(|origin| !is_own(origin));
    // `none` is a person who has typed the address.
    let site = values(fields, &SEC_FETCH_SITE)
        .find(|site| !matches!(site.as_str(), "same-origin" | "none") && !is_visit(head));
    origin.map(|origin| format!("Origin: {origin}")).or(site.map(|site| format!("Sec-Fetch-Site: {site}")))
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a person has followed a link to the dashboard: its page, which has no secrets, replaces the one with the
/// link. The cookie of a session does not come along (`SameSite=Strict`).
fn is_visit(head: &Parts) -> bool {
    let is = |name: &'static str, expected: &str| {
        values(&head.headers, &HeaderName::from_static(name)).eq([expected.to_owned()])
    };
    let is_page = matches!(head.uri.path(), "/dashboard" | "/dashboard/");
    is_page
        && head.method == Method::GET
        && is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document")
}

/// Whether no form, and no script without asking first, can send a request with these fields.
fn is_beyond_forms(fields: &HeaderMap) -> bool {
    let essence = |value: &str| value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let types: Vec<_> = values(fields, &header::CONTENT_TYPE).map(|value| essence(&value)).collect();
    types == ["application/json"] || fields.contains_key("x-requested-with")
}

/// All values of a field; what is not ASCII is shown as it is not.
fn values(fields: &HeaderMap, name: &HeaderName) -> impl Iterator<Item = String> {
    fields.get_all(name).into_iter().map(|value| value.as_bytes().escape_ascii().to_string())
}

#[cfg(test)]
mod tests;
