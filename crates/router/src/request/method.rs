//! The method of a request, for people.

/// Longest method that is told, in bytes.
const LONGEST: usize = 32;

/// A method as it is told, of which clients may make as much as they like.
pub(crate) fn shown_method(method: &[u8]) -> String {
    String::from_utf8_lossy(method.get(..LONGEST).unwrap_or(method)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_method_is_cut() {
        assert_eq!(shown_method(b"PROPFIND"), "PROPFIND");
        assert_eq!(shown_method(&[b'X'; 1000]), "X".repeat(LONGEST));
    }
}
