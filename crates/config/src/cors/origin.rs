//! Origins as browsers write them (RFC 6454 section 6.1), and patterns of them.

use corral_syntax::is_ipv6_literal;

/// One origin, or those of all names below a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginPattern(Pattern);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// The origin of pages that have none, such as files and sandboxed frames.
    Null,
    /// A scheme, a host and a port.
    Tuple { scheme: String, host: OriginHost, port: Port },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum OriginHost {
    Name(String),
    /// All names that end with a dot and this one.
    Below(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Port {
    /// The usual one of the scheme, which is never written.
    Usual,
    Number(u16),
    Any,
}

/// A text that is not an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not an origin")]
pub struct OriginError;

impl OriginPattern {
    /// Reads `https://HOST`, `https://HOST:PORT`, `https://*.HOST`, `https://HOST:*` or `null`.
    ///
    /// # Errors
    ///
    /// When the text is something else.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        if text == "null" {
            return Ok(Self(Pattern::Null));
        }
        let text = text.to_ascii_lowercase();
        let OriginParts { scheme, host, port } = OriginParts::of(text.as_bytes()).ok_or(OriginError)?;
        let port = match port {
            None => Port::Usual,
            Some(b"*") => Port::Any,
            Some(port) => match number(port).ok_or(OriginError)? {
                port if usual_port(scheme) == Some(port) => Port::Usual,
                port => Port::Number(port),
            },
        };
        let (name, is_below) = host.strip_prefix(b"*.").map_or((host, false), |name| (name, true));
        if !is_scheme(scheme) || !(is_name(name) || !is_below && is_ipv6_literal(name)) {
            return Err(OriginError);
        }
        let name = text_of(name)?;
        let host = if is_below { OriginHost::Below(name) } else { OriginHost::Name(name) };
        Ok(Self(Pattern::Tuple { scheme: text_of(scheme)?, host, port }))
    }

    /// The origin that was probably meant by a text that is none: with a scheme, and without a path.
    #[must_use]
    pub fn meant(text: &str) -> Option<String> {
        let (scheme, rest) = text.trim().split_once("://").unwrap_or(("https", text.trim()));
        let place = rest.split(['/', '?', '#']).next()?;
        let meant = format!("{scheme}://{place}");
        Self::parse(&meant).is_ok().then_some(meant)
    }

    /// Whether it is the origin that a browser has sent, byte for byte: browsers write each in one way alone.
    #[must_use]
    pub fn matches(&self, origin: &[u8]) -> bool {
        let Pattern::Tuple { scheme, host, port } = &self.0 else { return origin == b"null" };
        let Some(its) = OriginParts::of(origin) else { return false };
        let is_port = match (port, its.port) {
            (Port::Any, Some(port)) => number(port).is_some(),
            (Port::Any | Port::Usual, None) => true,
            (Port::Number(port), Some(its_port)) => number(its_port) == Some(*port),
            (Port::Usual, Some(_)) | (Port::Number(_), None) => false,
        };
        is_port && scheme.as_bytes() == its.scheme && host.matches(its.host)
    }
}

impl OriginHost {
    fn matches(&self, host: &[u8]) -> bool {
        match self {
            Self::Name(name) => name.as_bytes() == host,
            Self::Below(name) => {
                let front = host.strip_suffix(name.as_bytes()).and_then(|front| front.strip_suffix(b"."));
                front.is_some_and(is_name)
            }
        }
    }
}

/// The parts of an origin, as they are written.
struct OriginParts<'o> {
    scheme: &'o [u8],
    host: &'o [u8],
    port: Option<&'o [u8]>,
}

impl<'o> OriginParts<'o> {
    fn of(origin: &'o [u8]) -> Option<Self> {
        let at = origin.windows(3).position(|window| window == b"://")?;
        let (scheme, rest) = (&origin[..at], &origin[at + 3..]);
        let behind_literal = rest.iter().rposition(|&byte| byte == b']').map_or(0, |at| at + 1);
        let colon =
            rest[behind_literal..].iter().position(|&byte| byte == b':').map(|at| at + behind_literal);
        Some(match colon {
            Some(colon) => Self { scheme, host: &rest[..colon], port: Some(&rest[colon + 1..]) },
            None => Self { scheme, host: rest, port: None },
        })
    }
}

/// A port as a browser writes it.
fn number(port: &[u8]) -> Option<u16> {
    let is_plain = port.iter().all(u8::is_ascii_digit) && !port.starts_with(b"0");
    std::str::from_utf8(port).ok().filter(|_| is_plain)?.parse().ok()
}

fn usual_port(scheme: &[u8]) -> Option<u16> {
    match scheme {
        b"http" => Some(80),
        b"https" => Some(443),
        _ => None,
    }
}

/// RFC 3986 section 3.1.
fn is_scheme(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_lowercase)
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
}

/// A host name, or an address of version 4.
fn is_name(text: &[u8]) -> bool {
    let is_label = |label: &[u8]| {
        !label.is_empty() && label.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
    };
    text.split(|&byte| byte == b'.').all(is_label)
}

fn text_of(bytes: &[u8]) -> Result<String, OriginError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| OriginError)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `expect` are the origins of a browser that match, behind which come some that do not.
    #[track_caller]
    fn check(pattern: &str, expect: &[&str], others: &[&str]) {
        let parsed = OriginPattern::parse(pattern).unwrap();
        for origin in expect {
            assert!(parsed.matches(origin.as_bytes()), "{pattern} {origin}");
        }
        for origin in others {
            assert!(!parsed.matches(origin.as_bytes()), "{pattern} {origin}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let near = ["http://a.example", "https://a.example:8443", "https://a.example.", "https://xa.example"];
        check("https://a.example", &["https://a.example"], &near);
        check(
            "https://A.example:443",
            &["https://a.example"],
            &["https://A.example", "https://a.example:443"],
        );
        check(
            "http://localhost:8080",
            &["http://localhost:8080"],
            &["http://localhost", "http://localhost:08080"],
        );
        check(
            "http://localhost:*",
            &["http://localhost", "http://localhost:1"],
            &["http://localhost:", "http://localhost:x"],
        );
        check("http://[::1]:81", &["http://[::1]:81"], &["http://[::1]", "http://[::2]:81"]);
        check("chrome-extension://abc", &["chrome-extension://abc"], &["https://abc"]);
        check("null", &["null"], &["", "https://null", "NULL"]);
    }

    #[test]
    fn a_star_stands_for_names_in_front() {
        let others = [
            "https://example.org",
            "https://.example.org",
            "https://badexample.org",
            "https://evil.test/.example.org",
            "https://evil.test:1.example.org",
            "https://a..example.org",
            "http://a.example.org",
            "https://a.example.org.evil.test",
            "null",
        ];
        check("https://*.example.org", &["https://a.example.org", "https://b.a.example.org"], &others);
    }

    #[test]
    fn other_texts_are_no_origins() {
        for text in [
            "",
            "*",
            "a.example",
            "https://",
            "https://*",
            "https://a.example/",
            "https://a.*.example",
            "https://*a.example",
            "https://u@a.example",
            "https://a.example:",
            "https://a.example:0",
            "https://a.example:65536",
            "://a.example",
            "https://a b",
            "https://ä.example",
            "https://*.[::1]",
            "https://[::1",
            "1a://b",
            "Null",
        ] {
            assert_eq!(OriginPattern::parse(text), Err(OriginError), "{text}");
        }
    }

    #[test]
    fn near_texts_mean_an_origin() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(OriginPattern::meant(text).as_deref(), expect, "{text}");
        };
        check("https://a.example/", Some("https://a.example"));
        check("a.example", Some("https://a.example"));
        check("*.a.example/path", Some("https://*.a.example"));
        check("http://a.example:81/x?y", Some("http://a.example:81"));
        check("https://*", None);
        check("", None);
    }

    proptest! {
        #[test]
        fn an_origin_matches_itself_alone(
            host in "[a-z0-9]{1,5}(\\.[a-z0-9]{1,5}){0,3}",
            port in 1u16..,
            other in ".{0,30}",
        ) {
            let origin = format!("ws://{host}:{port}");
            let pattern = OriginPattern::parse(&origin).unwrap();
            prop_assert!(pattern.matches(origin.as_bytes()));
            prop_assert_eq!(pattern.matches(other.as_bytes()), other == origin);
        }

        #[test]
        fn what_matches_is_an_origin(
            pattern in "(https|x)://(\\*\\.)?[a-z.]{1,4}(:[0-9*]{1,3})?",
            origin in "(https|x)://[a-z.:0-9/]{0,9}",
        ) {
            crate::fuzz::fuzz_origin(format!("{pattern}\n{origin}").as_bytes());
        }

        #[test]
        fn names_below_end_with_the_name(front in ".{0,20}", name in "[a-z]{1,5}\\.[a-z]{2}") {
            let pattern = OriginPattern::parse(&format!("https://*.{name}")).unwrap();
            let origin = format!("https://{front}.{name}");
            prop_assert_eq!(pattern.matches(origin.as_bytes()), is_name(front.as_bytes()));
        }
    }
}
