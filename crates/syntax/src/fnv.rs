//! A hash that is the same in every thread, process and version.

/// FNV-1a of these bytes. Similar texts have similar hashes, so a caller that needs all bits mixes them; a client can
/// find texts that collide.
#[must_use]
pub fn fnv_1a<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_its_authors_list() {
        assert_eq!(fnv_1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
