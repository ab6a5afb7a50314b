//! Ammo of whole requests: a line with a size and a tag, then so many bytes. A size of 0 ends the file.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};

use super::Round;
use super::reader::Reader;
use crate::message::Message;

const MOST_HEADERS: usize = 256;

pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Round>> {
    let mut reader = Reader::new(bytes);
    let mut rounds = Vec::new();
    while let Some((number, line)) = reader.line()? {
        let mut words = line.split_whitespace();
        let size = words.next().and_then(|size| size.parse().ok());
        let (Some(size), tag, None) = (size, words.next(), words.next()) else {
            bail!("line {number}: expected a size and a tag, found {line:?}");
        };
        if size == 0 {
            break;
        }
        let raw = reader.bytes(size)?;
        let message = message(raw).with_context(|| format!("line {number}"))?;
        rounds.push(Round { message, tag: tag.unwrap_or_default().to_owned(), raw: Some(raw.to_vec()) });
    }
    Ok(rounds)
}

/// The parts of a request, which HTTP/2 needs. The target may be a whole URL, as proxies get it.
fn message(raw: &[u8]) -> Result<Message> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(raw).map_err(|error| anyhow::anyhow!("the request is not HTTP: {error}"))?;
    let httparse::Status::Complete(n_head) = parsed else { bail!("the request has no end of its head") };
    let headers = request.headers.iter().map(|header| {
        let name: HeaderName =
            header.name.parse().with_context(|| format!("the header {:?}", header.name))?;
        let value = HeaderValue::from_bytes(header.value).with_context(|| format!("the value of {name}"))?;
        Ok((name, value))
    });
    Ok(Message {
        method: request.method.unwrap_or_default().parse::<Method>().context("the method")?,
        target: request.path.unwrap_or_default().to_owned(),
        headers: headers.collect::<Result<_>>()?,
        body: Bytes::copy_from_slice(&raw[n_head..]),
    })
}
