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

/// Bytes that a head has at most. The kernel hands no more than a quarter of the stack (of 8 MiB, mostly) to a program.
pub const MAX_HEAD: usize = 2 * 1024 * 1024;

/// The longest length in front of a netstring that is not too long: seven digits and a colon.
pub const MAX_PREFIX: usize = 8;

/// Bytes that are not the head of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScgiHeadError {
    /// No digits, a zero before others (which netstrings forbid), or a netstring that is longer than [`MAX_HEAD`].
    #[error("a request's head has no length, or one above {MAX_HEAD} bytes")]
    Length,
    /// The netstring does not end in a comma.
    #[error("a request's head does not end where it says")]
    End,
    /// A name without a value, or an empty name.
    #[error("a variable of a request's head has no name or no value")]
    Variable,
}

/// How many bytes the head of a request has, netstring and all, by its first bytes; none when there have to be more of
/// them. [`MAX_PREFIX`] bytes are always enough.
///
/// # Errors
/// When these are not a netstring's.
pub fn head_len(start: &[u8]) -> Result<Option<usize>, ScgiHeadError> {
    let n_digits = start.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match start.get(n_digits) {
        None if n_digits < MAX_PREFIX => return Ok(None),
        Some(b':') if n_digits == 1 || (n_digits > 1 && start[0] != b'0') => {}
        _ => return Err(ScgiHeadError::Length),
    }
    let digits = std::str::from_utf8(&start[..n_digits]).ok();
    let len: Option<usize> = digits.and_then(|digits| digits.parse().ok());
    let len = len.filter(|len| *len <= MAX_HEAD).ok_or(ScgiHeadError::Length)?;
    Ok(Some(n_digits + len + 2))
}

/// A name and its value.
pub type ScgiVariable<'v> = (&'v [u8], &'v [u8]);

/// The variables in a head, which is all there, in their order.
///
/// # Errors
/// When it is not a head.
pub fn variables(head: &[u8]) -> Result<Vec<ScgiVariable<'_>>, ScgiHeadError> {
    if head_len(head)? != Some(head.len()) {
        return Err(ScgiHeadError::End);
    }
    let colon = memchr::memchr(b':', head).ok_or(ScgiHeadError::Length)?;
    let (b',', text) = head[colon + 1..].split_last().ok_or(ScgiHeadError::End)? else {
        return Err(ScgiHeadError::End);
    };
    let mut rest = text;
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (name, behind) = split(rest)?;
        let (value, behind) = split(behind)?;
        if name.is_empty() {
            return Err(ScgiHeadError::Variable);
        }
        all.push((name, value));
        rest = behind;
    }
    Ok(all)
}

/// The text up to a NUL, and the rest behind that.
fn split(text: &[u8]) -> Result<(&[u8], &[u8]), ScgiHeadError> {
    let end = memchr::memchr(0, text).ok_or(ScgiHeadError::Variable)?;
    Ok((&text[..end], &text[end + 1..]))
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
    fn a_head_is_read_as_it_was_written() {
        let pairs = [("A", "b"), ("C", ""), ("HTTP_D", "e:,f")].map(|(n, v)| (n.as_bytes(), v.as_bytes()));
        let mut head = Vec::new();
        append_head(7, pairs.into_iter(), &mut head).unwrap();
        for n in 1..3 {
            assert_eq!(head_len(&head[..n]), Ok(None));
        }
        assert_eq!(head_len(&head[..MAX_PREFIX]), Ok(Some(head.len())));
        let length = (&b"CONTENT_LENGTH"[..], &b"7"[..]);
        let all = [length, (b"SCGI", b"1")].into_iter().chain(pairs).collect::<Vec<_>>();
        assert_eq!(variables(&head), Ok(all));
    }

    #[test]
    fn what_is_no_head_is_refused() {
        for start in ["x", ":", "-1:", "99999999", "2097153:", "12345678:", "1 :", "01:", "00000000:"] {
            assert_eq!(head_len(start.as_bytes()), Err(ScgiHeadError::Length), "{start}");
        }
        for (head, expect) in [
            ("4:A\0b\0;", ScgiHeadError::End),
            ("4:A\0b\0,x", ScgiHeadError::End),
            ("5:A\0b\0,", ScgiHeadError::End),
            ("3:A\0b,", ScgiHeadError::Variable),
            ("2:A\0,", ScgiHeadError::Variable),
            ("3:\0b\0,", ScgiHeadError::Variable),
        ] {
            assert_eq!(variables(head.as_bytes()), Err(expect), "{head:?}");
        }
        assert_eq!(variables(b"0:,"), Ok(Vec::new()));
    }

    #[test]
    fn what_would_end_a_value_early_is_refused() {
        check(0, &[("A", "b\0c")], Err(HasNul));
        check(0, &[("A\0", "b")], Err(HasNul));
    }
}
