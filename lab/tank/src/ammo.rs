//! Ammo files of Yandex.Tank: requests that were written or recorded before the run.

mod raw;
mod reader;
mod uri;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::message::Message;

/// The styles of Tank's ammo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AmmoType {
    /// Look at the first line
    Auto,
    /// `/path tag`, with headers in brackets
    Uri,
    /// `size /path tag` and a body, with headers in brackets
    Uripost,
    /// `size tag` and a whole request
    Request,
}

/// One request of a file.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) message: Message,
    pub(crate) tag: String,
    /// The bytes of a whole request, which HTTP/1 sends as they are.
    pub(crate) raw: Option<Vec<u8>>,
}

/// Reads a file. `base` has what the options say about every request.
pub(crate) fn parse(bytes: &[u8], style: AmmoType, base: &Message) -> Result<Vec<Round>> {
    let rounds = match if style == AmmoType::Auto { detect(bytes)? } else { style } {
        AmmoType::Uripost => uri::parse_with_bodies(bytes, base)?,
        AmmoType::Request => raw::parse(bytes)?,
        AmmoType::Uri | AmmoType::Auto => uri::parse(bytes, base)?,
    };
    if rounds.is_empty() {
        bail!("it has no request");
    }
    Ok(rounds)
}

/// The style of the first line that is neither empty nor a header.
fn detect(bytes: &[u8]) -> Result<AmmoType> {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with(b"["));
    let first = String::from_utf8_lossy(first.unwrap_or_default()).into_owned();
    let mut words = first.split_whitespace();
    let is_size = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    match (words.next(), words.next()) {
        (Some(path), _) if path.starts_with('/') => Ok(AmmoType::Uri),
        (Some(size), Some(path)) if is_size(size) && path.starts_with('/') => Ok(AmmoType::Uripost),
        (Some(size), _) if is_size(size) => Ok(AmmoType::Request),
        (None, _) => bail!("it has no request"),
        _ => bail!("expected a path or a size in its first line, found {first:?}; --ammo-type names a style"),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Method;

    use super::*;

    /// Requests as `METHOD target headers body tag`.
    #[track_caller]
    fn check(ammo: &str, expected: &[&str]) {
        let headers = vec![crate::message::header("X-All: 1").expect("it is a header")];
        let base = Message { method: Method::GET, target: String::new(), headers, body: Bytes::new() };
        let found: Vec<_> = match parse(ammo.as_bytes(), AmmoType::Auto, &base) {
            Ok(rounds) => rounds.iter().map(in_words).collect(),
            Err(error) => vec![format!("{error:#}")],
        };
        assert_eq!(found, expected, "{ammo:?}");
    }

    fn in_words(round: &Round) -> String {
        let Message { method, target, headers, body } = &round.message;
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value.as_bytes())))
            .collect();
        let body = String::from_utf8_lossy(body);
        format!("{method} {target} [{}] {body:?} {}", headers.join(" "), round.tag)
    }

    #[test]
    fn uris_have_headers_and_tags() {
        check(
            "[Host: a]\n/one first\n[Host: b]\n[X-B: 2]\r\n\n/two?x=1\r\n",
            &["GET /one [x-all=1 host=a] \"\" first", "GET /two?x=1 [x-all=1 host=b x-b=2] \"\" "],
        );
        check("/one\n[no header]\n", &["line 2: expected \"Name: value\", found \"no header\""]);
        check("/one\n[Host: a\n", &["line 2: expected \"]\" at the end of \"[Host: a\""]);
        check("/one a b\n", &["line 1: expected a path and a tag, found \"/one a b\""]);
        check("/one\ntwo\n", &["line 2: expected a path that begins with \"/\", found \"two\""]);
        check("\n\n", &["it has no request"]);
    }

    #[test]
    fn uris_with_bodies_are_posted() {
        check(
            "[Host: a]\n5 /one first\nab\ncd\n0 /two\n\n3 /three\nxyz",
            &[
                "POST /one [x-all=1 host=a] \"ab\\ncd\" first",
                "POST /two [x-all=1 host=a] \"\" ",
                "POST /three [x-all=1 host=a] \"xyz\" ",
            ],
        );
        check("9 /one\nabc\n", &["line 1: expected 9 bytes after the line, found 4"]);
        check("2 /one\nabc\n", &["line 1: expected the end of a line after 2 bytes, found \"c\""]);
        check("2 /one\nab\nx /two\n", &["line 3: expected a size, a path and a tag, found \"x /two\""]);
    }

    #[test]
    fn whole_requests_are_taken_as_they_are() {
        let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
        let post = "POST /b HTTP/1.0\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
        check(
            &format!("{} good\n{get}\n{}\n{post}\n0\n", get.len(), post.len()),
            &["GET /a [host=h] \"\" good", "POST /b [host=h content-length=3] \"abc\" "],
        );
        check("3\nGET\n", &["line 1: the request has no end of its head"]);
        check("2\nGET\n", &["line 1: expected the end of a line after 2 bytes, found \"T\""]);
        check("7\nA\0B\r\n\r\n\n", &["line 1: the request is not HTTP: invalid token"]);
    }

    #[test]
    fn other_files_are_refused() {
        check(
            "hello\n",
            &["expected a path or a size in its first line, found \"hello\"; --ammo-type names a style"],
        );
    }
}
