//! How a request's body is framed: `Content-Length`, `Transfer-Encoding` and their conflicts.
//! Strict, because this is what request smuggling lives on (RFC 9112 sections 6.1, 6.3 and 11.2).

use super::error::HeadError;
use super::{HeadRules, Version};
use crate::chars;

/// How the body follows the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// This many bytes; 0 without a body.
    Length(u64),
    /// Chunks, see `chunked::Decoder`.
    Chunked,
}

/// Contents of the framing fields, until all of them are known.
#[derive(Debug, Default, Clone)]
pub(super) struct FramingFields {
    pub(super) length: Option<u64>,
    coding: Option<Coding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Chunked,
    Unknown,
    Malformed,
}

impl FramingFields {
    pub(super) fn framing(&self) -> Framing {
        match self.coding {
            Some(_) => Framing::Chunked,
            None => Framing::Length(self.length.unwrap_or(0)),
        }
    }

    pub(super) fn note_length(&mut self, value: &[u8]) -> Result<(), HeadError> {
        if self.length.is_some() {
            return Err(HeadError::DuplicateContentLength);
        }
        let length = chars::decimal(value).filter(|&length| length <= i64::MAX as u64);
        self.length = Some(length.ok_or(HeadError::BadContentLength)?);
        Ok(())
    }

    pub(super) fn note_transfer_encoding(&mut self, value: &[u8]) -> Result<(), HeadError> {
        if self.coding.is_some() {
            return Err(HeadError::DuplicateTransferEncoding);
        }
        self.coding = Some(Coding::of(value));
        Ok(())
    }

    /// The rules that need all fields and the version.
    pub(super) fn check(&self, version: Version, rules: &HeadRules) -> Result<(), HeadError> {
        let Some(coding) = self.coding else { return Ok(()) };
        if self.length.is_some() {
            return Err(HeadError::LengthAndTransferEncoding);
        }
        if version == Version::Http10 {
            return Err(HeadError::TransferEncodingInHttp10);
        }
        match coding {
            Coding::Chunked if rules.chunked_permitted => Ok(()),
            Coding::Chunked => Err(HeadError::ChunkedRefused),
            Coding::Unknown => Err(HeadError::UnknownTransferCoding),
            Coding::Malformed => Err(HeadError::BadTransferEncoding),
        }
    }
}

impl Coding {
    fn of(value: &[u8]) -> Coding {
        if value.eq_ignore_ascii_case(b"chunked") {
            return Coding::Chunked;
        }
        let mut names = value.split(|&b| b == b',').map(chars::trim);
        if names.clone().any(|name| !name.first().is_some_and(u8::is_ascii_alphanumeric)) {
            return Coding::Malformed;
        }
        if names.all(|name| name.eq_ignore_ascii_case(b"chunked")) {
            Coding::Malformed
        } else {
            Coding::Unknown
        }
    }
}
