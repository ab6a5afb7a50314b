//! Base64 of RFC 4648 section 4; the padding may be left out.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Decodes the text; `None` when it is not Base64.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let engine = if text.ends_with(b"=") { PADDED } else { UNPADDED };
    engine.decode(text).ok()
}

const PADDED: GeneralPurpose = engine(DecodePaddingMode::RequireCanonical);
const UNPADDED: GeneralPurpose = engine(DecodePaddingMode::RequireNone);

const fn engine(padding: DecodePaddingMode) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(&STANDARD, config.with_decode_padding_mode(padding))
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[track_caller]
    fn check(text: &str, expect: Option<&[u8]>) {
        assert_eq!(decode(text.as_bytes()).as_deref(), expect, "{text}");
    }

    #[test]
    fn the_examples_of_the_rfc() {
        check("", Some(b""));
        check("Zg==", Some(b"f"));
        check("Zm8=", Some(b"fo"));
        check("Zm9v", Some(b"foo"));
        check("Zm9vYg==", Some(b"foob"));
        check("Zm9vYmE", Some(b"fooba"));
        check("Zm9vYmFy", Some(b"foobar"));
        check("+/+/", Some(&[0xfb, 0xff, 0xbf]));
    }

    #[test]
    fn everything_else_is_refused() {
        for text in ["=", "Z", "Zg=", "Zg===", "Zm9v=", "Zm9v====", "Zm 9v", "Zm9v\n", "Zm-_", "Z=g=", "é==="]
        {
            check(text, None);
        }
    }
}
