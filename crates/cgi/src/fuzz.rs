//! The functions that fuzzing calls: each takes any bytes and panics when an invariant does not hold.

use crate::fastcgi::{DecodeEvent, Decoder, RecordError, RequestEndStatus};
use crate::response::{Head, ResponseHeadError};
use crate::scgi;
use crate::script::{Meaning, meaning};

/// Records of FastCGI: the same result however they are split.
pub fn fuzz_fastcgi(data: &[u8]) {
    let Some((&step, data)) = data.split_first() else { return };
    let whole = decode(data, data.len().max(1));
    assert_eq!(whole, decode(data, usize::from(step).max(1)), "split into pieces of {step}");
    if let Ok(said) = whole {
        fuzz_response(&said.output);
    }
}

/// The content of a server's records, by kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    output: Vec<u8>,
    log: Vec<u8>,
    end: Option<RequestEndStatus>,
}

fn decode(data: &[u8], step: usize) -> Result<Said, RecordError> {
    let mut decoder = Decoder::default();
    let mut said = Said::default();
    for mut piece in data.chunks(step) {
        while let Some(event) = decoder.next(&mut piece)? {
            match event {
                DecodeEvent::Stdout(bytes) => said.output.extend_from_slice(bytes),
                DecodeEvent::Stderr(bytes) => said.log.extend_from_slice(bytes),
                DecodeEvent::End(end) => assert!(said.end.replace(end).is_none(), "one end"),
            }
        }
        assert!(piece.is_empty(), "all of a piece is used");
    }
    assert!(!decoder.is_done() || said.end.is_some());
    Ok(said)
}

/// The head of a response: the same result however it is split, fields that can be sent on.
pub fn fuzz_response(data: &[u8]) {
    let whole = Head::parse(data, 0);
    let step = data.first().map_or(1, |first| usize::from(*first).max(1));
    let mut searched = 0;
    let mut found: Result<Option<Head>, ResponseHeadError> = Ok(None);
    while searched < data.len() && matches!(found, Ok(None)) {
        let received = data.len().min(searched + step);
        found = Head::parse(&data[..received], searched);
        searched = received;
    }
    assert_eq!(whole, found, "split into pieces of {step}");
    let Ok(Some(head)) = whole else { return };
    assert!((200..=999).contains(&head.status()) && head.len() <= data.len());
    for (name, value) in head.fields(data) {
        assert!(corral_http::is_token(name) && corral_http::is_field_value(value), "{name:?}: {value:?}");
        assert_eq!(corral_http::trim(value), value);
    }
}

/// A path: what it is split into is all of it, and what is behind a script begins with a slash.
pub fn fuzz_script(data: &[u8]) {
    if let Meaning::Script { name, path_info } = meaning(data, &[".php"]) {
        assert_eq!([name, path_info].concat(), data);
        assert!(name.ends_with(b".php") && (path_info.is_empty() || path_info.starts_with(b"/")));
    }
}

/// The head of a request of SCGI: what is read is what was written.
pub fn fuzz_scgi(data: &[u8]) {
    let len = scgi::head_len(data);
    if let Ok(Some(len)) = len {
        assert_eq!(
            scgi::head_len(&data[..data.len().min(scgi::MAX_PREFIX)]),
            Ok(Some(len)),
            "a few bytes are enough"
        );
    }
    let Ok(variables) = scgi::variables(data) else { return };
    assert_eq!(len, Ok(Some(data.len())));
    let size: usize = variables.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    assert!(size < data.len() && variables.iter().all(|(name, _)| !name.is_empty()));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_break_an_invariant(data: Vec<u8>) {
            fuzz_fastcgi(&data);
            fuzz_response(&data);
            fuzz_script(&data);
            fuzz_scgi(&data);
        }

        #[test]
        fn no_netstring_breaks_an_invariant(text in "[0-9]{0,9}:?([AB]|\\x00|,){0,12}") {
            fuzz_scgi(text.as_bytes());
        }

        #[test]
        fn no_head_breaks_an_invariant(text in "(Status|A|Location|Content-Length)(:| :)[ 0-9a-z\r\n:]{0,40}") {
            fuzz_response(text.as_bytes());
        }

        #[test]
        fn no_path_breaks_an_invariant(path in "(/|\\.php|\\.PHP|x|\u{23a}){0,12}") {
            fuzz_script(path.as_bytes());
        }
    }
}
