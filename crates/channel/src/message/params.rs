//! Variables of the configuration that a request has beside its own: fields whose values begin with `=`, or are `-`
//! where one of its own is taken away.

use super::fields;
use super::reader::PayloadReader;

/// The folder of scripts where it depends on the request. No configuration has a variable of this name.
pub const ROOT: &[u8] = b"corral.root";

/// Appends a variable; without a value, it is taken away.
pub fn add(out: &mut Vec<u8>, name: &[u8], value: Option<&[u8]>) {
    match value {
        Some(value) => fields::encode(out, [(name, &*[b"=", value].concat())]),
        None => fields::encode(out, [(name, &b"-"[..])]),
    };
}

/// The variables that `add` has written.
pub fn iter(params: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
    let mut rest = PayloadReader(params);
    std::iter::from_fn(move || {
        let (name, value) = fields::take_field(&mut rest).ok()?;
        Some((name, value.strip_prefix(b"=")))
    })
}

/// Whether there is a word on a variable.
#[must_use]
pub fn has(params: &[u8], name: &[u8]) -> bool {
    !params.is_empty() && iter(params).any(|(known, _)| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_survive_the_way() {
        let all: [(&[u8], Option<&[u8]>); 4] =
            [(b"A", Some(b"b")), (b"EMPTY", Some(b"")), (b"GONE", None), (b"SIGN", Some(b"-=\0"))];
        let mut out = Vec::new();
        all.iter().for_each(|(name, value)| add(&mut out, name, *value));
        assert!(iter(&out).eq(all));
        assert!(has(&out, b"GONE") && !has(&out, b"A=") && !has(b"", b"A"));
        for len in 0..out.len() {
            assert!(iter(&out[..len]).count() < all.len());
        }
    }
}
