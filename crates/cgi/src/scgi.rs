//! SCGI: variables as one netstring, and the body behind it.

/// The variable that marks a request as SCGI. It follows `CONTENT_LENGTH`, which is always the first.
const VERSION: &[u8] = b"SCGI\x001\0";

/// A variable that cannot be said: NUL ends names and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a variable of the request has a NUL in it")]
pub struct HasNul;

/// Appends the head of a request whose body has `length` bytes. `CONTENT_LENGTH` is not among the variables.
///
/// # Errors
/// When a name or a value has a NUL in it.
pub fn append_head<'v>(
    length: u64,
    variables: impl Iterator<Item = (&'v [u8], &'v [u8])> + Clone,
    out: &mut Vec<u8>,
) -> Result<(), HasNul> {
    let mut digits = itoa::Buffer::new();
    let length = [b"CONTENT_LENGTH\0", digits.format(length).as_bytes(), b"\0"].concat();
    let sizes = variables.clone().map(|(name, value)| name.len() + value.len() + 2);
    let size = length.len() + VERSION.len() + sizes.sum::<usize>();
    out.extend_from_slice(itoa::Buffer::new().format(size).as_bytes());
    out.push(b':');
    out.extend_from_slice(&length);
    out.extend_from_slice(VERSION);
    for (name, value) in variables {
        for text in [name, value] {
            if text.contains(&0) {
                return Err(HasNul);
            }
            out.extend_from_slice(text);
            out.push(0);
        }
    }
    out.push(b',');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(length: u64, variables: &[(&str, &str)], expect: Result<&str, HasNul>) {
        let mut out = Vec::new();
        let pairs = variables.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let found = append_head(length, pairs, &mut out).map(|()| String::from_utf8(out).unwrap());
        assert_eq!(found, expect.map(str::to_owned));
    }

    #[test]
    fn the_length_is_first_and_the_netstring_counts_everything() {
        check(0, &[], Ok("24:CONTENT_LENGTH\x000\0SCGI\x001\0,"));
        check(27, &[("A", "bc"), ("D", "")], Ok("33:CONTENT_LENGTH\x0027\0SCGI\x001\0A\0bc\0D\0\0,"));
    }

    #[test]
    fn what_would_end_a_value_early_is_refused() {
        check(0, &[("A", "b\0c")], Err(HasNul));
        check(0, &[("A\0", "b")], Err(HasNul));
    }
}
