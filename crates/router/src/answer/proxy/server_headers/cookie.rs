//! `Set-Cookie` with other attributes.

use corral_config::upstream::{AttributeRewrite, CookieRewrite};

/// The value with its attributes as they are wanted, in their order; those that are missing come behind them.
pub(super) fn rewrite(rules: &CookieRewrite, value: &[u8]) -> Vec<u8> {
    let mut parts = value.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    let mut out = parts.next().unwrap_or_default().to_vec();
    for part in parts.filter(|part| !part.is_empty()) {
        let (name, old) = match memchr::memchr(b'=', part) {
            Some(at) => (part[..at].trim_ascii_end(), part[at + 1..].trim_ascii_start()),
            None => (part, &b""[..]),
        };
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is("domain") && rules.domain.is_some() {
            let new =
                rules.domain.as_ref().and_then(|rule| domain(rule, old)).unwrap_or_else(|| old.to_vec());
            if !new.is_empty() {
                append(&mut out, &[b"Domain=", &new]);
            }
        } else if is("path") && rules.path.is_some() {
            let new = rules.path.as_ref().and_then(|rule| path(rule, old)).unwrap_or_else(|| old.to_vec());
            append(&mut out, &[b"Path=", &new]);
        } else if !is_settled(rules, is) {
            append(&mut out, &[part]);
        }
    }
    if rules.secure == Some(true) {
        append(&mut out, &[b"Secure"]);
    }
    if rules.httponly == Some(true) {
        append(&mut out, &[b"HttpOnly"]);
    }
    if let Some(same_site) = rules.same_site {
        append(&mut out, &[b"SameSite=", same_site.to_string().as_bytes()]);
    }
    out
}

/// Whether the rules say if there is such an attribute.
fn is_settled(rules: &CookieRewrite, is: impl Fn(&str) -> bool) -> bool {
    rules.secure.is_some() && is("secure")
        || rules.httponly.is_some() && is("httponly")
        || rules.same_site.is_some() && is("samesite")
}

fn append(out: &mut Vec<u8>, pieces: &[&[u8]]) {
    out.extend_from_slice(b"; ");
    pieces.iter().for_each(|piece| out.extend_from_slice(piece));
}

/// A domain is the same with a dot in front of it, and in any case.
fn domain(rule: &AttributeRewrite, old: &[u8]) -> Option<Vec<u8>> {
    let bare = |domain: &[u8]| domain.strip_prefix(b".").unwrap_or(domain).to_ascii_lowercase();
    match rule {
        AttributeRewrite::All(new) => Some(new.clone().into_bytes()),
        AttributeRewrite::Each(each) => {
            let found = each.iter().find(|(from, _)| bare(from.as_bytes()) == bare(old));
            found.map(|(_, new)| new.clone().into_bytes())
        }
    }
}

fn path(rule: &AttributeRewrite, old: &[u8]) -> Option<Vec<u8>> {
    match rule {
        AttributeRewrite::All(new) => Some(new.clone().into_bytes()),
        AttributeRewrite::Each(each) => each.iter().find_map(|(from, new)| {
            let rest = old.strip_prefix(from.as_bytes())?;
            // A path begins with another one at a slash.
            let is_whole = from.ends_with('/') || rest.is_empty() || rest.starts_with(b"/");
            let new = if rest.starts_with(b"/") { new.strip_suffix('/').unwrap_or(new) } else { new };
            is_whole.then(|| [new.as_bytes(), rest].concat())
        }),
    }
}

#[cfg(test)]
mod tests {
    use corral_config::upstream::SameSite;

    use super::*;

    #[track_caller]
    fn check(rules: &CookieRewrite, value: &str, expect: &str) {
        let found = rewrite(rules, value.as_bytes());
        assert_eq!(String::from_utf8_lossy(&found), expect, "{value}");
    }

    fn all(text: &str) -> Option<AttributeRewrite> {
        Some(AttributeRewrite::All(text.to_owned()))
    }

    fn each(from: &str, to: &str) -> Option<AttributeRewrite> {
        Some(AttributeRewrite::Each(vec![(from.to_owned(), to.to_owned())]))
    }

    #[test]
    fn domains_are_replaced_or_taken_away() {
        let rules =
            CookieRewrite { domain: each("backend.internal", "example.com"), ..CookieRewrite::default() };
        check(&rules, "a=b; Domain=.Backend.Internal; Path=/x", "a=b; Domain=example.com; Path=/x");
        check(&rules, "a=b; domain=other", "a=b; Domain=other");
        check(&rules, "a=b", "a=b");
        check(&rules, "domain=backend.internal", "domain=backend.internal");
        let rules = CookieRewrite { domain: all(""), ..CookieRewrite::default() };
        check(&rules, "a=b; Domain=x; HttpOnly", "a=b; HttpOnly");
    }

    #[test]
    fn paths_are_replaced_at_slashes() {
        let rules = CookieRewrite { path: each("/app", "/"), ..CookieRewrite::default() };
        check(&rules, "a=b; Path=/app", "a=b; Path=/");
        check(&rules, "a=b; path = /app/x", "a=b; Path=/x");
        check(&rules, "a=b; Path=/apples", "a=b; Path=/apples");
        let rules = CookieRewrite { path: each("/", "/app/"), ..CookieRewrite::default() };
        check(&rules, "a=b; Path=/", "a=b; Path=/app/");
        check(&rules, "a=b; Path=/x", "a=b; Path=/app/x");
        let rules = CookieRewrite { path: all("/new"), ..CookieRewrite::default() };
        check(&rules, "a=b; Path=/x", "a=b; Path=/new");
        check(&rules, "a=b", "a=b");
    }

    #[test]
    fn flags_are_set_and_taken_away() {
        let rules = CookieRewrite {
            secure: Some(true),
            httponly: Some(false),
            same_site: Some(SameSite::Lax),
            ..CookieRewrite::default()
        };
        check(&rules, "a=b", "a=b; Secure; SameSite=Lax");
        check(&rules, "a=b;SECURE;HttpOnly;samesite=None;Max-Age=1", "a=b; Max-Age=1; Secure; SameSite=Lax");
        check(&rules, "", "; Secure; SameSite=Lax");
    }
}
