//! The target of a request line in each of its forms (RFC 9112 section 3.2).

use super::error::RequestHeadError;

/// A target taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestTarget<'l> {
    before: TargetAuthority<'l>,
    /// The path and the query, without what begins at `#`; may hold spaces, as in Unit. The absolute form may leave the
    /// path out, and the asterisk form has `*`.
    pub(super) path_and_query: &'l [u8],
}

/// The scheme with `://`, and the host with its port, of the absolute form. Else nothing.
type TargetAuthority<'l> = (&'l [u8], &'l [u8]);

impl<'l> RequestTarget<'l> {
    /// Takes apart a target that is not empty. Streams have its parts in fields of their own, so they have no absolute
    /// form.
    pub(super) fn of(target: &'l [u8], method: &[u8], is_stream: bool) -> Result<Self, RequestHeadError> {
        if method == b"CONNECT" {
            return Err(RequestHeadError::Connect);
        }
        let is_for_server = target == b"*" && method == b"OPTIONS";
        let (before, rest): (TargetAuthority<'_>, _) = match target.first() {
            Some(b'/') => ((b"", b""), target),
            Some(b'*') if is_for_server => ((b"", b""), target),
            _ if is_stream => return Err(RequestHeadError::BadTarget),
            _ => absolute(target).ok_or(RequestHeadError::BadTarget)?,
        };
        let end = memchr::memchr(b'#', rest).unwrap_or(rest.len());
        Ok(Self { before, path_and_query: &rest[..end] })
    }

    /// The host with its port, if the target says it, and where it begins in the target.
    pub(super) fn authority(&self) -> Option<(usize, &'l [u8])> {
        let (scheme, authority) = self.before;
        (!scheme.is_empty()).then_some((scheme.len(), authority))
    }

    /// Where the path begins in the target.
    pub(super) fn path_at(&self) -> usize {
        self.before.0.len() + self.before.1.len()
    }

    /// Whether the target is the server rather than something on it.
    pub(super) fn is_server(&self) -> bool {
        self.path_and_query == b"*"
    }
}

/// The scheme, the authority, and the rest of a URL that this server may be asked for.
fn absolute(target: &[u8]) -> Option<(TargetAuthority<'_>, &[u8])> {
    let has_scheme =
        |scheme: &&[u8]| target.get(..scheme.len()).is_some_and(|t| t.eq_ignore_ascii_case(scheme));
    let scheme = [&b"http://"[..], b"https://"].into_iter().find(has_scheme)?;
    let (scheme, rest) = target.split_at(scheme.len());
    let end = rest.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    Some(((scheme, authority), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the authority is and what it is, and the rest.
    type Parts<'t> = (Option<(usize, &'t str)>, &'t str);

    #[track_caller]
    fn check(target: &str, expect: Result<Parts<'_>, RequestHeadError>) {
        let parsed = RequestTarget::of(target.as_bytes(), b"OPTIONS", false);
        let seen = parsed.as_ref().map(|parsed| {
            let text = |bytes| std::str::from_utf8(bytes).expect("text");
            (parsed.authority().map(|(at, host)| (at, text(host))), text(parsed.path_and_query))
        });
        assert_eq!(seen.map_err(|&error| error), expect, "{target}");
    }

    #[test]
    fn each_form_is_taken_apart() {
        check("/a?b#c", Ok((None, "/a?b")));
        check("*", Ok((None, "*")));
        check("http://a:80/b?c#d", Ok((Some((7, "a:80")), "/b?c")));
        check("HTTPS://a", Ok((Some((8, "a")), "")));
        check("http://a?b/c", Ok((Some((7, "a")), "?b/c")));
        check("http://a#/b", Ok((Some((7, "a")), "")));
        check("http:///b", Ok((Some((7, "")), "/b")));
    }

    #[test]
    fn other_forms_are_refused() {
        for target in
            ["a:80", "a", "?x", "#x", "**", "*/", "http:/a", "ftp://a/", "http", "://a/", "httpx://a/"]
        {
            check(target, Err(RequestHeadError::BadTarget));
        }
        assert_eq!(RequestTarget::of(b"*", b"GET", false), Err(RequestHeadError::BadTarget));
        assert_eq!(RequestTarget::of(b"http://a/", b"GET", true), Err(RequestHeadError::BadTarget));
        for target in [&b"a:443"[..], b"/", b"http://a/", b"*"] {
            assert_eq!(RequestTarget::of(target, b"CONNECT", false), Err(RequestHeadError::Connect));
        }
    }
}
