//! How much of a rate is left for a key, as replies tell it: `RateLimit`, `RateLimit-Policy` and `Retry-After`
//! (draft-ietf-httpapi-ratelimit-headers-10, RFC 9110 section 10.2.3).

use smallvec::SmallVec;

/// How much of a rate is left for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    /// Requests that may come at once after a pause.
    pub(crate) most: u64,
    /// Seconds in which all of them are granted anew.
    pub(crate) window: u64,
    /// Requests that may come at once now.
    pub(crate) remaining: u64,
    /// Seconds until all of them may.
    pub(crate) reset: u64,
    /// Seconds until the next one may, after a refusal.
    pub(crate) retry_after: Option<u64>,
}

impl Quota {
    /// Calls `put` with the name and the value of each field of a reply.
    pub(crate) fn tell(&self, mut put: impl FnMut(&[u8], &[u8])) {
        let Self { most, window, remaining, reset, retry_after } = *self;
        put(b"RateLimit-Policy", &value((b";q=", most), (b";w=", window)));
        put(b"RateLimit", &value((b";r=", remaining), (b";t=", reset)));
        if let Some(seconds) = retry_after {
            put(b"Retry-After", itoa::Buffer::new().format(seconds).as_bytes());
        }
    }

    /// Whether a reply is to tell of this one rather than of another.
    pub(crate) fn is_tighter(&self, other: &Self) -> bool {
        self.retry_after.is_some() || self.remaining < other.remaining
    }
}

/// The name of the policy, and two parameters. Written by hand, as many replies have it.
fn value(one: (&[u8], u64), other: (&[u8], u64)) -> SmallVec<[u8; LONGEST]> {
    let mut text = SmallVec::new();
    text.extend_from_slice(NAME);
    for (name, number) in [one, other] {
        text.extend_from_slice(name);
        text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }
    text
}

/// Bytes of the name, and of two parameters with the largest numbers.
const LONGEST: usize = 56;

/// The name of the policy: a reply tells of one limit alone.
const NAME: &[u8] = b"\"requests\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_numbers_have_room() {
        let value = value((b";q=", u64::MAX), (b";w=", u64::MAX));
        assert_eq!(value.as_slice(), format!("\"requests\";q={0};w={0}", u64::MAX).as_bytes());
        assert!(!value.spilled());
    }
}
