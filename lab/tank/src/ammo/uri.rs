//! Ammo of paths: `/path tag`, or `size /path tag` and a body. Lines such as `[Host: example.org]` say a header of all
//! requests that follow; a later one of the same name replaces it.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::Method;

use super::Round;
use super::reader::Reader;
use crate::message::{self, Message};

/// Paths without bodies.
pub(super) fn parse(bytes: &[u8], base: &Message) -> Result<Vec<Round>> {
    let mut reader = Reader::new(bytes);
    let mut base = base.clone();
    let mut rounds = Vec::new();
    while let Some((number, line)) = request_line(&mut reader, &mut base)? {
        let place = || format!("line {number}");
        let mut words = line.split_whitespace();
        let (Some(path), tag, None) = (words.next(), words.next(), words.next()) else {
            bail!("line {number}: expected a path and a tag, found {line:?}");
        };
        rounds.push(round(&base, path, tag, base.body.clone()).with_context(place)?);
    }
    Ok(rounds)
}

/// Paths with a body each.
pub(super) fn parse_with_bodies(bytes: &[u8], base: &Message) -> Result<Vec<Round>> {
    let mut reader = Reader::new(bytes);
    let mut base = base.clone();
    if base.method == Method::GET {
        base.method = Method::POST;
    }
    let mut rounds = Vec::new();
    while let Some((number, line)) = request_line(&mut reader, &mut base)? {
        let place = || format!("line {number}");
        let mut words = line.split_whitespace();
        let size = words.next().and_then(|size| size.parse().ok());
        let (Some(size), Some(path), tag, None) = (size, words.next(), words.next(), words.next()) else {
            bail!("line {number}: expected a size, a path and a tag, found {line:?}");
        };
        let body = Bytes::copy_from_slice(reader.bytes(size)?);
        rounds.push(round(&base, path, tag, body).with_context(place)?);
    }
    Ok(rounds)
}

/// The next line that says a request. The headers in front of it are said to `base`.
fn request_line<'b>(reader: &mut Reader<'b>, base: &mut Message) -> Result<Option<(usize, &'b str)>> {
    while let Some((number, line)) = reader.line()? {
        if !line.starts_with('[') {
            return Ok(Some((number, line)));
        }
        set_header(base, line).with_context(|| format!("line {number}"))?;
    }
    Ok(None)
}

fn round(base: &Message, path: &str, tag: Option<&str>, body: Bytes) -> Result<Round> {
    let message = Message { target: message::target(path)?, body, ..base.clone() };
    Ok(Round { message, tag: tag.unwrap_or_default().to_owned(), raw: None })
}

fn set_header(base: &mut Message, line: &str) -> Result<()> {
    let inner = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
    let inner = inner.with_context(|| format!("expected \"]\" at the end of {line:?}"))?;
    let (name, value) = message::header(inner)?;
    base.headers.retain(|(found, _)| *found != name);
    base.headers.push((name, value));
    Ok(())
}
