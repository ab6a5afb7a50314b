//! How a request's body is framed: `Content-Length`, `Transfer-Encoding` and their conflicts.
//! Strict, because this is what request smuggling lives on (RFC 9112 sections 6.1, 6.3 and 11.2).

use super::error::RequestHeadError;
use super::{HeadRules, HttpVersion};
use crate::chars;

/// How the body follows the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestFraming {
    /// This many bytes; 0 without a body.
    Length(u64),
    /// Chunks, see `chunked::Decoder`.
    Chunked,
}

/// Contents of the framing fields, until all of them are known.
#[derive(Debug, Default, Clone)]
pub(super) struct FramingFields {
    pub(super) length: Option<u64>,
    coding: Option<TransferCoding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransferCoding {
    Chunked,
    Unknown,
    Malformed,
}

impl FramingFields {
    pub(super) fn framing(&self) -> RequestFraming {
        match self.coding {
            Some(_) => RequestFraming::Chunked,
            None => RequestFraming::Length(self.length.unwrap_or(0)),
        }
    }

    pub(super) fn note_length(&mut self, value: &[u8]) -> Result<(), RequestHeadError> {
        if self.length.is_some() {
            return Err(RequestHeadError::DuplicateContentLength);
        }
        let length = chars::decimal(value).filter(|&length| length <= i64::MAX as u64);
        self.length = Some(length.ok_or(RequestHeadError::BadContentLength)?);
        Ok(())
    }

    pub(super) fn note_transfer_encoding(&mut self, value: &[u8]) -> Result<(), RequestHeadError> {
        if self.coding.is_some() {
            return Err(RequestHeadError::DuplicateTransferEncoding);
        }
        self.coding = Some(TransferCoding::of(value));
        Ok(())
    }

    /// The rules that need all fields and the version.
    pub(super) fn check(&self, version: HttpVersion, rules: &HeadRules) -> Result<(), RequestHeadError> {
        let Some(coding) = self.coding else { return Ok(()) };
        if self.length.is_some() {
            return Err(RequestHeadError::LengthAndTransferEncoding);
        }
        if version == HttpVersion::Http10 {
            return Err(RequestHeadError::TransferEncodingInHttp10);
        }
        match coding {
            TransferCoding::Chunked if rules.chunked_permitted => Ok(()),
            TransferCoding::Chunked => Err(RequestHeadError::ChunkedRefused),
            TransferCoding::Unknown => Err(RequestHeadError::UnknownTransferCoding),
            TransferCoding::Malformed => Err(RequestHeadError::BadTransferEncoding),
        }
    }
}

impl TransferCoding {
    fn of(value: &[u8]) -> TransferCoding {
        if value.eq_ignore_ascii_case(b"chunked") {
            return TransferCoding::Chunked;
        }
        let mut names = value.split(|&b| b == b',').map(chars::trim);
        if names.clone().any(|name| !name.first().is_some_and(u8::is_ascii_alphanumeric)) {
            return TransferCoding::Malformed;
        }
        if names.all(|name| name.eq_ignore_ascii_case(b"chunked")) {
            TransferCoding::Malformed
        } else {
            TransferCoding::Unknown
        }
    }
}
