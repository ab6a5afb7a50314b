//! PEM text into blocks (RFC 7468), every one of them told: a block that is passed over in silence
//! could be the second key of a bundle.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// One `-----BEGIN …-----` block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    /// `CERTIFICATE`, `PRIVATE KEY`, …
    pub(crate) label: &'a str,
    /// Decoded.
    pub(crate) content: Vec<u8>,
}

/// Why a text is not PEM.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PemError {
    /// No line ends the block.
    #[error("the \"{0}\" block has no END line")]
    NoEnd(String),
    /// The content is not base64.
    #[error("the \"{0}\" block is not valid base64")]
    Base64(String),
    /// The content is preceded by fields, as that of a key which a password protects.
    #[error("the \"{0}\" block is encrypted; keys must not be protected by a password")]
    Encrypted(String),
}

/// All blocks of a text in their order. Text around them is a comment.
pub(crate) fn blocks(text: &[u8]) -> Result<Vec<Block<'_>>, PemError> {
    let mut blocks = Vec::new();
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    while let Some(line) = lines.next() {
        let Some(label) = framed(line, "BEGIN") else { continue };
        let mut content = Vec::new();
        let mut ended = false;
        for line in lines.by_ref() {
            if framed(line, "END") == Some(label) {
                ended = true;
                break;
            }
            if line.contains(&b':') {
                return Err(PemError::Encrypted(label.to_owned()));
            }
            content.extend_from_slice(line);
        }
        if !ended {
            return Err(PemError::NoEnd(label.to_owned()));
        }
        let content = decode_base64(&content).ok_or_else(|| PemError::Base64(label.to_owned()))?;
        blocks.push(Block { label, content });
    }
    Ok(blocks)
}

/// The label of a line such as `-----BEGIN CERTIFICATE-----`.
fn framed<'a>(line: &'a [u8], word: &str) -> Option<&'a str> {
    let inner = line.strip_prefix(b"-----")?.strip_suffix(b"-----")?;
    std::str::from_utf8(inner).ok()?.strip_prefix(word)?.strip_prefix(' ')
}

/// Base64 with padding (RFC 4648, section 4).
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    BASE64.decode(text).ok().filter(|content| !content.is_empty())
}

/// The last bits of a group that stand for no byte are ignored, as OpenSSL does.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&[(&str, &str)], &str>) {
        let found = blocks(text.as_bytes());
        let found = found.as_ref().map(|blocks| {
            let pairs =
                blocks.iter().map(|block| (block.label, std::str::from_utf8(&block.content).unwrap()));
            pairs.collect::<Vec<_>>()
        });
        match (found, expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{text}"),
            (Err(error), Err(expect)) => assert!(error.to_string().contains(expect), "{error}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn blocks_are_found_among_comments() {
        check("", Ok(&[]));
        check("subject=x\n-----BEGIN A-----\nYWJj\nZGVm\n-----END A-----\nbye", Ok(&[("A", "abcdef")]));
        let two =
            "-----BEGIN A-----\r\nYQ==\r\n-----END A-----\r\n-----BEGIN B C-----\nYWI=\n-----END B C-----";
        check(two, Ok(&[("A", "a"), ("B C", "ab")]));
    }

    #[test]
    fn broken_blocks_are_told() {
        check("-----BEGIN A-----\nYWJj\n", Err("no END"));
        check("-----BEGIN A-----\nYWJj\n-----END B-----", Err("no END"));
        for content in
            ["", "YWJ", "YW=j", "Y===", "====", "YQ==YQ==", "YW-j", "YQ=", "YQ", "YWJj=", "YWJj===="]
        {
            check(&format!("-----BEGIN A-----\n{content}\n-----END A-----"), Err("base64"));
        }
        check("-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\n\nYWJj\n-----END A-----", Err("password"));
    }
}
