//! The protocol of uWSGI: variables in one packet, and the body behind it.

/// More than a packet can hold: lengths have 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request's variables take more than the 65535 bytes of a packet")]
pub struct TooLarge;

/// Appends the head of a request: WSGI and its kin (`modifier1` is zero).
///
/// # Errors
/// When it does not fit.
pub fn append_head<'v>(
    variables: impl Iterator<Item = (&'v [u8], &'v [u8])>,
    out: &mut Vec<u8>,
) -> Result<(), TooLarge> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    for (name, value) in variables {
        for text in [name, value] {
            out.extend_from_slice(&length(text.len())?);
            out.extend_from_slice(text);
        }
    }
    let size = length(out.len() - start - HEADER)?;
    out[start + 1..start + 3].copy_from_slice(&size);
    Ok(())
}

/// `modifier1`, the size, `modifier2`.
const HEADER: usize = 4;

fn length(len: usize) -> Result<[u8; 2], TooLarge> {
    u16::try_from(len).map(u16::to_le_bytes).map_err(|_| TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_little_endian() {
        let mut out = b"before".to_vec();
        append_head([(&b"AB"[..], &[b'x'; 258][..])].into_iter(), &mut out).unwrap();
        assert_eq!(out[..16], *b"before\0\x08\x01\0\x02\0AB\x02\x01");
        assert_eq!(out.len(), 6 + 4 + 2 + 2 + 2 + 258);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let fits = |name: usize, value: usize| {
            let (name, value) = (vec![b'A'; name], vec![b'x'; value]);
            append_head([(&name[..], &value[..])].into_iter(), &mut Vec::new())
        };
        assert_eq!(fits(1, 65_530), Ok(()));
        assert_eq!(fits(1, 65_531), Err(TooLarge));
        assert_eq!(fits(1, 65_536), Err(TooLarge));
        assert_eq!(fits(70_000, 0), Err(TooLarge));
    }
}
